"""Mode auto tells many classes by the windows that their objects lie in; never wrongly."""

from __future__ import annotations

import itertools
import re
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from bench.weighted_family import weighted_family
from sharedoa import f64, i32
from sharedoa.runtime import launch
from sharedoa.targets.nvptx import NvptxTarget

from .population_steps import Step, take


class Plant(oa.Object):
    age: i32

    def grow(self, by: i32) -> i32: ...


class Moss(Plant):
    def grow(self, by: i32) -> i32:
        return self.age + by


class Fern(Plant):
    fronds: f64

    def grow(self, by: i32) -> i32:
        return self.age * by


class Tree(Plant):
    rings: oa.inline[i32, 5]

    def grow(self, by: i32) -> i32:
        return self.age - by


class Oak(Tree):
    def grow(self, by: i32) -> i32:
        return self.age * 3 + by


class Pine(Tree):
    needles: f64

    def grow(self, by: i32) -> i32:
        return by - self.age * 5


class Reed(Plant):
    def grow(self, by: i32) -> i32:
        return self.age ^ by


CLASSES: tuple[Any, ...] = (Moss, Fern, Tree, Oak, Pine, Reed)


@oa.kernel
def grow(plants: oa.Array[Plant], by: i32, out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    grown = plants[i].grow(by)
    if isinstance(plants[i], Tree):
        grown += 1000
    if isinstance(plants[i], Oak):
        grown += 10000
    out[i] = grown


def check(objects: list[Any], by: int) -> None:
    heap = oa.current_heap()
    out = heap.zeros(len(objects), i32)
    grow[len(objects)](heap.array(Plant, objects), by, out)
    assert out.numpy().tolist() == [
        int(each.grow(by)) + 1000 * isinstance(each, Tree) + 10000 * isinstance(each, Oak)
        for each in objects
    ]


def dispatch() -> str:
    return str(grow.asm["dispatch.ll"])


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["new", "new", "delete", "delete all"]),
        st.integers(0, len(CLASSES) - 1),
        st.integers(1, 300),
    ),
    max_size=12,
)


def play(backend: str, steps: list[Step], initial_region: int, references: str) -> None:
    """Every class is there at first."""
    held: list[list[Any]] = [[] for _ in CLASSES]
    every = [("new", number, 3) for number in range(len(CLASSES))]
    with oa.Heap(
        mode="auto",
        backend=backend,
        capacity="256MiB",
        initial_region=initial_region,
        references=references,
    ):
        for by, step in enumerate([*every, *steps]):
            take(step, held, CLASSES, "age")
            objects = [each for some in held for each in some]
            if objects and by >= len(CLASSES) - 1:
                check(objects[::-1], by)


@settings(max_examples=25)
@given(STEPS, st.sampled_from([1, 8, 64]), st.sampled_from(["32", "64"]))
def test_results_hold_whatever_grows_and_goes(
    steps: list[Step], initial_region: int, references: str
) -> None:
    play("cpu", steps, initial_region, references)


@pytest.mark.gpu
@settings(max_examples=15)
@given(STEPS, st.sampled_from([1, 8, 64, 40_000]), st.sampled_from(["32", "64"]))
def test_results_hold_on_a_gpu(steps: list[Step], initial_region: int, references: str) -> None:
    play("cuda", steps, initial_region, references)


@pytest.mark.parametrize(
    ("classes", "told_by", "explained"),
    [
        (4, "sharedoa_bounds", "; 4 ranges in the code"),
        (6, "sharedoa_window", "; told by 6 windows of equal size"),
    ],
)
def test_many_classes_are_told_by_windows(classes: int, told_by: str, explained: str) -> None:
    with oa.Heap(mode="auto", backend="cpu"):
        check([cls(age=number) for number, cls in enumerate(CLASSES[:classes])], by=7)
        for other in ("sharedoa_bounds", "sharedoa_window", "sharedoa_lookup"):
            assert (other in dispatch()) == (other == told_by)
        assert explained in grow.explain()


def test_a_window_leads_to_the_body_in_one_branch_without_a_table_in_memory() -> None:
    family = weighted_family(8, 16)
    with oa.Heap(mode="auto", backend="cpu", layout="tile") as heap:
        # Neither rising nor falling, or LLVM would compute the type.
        order = (3, 0, 5, 1, 7, 2, 6, 4)
        items = heap.concat(*(heap.new(family.classes[number], 100) for number in order))
        shuffled = items[np.random.default_rng(1).permutation(len(items))]
        family.module.heavy[len(items)](shuffled)
        program, target = family.module.heavy.program, NvptxTarget("sm_90")
        given = program.last_given(heap, heap.mode)
        made = program.compilation(heap, heap.mode, False, target, given)
        code = str(made.products["opt.ll"])
    assert "switch.table" not in code
    assert len(re.findall(r"^\s*switch ", code, re.M)) == 1


def test_a_class_that_grows_in_its_window_compiles_nothing_new() -> None:
    with oa.Heap(mode="auto", backend="cpu", initial_region=64) as heap:
        objects = [cls(age=number) for number, cls in enumerate(CLASSES)]
        check(objects, by=1)
        code = dispatch()
        for count in (40, 200, 1000, 5000):
            for cls in CLASSES:
                objects += list(heap.new(cls, count, age=np.arange(count))[:3])
            check(objects, by=count)
            assert dispatch() == code
        assert len(heap.ranges()) == len(CLASSES)


def test_reports_of_wrong_receivers_need_the_whole_table() -> None:
    with oa.Heap(mode="auto", backend="cpu", debug=True):
        check([cls(age=number) for number, cls in enumerate(CLASSES)], by=2)
        assert "sharedoa_window" not in dispatch()


def filled(mode: str, classes: tuple[Any, ...], capacity: str, count: int) -> int:
    """How many objects a small heap takes, some of a class at a time."""
    with oa.Heap(
        mode=mode, backend="cpu", capacity=capacity, initial_region=1024, references="64"
    ) as heap:
        kept: list[Any] = []
        for cls in itertools.cycle(classes):
            try:
                kept.append(heap.new(cls, count))
            except oa.HeapError:
                return sum(map(len, kept))
    raise AssertionError


MANY = weighted_family(types=60, field_bytes=12).classes


@pytest.mark.parametrize(
    ("classes", "capacity", "count"),
    [
        (CLASSES, "8MiB", 1000),
        (MANY[:30], "64MiB", 65_537),
        pytest.param(MANY, "64MiB", 300, marks=pytest.mark.slow),
    ],
)
def test_windows_take_little_room_from_objects(
    classes: tuple[Any, ...], capacity: str, count: int
) -> None:
    in_windows, packed = (filled(m, classes, capacity, count) for m in ("auto", "range+switch"))
    assert in_windows >= 0.9 * packed


def test_objects_that_another_thread_makes_while_code_is_compiled(monkeypatch) -> None:
    """They take another slab, so that the windows of the code are no longer those of the heap."""
    compile = launch.compile
    made: list[Any] = []

    def compile_slowly(*given: Any) -> Any:
        compilation = compile(*given)
        if not made:
            thread = threading.Thread(target=lambda: made.append(heap.new(Moss, 9_000_000)))
            thread.start()
            thread.join()
        return compilation

    monkeypatch.setattr(launch, "compile", compile_slowly)
    with oa.Heap(mode="auto", backend="cpu", initial_region=1, capacity="1GiB") as heap:
        objects = [cls(age=number) for number, cls in enumerate(CLASSES)]
        check(objects, by=3)
        assert made
        check([*objects, made[0][-1]], by=4)
