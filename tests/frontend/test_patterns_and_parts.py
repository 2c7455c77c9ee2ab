"""Patterns, targets with a star, parts of inline arrays, keys, and tuples that are compared: the
same in CPython, compiled, and on a GPU that is an interpreter."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f64, i32, i64

from ..codegen.interpreted import InterpretedGpu


class Kind(IntEnum):
    SMALL = 3
    LARGE = 5


@oa.value
class Range:
    low: f64
    high: f64 = 1.0

    @property
    def middle(self) -> f64:
        return (self.low + self.high) / 2

    @staticmethod
    def around(x: f64, *, by: f64 = 0.5) -> Range:
        return Range(x - by, x + by)


class Cell(oa.Object):
    marks: oa.inline[i64, 5]
    size: f64
    seen: i64
    next: Cell | None
    range: Range

    def mark(self, k: i64) -> bool:
        self.seen += k
        return k > 2

    @property
    def double(self) -> f64:
        self.seen += 1
        return self.size * 2


class Wide(Cell):
    width: i64


@oa.kernel
def patterns(cells: oa.Array[Cell], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    cell, found, kept = cells[i], 0.0, 7.0
    match cell:
        case Wide(width=4, size=kept):
            found = 1
        case Wide(width=w, next=Cell(size=s)) if s > 2:
            found = w * 100 + s
        case Cell(double=6.0 | 8.0 as kept, seen=99):
            found = -1
        case Cell(range=Range(low, 2.0)) if low < 0:
            found = -2
        case Cell(double=d):
            found = 10 * d
        case _:
            found = -3
    out[4 * i] = found
    out[4 * i + 1] = kept
    y = 7.0
    match (cell.size, i):
        case (y, 77) | (77, y):
            found = 1
        case (3.0 | 4.0, _):
            found = 2
        case _:
            found = y
    out[4 * i + 2] = found * 100 + y
    match cell.next:
        case None:
            other = -1.0
        case Wide():
            other = -2.0
        case Cell() as next:
            other = next.range.middle
    out[4 * i + 3] = other


@oa.kernel
def parts(cell: Cell, bounds: oa.Array[i64], out: oa.Array[f64]) -> None:
    n = 0
    for i in bounds:
        for j in bounds:
            out[n] = sum(cell.marks[i:j]) + 1000 * len([k for k in cell.marks[:j] if k > i])
            n += 1
    first, *middle, last = cell.marks
    cell.marks[4], cell.marks[0], *_ = cell.marks
    out[n] = first + 10 * sum(middle) + 1000 * last + cell.marks[4] * 10000 + cell.marks[0]
    out[n + 1] = sum(a * b for a, b in zip(cell.marks[1:], cell.marks[::-2], strict=False))
    out[n + 2] = sum(k * 10**place for place, k in enumerate(reversed(cell.marks[2:])))
    out[n + 3] = max((k for k in bounds if k < 3), key=lambda k: (k % 2, -k))
    out[n + 4] = min(bounds, key=lambda k: abs(k - 1)) + min(3, -4, 2, key=abs)
    out[n + 5] = min((cell, cell.next or cell), key=lambda c: c.range.middle).size
    # Lists, all of whose items are computed.
    out[n + 6] = any([cell.mark(k) for k in bounds]) or all([cell.mark(k) for k in bounds])  # noqa: C419
    out[n + 7] = sum(k for k in bounds if k > 0 and (twice := 2 * k) > 2 if twice < 9)
    out[n + 8] = (1, n, math.nan) < (1, n, 2.0) or (n, 1, math.nan) > (n, 0, 0.0)
    out[n + 9] = max((i, k) for i, k in enumerate(bounds))[1] + max((2, 3), (2, n))[1]
    stack = [0] * 4
    for i, k in enumerate(bounds):
        stack[i % 4] = k - stack[i % 4]
    out[n + 10] = sum(k * i for i, k in enumerate(stack))
    out[n + 11] = sum(k * n for k in Kind) + len(Kind)
    out[n + 12] = Range.around(2.0, by=0.25).low + Range(0.5).middle + cell.range.middle


class Furry(Cell):
    fur: i64


class Cat(Furry):
    lives: i64 = 9


class Dog(Furry):
    pass


@oa.kernel
def classes(cells: oa.Array[Cell], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    cell = cells[i]
    match cell:
        case Cat(lives=9) as one:
            out[i] = one.lives
        case Cat() | Dog() as one:
            out[i] = one.fur
        case Wide() as one:
            out[i] = 10 * one.width
        case one:
            out[i] = one.size
    match cell:
        case Cat() | Dog():
            out[i] += 100 * cell.fur
    if isinstance(cell, (Cat, Dog)):
        out[i] += 1000 * cell.fur
    if isinstance(next := cell.next, Cat | Dog):
        out[i] += 10000 * next.fur


@oa.kernel
def lists(bounds: oa.Array[i64], cell: Cell, out: oa.Array[f64]) -> None:
    made = [k * k for k in range(5)]
    copy, part = made[:], list(made[1:4])
    copy[0], part[0] = 50, 60
    a, b, *c = [x + y for x, y in zip(made, copy, strict=True)]
    out[0] = a + 10 * b + 100 * sum(c) + 1000 * sum(part) + sum(made)
    several, longer = [1, 2, 3], [5, 6, 7, 8]
    for k in range(2):
        out[k + 1] = sum(several) * len(several)
        if k == 0:
            several = longer
    out[3] = sum(x for i in bounds for x in made[i:])
    p, q = [len(bounds), 3][::-1]
    out[4] = p - 10 * q
    for k, x in enumerate(made[3:0:-1]):
        made[2] = 70  # which the copy does not see
        out[5] += 10**k * x
    out[6] = max((1.0 * x for x in bounds), default=cell.double)  # which counts itself


def results(backend: Any) -> list[float]:
    with oa.Heap(backend=backend, capacity="16MiB"):
        plain = [Cell(size=float(k), range=Range(k - 1.0, 2.0)) for k in range(6)]
        wide = [Wide(width=k, size=k / 2, next=plain[k]) for k in range(2, 6)]
        wide[3].next, plain[1].next = wide[0], plain[2]
        for k in range(5):
            plain[1].marks[k] = k * k - 3 * k + 5
        cells = oa.array(Cell, plain + wide)
        out, more = oa.zeros(4 * len(cells), f64), oa.zeros(80, f64)
        patterns[len(cells)](cells, out)
        bounds, last = oa.array(i64, [3, -2, 0, 9, -9, 1, 4]), oa.zeros(7, f64)
        parts[1](plain[1], bounds, more)
        lists[1](bounds, plain[0], last)
        animals = [Cat(fur=2), Cat(fur=3, lives=1), Dog(fur=4, next=Cat(fur=5)), wide[0]]
        asked = oa.zeros(4, f64)
        classes[4](oa.array(Cell, animals), asked)
        seen = cells.seen.numpy()
        return [*out.numpy(), *more.numpy(), *last.numpy(), *seen, *asked.numpy()]


def test_the_same_everywhere() -> None:
    expected = results("python")
    assert len(set(expected)) > 30
    backends: list[Any] = ["cpu", InterpretedGpu()]
    for backend in backends:
        assert results(backend) == expected


@oa.kernel
def narrow(numbers: oa.Array[i64]) -> None:
    few = [i32(0)] * 4
    for k in range(4):
        few[k] = k * 1_000_000_000
    numbers[0] = few[3]


def test_a_list_takes_no_int_that_it_might_not_hold() -> None:
    with oa.Heap(backend="cpu", capacity="16MiB"):
        with pytest.raises(oa.CompileError, match=r"the list holds i32, and int is assigned"):
            narrow[1](oa.zeros(1, i64))


def test_a_property_of_a_value_that_is_replaced_is_refused() -> None:
    @oa.value
    class Pair:
        a: f64

        @property
        def twice(self) -> f64:
            return self.a * 2

        @property
        def text(self) -> str:
            return f"{self.a}"

    @oa.kernel
    def read(out: oa.Array[f64]) -> None:
        out[0] = Pair(2.0).twice

    with oa.Heap(backend="cpu", capacity="16MiB"):
        out = oa.zeros(1, f64)
        read[1](out)
        assert out[0] == 4.0 and Pair(3.0).twice == 6.0 and Pair(3.0).text == "3.0"
        Pair.twice = property(lambda self: f64(1))  # type: ignore[assignment,misc]
        with pytest.raises(oa.ClassError, match=r"Pair\.twice was replaced"):
            read[1](out)
