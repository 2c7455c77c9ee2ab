"""Which kernels' threads may stand in another order: those that write nothing but new objects."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir import regrouping
from sharedoa.ir.regrouping import may_regroup
from sharedoa.runtime.kernel import Kernel

from ..source_files import load_module


class Made(oa.Object):
    id: i32
    next: Made


class Counted(Made):
    def __init__(self, id: i32) -> None:
        self.id = id

    def note(self, other: Made) -> None:
        other.id = self.id


@oa.func
def doubled(x: i32) -> i32:
    return x * 2


@oa.func
def written(marks: oa.Array[i32], x: i32) -> i32:
    marks[0] = x
    return x


@oa.func
def factorial(x: i32) -> i32:
    return 1 if x < 2 else x * factorial(x - 1)


@oa.kernel
def in_turn(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        oa.new(Made, id=i)
    else:
        oa.new(Counted, id=doubled(marks[i % 4]))


@oa.kernel
def begun(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        oa.new(Made, id=i).next = Counted(i)


@oa.kernel
def checked(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    assert i < 1000
    if i % 2 == 0:
        oa.new(Made, id=i)


@oa.kernel
def by_all(marks: oa.Array[i32]) -> None:
    oa.new(Made, id=oa.grid(1))


@oa.kernel
def elsewhere(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    marks[i % 4] = i
    if i % 2 == 0:
        oa.new(Made, id=i)


@oa.kernel
def by_a_function(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        oa.new(Made, id=written(marks, i))


@oa.kernel
def by_a_method(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        Counted(i).note(oa.new(Made, id=i))


@oa.kernel
def by_a_method_of_others(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        Counted(i).note(oa.new(Made, id=i).next)


@oa.kernel
def by_a_method_of_both(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        made = oa.new(Made, id=i)
        Counted(i).note(made)
        Counted(i).note(made.next)


@oa.kernel
def behind(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        made = oa.new(Made, id=i)
        if made.next is not None:
            made.next.id = i


@oa.kernel
def adding(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        oa.new(Made, id=oa.atomic_add(marks, 0, 1))


@oa.kernel
def looping(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    total = 0
    for k in range(4):
        total += marks[k]
    if i % 2 == 0:
        oa.new(Made, id=total)


@oa.kernel
def looping_somehow(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    total = i
    while total > 9:
        total //= 2
    if i % 2 == 0:
        oa.new(Made, id=total)


@oa.kernel
def recursive(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        oa.new(Made, id=factorial(i % 5))


@oa.kernel
def in_a_tile(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    tile = oa.shared(i32, 4)
    if i % 2 == 0:
        oa.new(Made, id=tile[0])


@oa.kernel
def two_ways(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    made = oa.new(Made, id=i)
    other = made if marks[0] > 0 else made.next
    if i % 2 == 0:
        other.id = oa.new(Counted, id=i).id


@oa.kernel
def reading(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        total = marks[i] + marks[i + 1] + marks[i + 2] + marks[i + 3]
        total += marks[i + 4] + marks[i + 5] + marks[i + 6] + marks[i + 7] + marks[i + 8]
        oa.new(Made, id=total)


@oa.kernel
def saying(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        print(i)
        oa.new(Made, id=i)


@oa.kernel
def together(marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    oa.syncthreads()
    if i % 2 == 0:
        oa.new(Made, id=i)


@pytest.mark.parametrize(
    ("kernel", "may"),
    [(in_turn, True), (begun, True), (checked, True), (by_all, False), (elsewhere, False),
     (by_a_function, False), (by_a_method, True), (by_a_method_of_others, False),
     (by_a_method_of_both, False), (behind, False), (two_ways, False), (adding, False),
     (looping, False), (looping_somehow, False), (recursive, False), (in_a_tile, False),
     (reading, False), (saying, False), (together, False)],
    ids=lambda each: each.__name__ if isinstance(each, Kernel) else "",
)  # fmt: skip
def test_who_writes_new_objects_alone(kernel: Kernel, may: bool) -> None:
    assert may_regroup(kernel.program.uses().program) is may


def test_functions_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once on each way to them."""
    calls = "".join(
        f"@oa.func\ndef f{n}(x: i32) -> i32:\n    return f{n - 1}(x) - f{n - 1}(x + 1)\n"
        for n in range(1, 12)
    )
    text = (
        "class Made(oa.Object):\n    id: i32\n"
        f"@oa.func\ndef f0(x: i32) -> i32:\n    return x * 2\n{calls}"
        "@oa.kernel\ndef make() -> None:\n    i = oa.grid(1)\n"
        "    if i % 2 == 0:\n        oa.new(Made, id=f11(i))\n"
    )
    program = load_module(tmp_path, text).make.program.uses().program
    looked, usual = Counter[str](), regrouping.operations_in

    def counting(of: Any) -> Any:
        looked["times"] += 1
        return usual(of)

    monkeypatch.setattr(regrouping, "operations_in", counting)
    assert may_regroup(program)
    assert looked["times"] < 30
