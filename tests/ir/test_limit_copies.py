"""Which loops are not copied as often as they have rounds: those of many methods side by side."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.backends.native_code import host_target
from sharedoa.ir.core import Program, operations_in
from sharedoa.ir.passes.candidates import narrow_candidates
from sharedoa.ir.passes.limit_copies import limit_copies
from sharedoa.runtime.explanation import _limits
from sharedoa.runtime.pipeline import Compilation
from sharedoa.targets.base import Target
from sharedoa.targets.nvptx import NvptxTarget

from ..frontend.translated import kernel_from
from ..source_files import load_module
from .programs import job, program_of


@oa.func
def iterate(x: f32) -> f32:
    for _ in range(200):
        x = x * f32(0.5) + f32(1)
    return x


class Item(oa.Object):
    value: f32
    count: i32
    next: Item

    def long(self) -> None:
        self.count = 1

    def short(self) -> None:
        self.count = 2

    def nested(self) -> None:
        self.count = 3

    def called(self) -> None:
        self.value = iterate(self.value)

    def counted(self) -> None:
        self.count = 4

    def again(self, depth: i32) -> None:
        self.count = depth

    def same(self) -> None:
        for _ in range(1000):
            self.value += f32(1)


class One(Item):
    def long(self) -> None:
        x = self.value
        for _ in range(256):
            x = x * f32(0.5) + f32(1)
        self.value = x

    def short(self) -> None:
        for k in range(3):
            self.value += f32(k)

    def nested(self) -> None:
        for _ in range(100):
            for _ in range(4):
                self.value = self.value * f32(0.5)

    def counted(self) -> None:
        for _ in range(self.count):
            self.value += f32(1)

    def again(self, depth: i32) -> None:
        if depth > 0:
            self.next.again(depth - 1)
        for _ in range(1000):
            self.value += f32(1)


class Two(Item):
    def long(self) -> None:
        for _ in range(2, 1026, 2):
            self.value += f32(1)

    def called(self) -> None:
        self.value = iterate(iterate(self.value))

    def again(self, depth: i32) -> None:
        self.value += f32(1)


class Three(Two):
    def long(self) -> None:
        self.value += f32(1)

    def called(self) -> None:
        self.value += f32(2)


class Four(Item):
    def long(self) -> None:
        self.value -= f32(1)


def copies(
    tmp_path: Path, call: str, populated: tuple[type[Item], ...] | None = None
) -> dict[str, int]:
    """The limits of loops, by function, in a kernel that makes ``call`` on objects of the classes
    ``populated`` (None: all)."""
    kernel = kernel_from(tmp_path, "items: oa.Array[Item]", f"items[0].{call}", oa=oa, Item=Item)
    program = program_of(kernel)
    met = None if populated is None else {cls.__sharedoa__.type_index for cls in populated}
    narrow_candidates(program, job(populated=met))
    limit_copies(program)
    return {
        function.name: operation["copies"]
        for function in program.functions.values()
        for operation in operations_in(function)
        if "copies" in operation.attributes
    }


def limits(program: Program) -> list[int]:
    """The limits of all loops that have one."""
    limit_copies(program)
    loops = [o for o in operations_in(program) if "copies" in o.attributes]
    return [loop["copies"] for loop in loops]


@pytest.mark.parametrize(
    ("call", "populated", "expected"),
    [
        pytest.param("long()", None, {"One.long": 64, "Two.long": 64}, id="five methods"),
        pytest.param("long()", (One, Two, Four), {"One.long": 128, "Two.long": 64}, id="three"),
        pytest.param("long()", (One, Two), {"Two.long": 128}, id="two, one has room"),
        pytest.param("long()", (One, Four), {}, id="two have room"),
        pytest.param("long()", (One,), {}, id="one"),
        pytest.param("short()", None, {}, id="few rounds"),
        pytest.param("nested()", None, {"One.nested": 32}, id="the outer of two loops"),
        pytest.param("called()", None, {"iterate": 128}, id="in a function"),
        pytest.param("counted()", None, {}, id="rounds that nobody knows"),
        pytest.param("again(3)", None, {"One.again": 1}, id="methods that call themselves"),
        pytest.param("same()", None, {}, id="one method for all"),
    ],
)
def test_what_is_limited(tmp_path, call, populated, expected):
    assert copies(tmp_path, call, populated) == expected


def limits_of_many(tmp_path: Path, classes: int, numbers: str, round: str) -> list[int]:
    """The limits of the loops of so many methods of a call, ``for k in numbers: round``."""
    text = "class Body(oa.Object):\n    def go(self, n: i32) -> i64: ...\n"
    for number in range(classes):
        text += (
            f"class Body{number}(Body):\n    def go(self, n: i32) -> i64:\n"
            f"        x = i64({number})\n        for k in {numbers}:\n            {round}\n"
            "        return x\n"
        )
    text += "def run(bodies: oa.Array[Body], n: i32):\n    bodies[0].go(n)\n"
    return limits(program_of(load_module(tmp_path, text).run))


@pytest.mark.parametrize(
    ("classes", "leaves", "expected"),
    [(16, "", []), (40, "", [8] * 40), (200, "", [2] * 200), (40, "if x > 5: break", [])],
)
def test_loops_of_unknown_rounds_are_limited_where_they_are_many(
    tmp_path, classes, leaves, expected
):
    round = f"x = x * i64(3) + k\n            {leaves}"
    assert limits_of_many(tmp_path, classes, "range(n)", round) == expected


def test_loops_of_more_rounds_than_63_bits_count(tmp_path):
    numbers = f"range(-{2**63 - 1}, {2**63 - 1})"
    assert limits_of_many(tmp_path, 2, numbers, "x = x * i64(3) + k") == [256, 256]


@pytest.mark.parametrize("order", [("Few", "Many"), ("Many", "Few")])
def test_a_function_has_the_least_room_that_its_callers_leave(tmp_path, order):
    text = "@oa.func\ndef work(x: i64) -> i64:\n    for k in range(1000):\n"
    text += "        x = x * i64(3) + k\n    return x\n"
    for base, count in (("Few", 2), ("Many", 8)):
        text += f"class {base}(oa.Object):\n    def go(self) -> i64: ...\n"
        for number in range(count):
            text += f"class {base}{number}({base}):\n    def go(self) -> i64:\n"
            text += f"        return work(i64({number}))\n"
    text += f"def run(one: {order[0]}, other: {order[1]}):\n    one.go()\n    other.go()\n"
    (alone,) = limits(program_of(load_module(tmp_path, text + MANY_ALONE).alone))
    (both,) = limits(program_of(load_module(tmp_path, text).run))
    assert both == alone


MANY_ALONE = "def alone(many: Many):\n    many.go()\n"


def compiled(tmp_path: Path, target: Target) -> Compilation:
    source = "items[oa.grid(1)].long()"
    kernel = oa.kernel(kernel_from(tmp_path, "items: oa.Array[Item]", source, oa=oa, Item=Item))
    with oa.Heap(mode="range+switch", backend="cpu", capacity="16MiB") as heap:
        return kernel.program.compilation(heap, heap.mode, False, target)


def test_ptxas_is_told_where_it_must_not_copy_again(tmp_path):
    made = compiled(tmp_path, NvptxTarget("sm_90"))
    ptx = str(made.products["ptx"])
    assert ptx.count('.pragma "nounroll"') == 2
    loops = [part for part in ptx.split("\n$L__BB") if '.pragma "nounroll"' in part]
    assert [part.count("add.rn.f32") for part in loops] == [64, 64]
    limits = made.lowered.loop_copies
    assert {(each.function, copies) for each, copies in limits.items()} == {
        ("One.long", 64), ("Two.long", 64)
    }  # fmt: skip


def test_processors_are_not_limited(tmp_path):
    assert not compiled(tmp_path, host_target()).lowered.loop_copies


def test_explain_says_so():
    with oa.Heap(mode="auto", backend="cpu") as heap:
        items = heap.array(Item, [heap.new(cls) for cls in (Item, One, Two, Three, Four)])
        run_long[5](items)
        assert "copied at most" not in run_long.explain(), "it is code for the CPU"
        text = _limits(run_long.compile("nvptx").lowered.loop_copies)
    place = r"test_limit_copies.py:\d+"
    assert re.search(rf"loops at {place}, {place}: copied at most 64 times, so that", text)
    assert _limits({}) == ""


@oa.kernel
def run_long(items: oa.Array[Item]):
    items[oa.grid(1)].long()
