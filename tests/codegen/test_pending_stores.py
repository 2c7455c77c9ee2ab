"""Stores that wait for the loads after them: the same as on the CPU whatever objects are the same,
and loads come first where nothing speaks against it."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, i64
from sharedoa.targets.nvptx import NvptxTarget
from tests.codegen.interpreted import InterpretedGpu
from tests.modes import rotated

GPU = InterpretedGpu()


@oa.value
class Pair:
    left: i32
    right: i64


class Box(oa.Object):
    a: i32
    b: i32
    wide: i64
    part: f32
    flag: bool
    pair: Pair
    items: oa.inline[i32, 5]
    pairs: oa.inline[Pair, 3]
    next: Box | None

    def total(self) -> i32:
        return self.a + self.b

    def swap(self, other: Box) -> None:
        self.a = other.b
        other.b = self.a
        self.b = other.a


class Crate(Box):
    c: i32


@oa.kernel
def fields(xs: oa.Array[Box], ys: oa.Array[Box], zs: oa.Array[Box]):
    i = oa.grid(1)
    x, y, z = xs[i], ys[i], zs[i]
    x.a = y.b
    y.b = z.a
    z.a = x.b + y.a
    x.wide = y.wide * 3
    x.b += z.b
    y.wide = x.wide - i64(z.a)
    z.part = x.part + y.part
    x.part = f32(z.a)
    y.flag = z.b > x.a


@oa.kernel
def elements(xs: oa.Array[Box], ys: oa.Array[Box], zs: oa.Array[Box]):
    i = oa.grid(1)
    x, y, z = xs[i], ys[i], zs[i]
    x.items[0] = y.items[1]
    y.items[2] = z.items[0]
    z.items[1] = x.items[2]
    x.items[x.a & 3] = z.items[4]
    y.items[3] = x.items[3]
    z.items[-1] = y.items[0]
    x.items[4] = y.items[4] + 1
    y.items[0] += x.items[1]


@oa.kernel
def structs(xs: oa.Array[Box], ys: oa.Array[Box], zs: oa.Array[Box]):
    i = oa.grid(1)
    x, y, z = xs[i], ys[i], zs[i]
    x.pair = y.pair
    y.pair = Pair(z.pair.left + 1, 5)
    z.wide = x.pair.right
    x.pairs[0] = y.pair
    y.pairs[1] = x.pairs[0]
    z.pairs[1] = Pair(y.pairs[1].left - 2, z.pairs[1].right)
    x.pairs[2] = Pair(x.pairs[1].left, i64(x.a))
    z.pair = Pair(y.pairs[2].left, z.pairs[0].right)


@oa.kernel
def references(xs: oa.Array[Box], ys: oa.Array[Box], zs: oa.Array[Box]):
    i = oa.grid(1)
    x, y, z = xs[i], ys[i], zs[i]
    x.next = y
    y.next = z.next
    z.next = x.next
    x.next.a = z.b
    z.b = y.a
    xs[i] = zs[i]
    ys[i] = xs[i]
    ys[i].b = 77
    x.a = y.b


@oa.kernel
def loops_and_calls(xs: oa.Array[Box], ys: oa.Array[Box], zs: oa.Array[Box]):
    i = oa.grid(1)
    x, y, z = xs[i], ys[i], zs[i]
    k = 0
    for k in range(5):
        x.items[k] = y.items[k]
    z.items[3] = x.items[4]
    for k in range(4):
        y.items[k] = z.items[k + 1]
        z.items[k + 1] = x.items[k]
    z.b = k
    for k in range(2, -1, -1):
        x.pairs[k] = Pair(y.items[k], x.pairs[k].right)
    x.a = k + y.a
    y.wide = i64(x.total()) if z.a > 0 else x.wide
    z.b = x.a
    x.b = z.total()
    y.a = x.b if z.b > 2 else x.a
    x.swap(y)
    z.a = x.a
    if z.a > 3:
        y.b = z.b
        z.b = x.b
    x.b = y.b
    for k in range(17):
        x.a = y.a + k
        y.a = z.a


@oa.kernel
def unknown_indices(xs: oa.Array[Box], ys: oa.Array[Box], zs: oa.Array[Box]):
    """An element that is told by a variable may be any, and a member of it any element's."""
    i = oa.grid(1)
    x, y, z = xs[i], ys[i], zs[i]
    k, j = x.b & 1, y.b & 1
    x.pairs[1] = Pair(11, 12)
    y.a = x.pairs[k].left
    x.pairs[j] = Pair(13, y.pairs[0].right)
    y.wide = z.pairs[1].right
    x.pairs[k] = Pair(y.a + 5, y.pairs[j].right)
    z.wide = i64(x.pairs[0].left)
    y.pairs[-1] = Pair(z.a, 3)
    z.b = y.pairs[2].left
    x.pairs[0] = Pair(x.pairs[k].left + z.pairs[j].left, 4)
    z.pairs[0] = Pair(x.pairs[0].left, x.pairs[k].right)
    x.a = z.pairs[k + 1].left


@oa.kernel
def from_the_end(xs: oa.Array[Box], ys: oa.Array[Box], zs: oa.Array[Box]):
    """Rounds that are written out have numbers below zero."""
    i = oa.grid(1)
    x, y, z = xs[i], ys[i], zs[i]
    for k in range(-2, 0):
        x.items[k] = z.items[k + 3]
    z.a = y.items[4]


@oa.kernel
def calls(xs: oa.Array[Box], ys: oa.Array[Box], zs: oa.Array[Box]):
    """What a method reads is not named where it is called."""
    i = oa.grid(1)
    x, y, z = xs[i], ys[i], zs[i]
    x.a = z.b + 5
    y.wide = i64(x.total())
    z.b = x.a - 3
    y.part = f32(z.total())


KERNELS = [
    fields, elements, structs, references, loops_and_calls, unknown_indices, from_the_end, calls
]  # fmt: skip


def _run(kernel: Any, backend: Any, layout: str) -> Any:
    """Three boxes a thread, in every way in which some of them can be the same."""
    ways = list(itertools.product(range(3), repeat=3))
    with oa.Heap(mode="auto", backend=backend, layout=layout, capacity="16MiB") as heap:
        count = 3 * len(ways)
        numbers = np.random.default_rng(3)
        boxes = oa.concat(oa.new(Box, count // 2), oa.new(Crate, count - count // 2))
        for name in ("a", "b", "wide", "part"):
            setattr(boxes, name, numbers.integers(-9, 9, count))
        boxes.pair = [Pair(k, -k) for k in range(count)]
        boxes.items = numbers.integers(-99, 99, (count, 5))
        for place in range(3):
            boxes.pairs[:, place] = [Pair(place * k, k) for k in range(count)]
        boxes.next = boxes[np.roll(np.arange(count), 5)]
        chosen = [boxes[[3 * t + way[which] for t, way in enumerate(ways)]] for which in range(3)]
        arrays = [oa.array(Box, list(each)) for each in chosen]
        kernel[len(ways)](*arrays)
        heap.synchronize()
        number = {box: place for place, box in enumerate(boxes)}
        return [
            [
                [b.a, b.b, b.wide, b.part, b.flag, b.pair, list(b.items), list(b.pairs)]
                for b in boxes
            ],
            [number[box.next] for box in boxes],
            [[number[box] for box in each] for each in arrays],
        ]


@pytest.mark.parametrize(
    ("kernel", "layout"),
    rotated([pytest.param(each, id=each.name) for each in KERNELS], ["aos", "tile"]),
)
def test_the_same_as_on_the_cpu_whatever_is_the_same(kernel: Any, layout: str) -> None:
    assert _run(kernel, GPU, layout) == _run(kernel, "cpu", layout)


@oa.func
def copy(source: Box, target: Box) -> None:
    for k in range(len(source.items)):
        target.items[k] = source.items[k]
    target.a = source.a
    target.wide = source.wide
    target.pair = source.pair


@oa.kernel
def copy_all(sources: oa.Array[Box], targets: oa.Array[Box]):
    i = oa.grid(1)
    copy(sources[i], targets[i])


def test_objects_are_read_before_they_are_written() -> None:
    with oa.Heap(mode="auto", backend="cpu", layout="tile", references="64") as heap:
        sources, targets = oa.new(Box, 64), oa.new(Box, 64)
        copy_all[64](sources, targets)
        given = copy_all.program.last_given(heap, heap.mode)
        target = NvptxTarget("sm_90")
        ptx = copy_all.program.compilation(heap, heap.mode, False, target, given).products["ptx"]
    found = re.findall(r"\b(ld|st)\.global", str(ptx))
    # Five elements, two numbers, and a struct of two.
    assert found == ["ld"] * 9 + ["st"] * 9
