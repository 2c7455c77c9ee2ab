"""Mode auto rests on which classes have objects, and on where; never wrongly when that changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir.job import Job

from .population_steps import Step, take


class Shape(oa.Object):
    size: i32

    def weigh(self) -> i32: ...


class One(Shape):
    def weigh(self) -> i32:
        return self.size + 1


class Two(Shape):
    def weigh(self) -> i32:
        return self.size * 2


class Three(Shape):
    def weigh(self) -> i32:
        return self.size - 3


class Heavy(Two):
    other: i32

    def weigh(self) -> i32:
        return self.size * 200


@oa.kernel
def weigh(shapes: oa.Array[Shape], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    total = shapes[i].weigh()
    if isinstance(shapes[i], Two):
        total += 1000
    out[i] = total


CLASSES: tuple[Any, ...] = (One, Two, Three, Heavy)


def expected(objects: list[Any]) -> list[int]:
    return [int(each.weigh()) + 1000 * isinstance(each, Two) for each in objects]


def check(objects: list[Any]) -> None:
    shapes, out = oa.array(Shape, objects), oa.zeros(len(objects), i32)
    weigh[len(objects)](shapes, out)
    assert out.numpy().tolist() == expected(objects)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["new", "delete", "delete all"]), st.integers(0, 3), st.integers(1, 70)
    ),
    max_size=9,
)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.booleans(), st.sampled_from([1, 8, 64]))
def test_results_hold_whatever_the_population_becomes(
    steps: list[Step], debug: bool, initial_region: int
) -> None:
    held: list[list[Any]] = [[] for _ in CLASSES]
    with oa.Heap(mode="auto", backend="cpu", initial_region=initial_region, debug=debug):
        for step in steps:
            take(step, held, CLASSES, "size")
            objects = [each for some in held for each in some]
            if objects:
                check(objects[::-1])


@pytest.mark.parametrize("mode", ["auto", "range+switch"])
def test_one_class_with_objects_is_called_directly(mode: str) -> None:
    with oa.Heap(mode=mode, backend="cpu"):
        oa.new(One, 5)
        direct = "only possible target is One" in weigh.explain()
        assert direct == (mode == "auto")
        assert ("1 of 4 classes have objects" in weigh.explain()) == (mode == "auto")


def test_ranges_are_told_apart_without_loads() -> None:
    with oa.Heap(mode="auto", backend="cpu"):
        oa.new(One, 5), oa.new(Three, 5)
        assert "sharedoa_bounds" in weigh.asm["dispatch.ll"]
        assert "sharedoa_lookup" not in weigh.asm["dispatch.ll"]


def test_classes_whose_ranges_are_many_are_looked_up_in_the_tree() -> None:
    with oa.Heap(mode="auto", backend="cpu", initial_region=1):
        objects: list[Any] = []
        for _ in range(6):
            objects += [*oa.new(One, 3, size=1), *oa.new(Three, 3, size=2)]
        check(objects)
        has_many = len(oa.current_heap().ranges()) > 4
        assert ("sharedoa_lookup" in weigh.asm["dispatch.ll"]) == has_many


def test_an_empty_heap_compiles_for_all_classes() -> None:
    with oa.Heap(mode="auto", backend="cpu"):
        assert "One, Two, Three, Heavy" in weigh.explain()


def test_a_subclass_made_between_launches_is_called() -> None:
    with oa.Heap(mode="auto", backend="cpu"):
        objects = list(oa.new(One, 3, size=np.arange(3)))
        check(objects)

        class Late(Shape):
            def weigh(self) -> i32:
                return self.size + 77

        objects += list(oa.new(Late, 3, size=4))
        check(objects)


def test_launches_on_two_heaps_in_turn() -> None:
    with oa.Heap(mode="auto", backend="cpu") as first:
        ones = list(oa.new(One, 3, size=5))
        with oa.Heap(mode="auto", backend="cpu"):
            twos = [*oa.new(Three, 2, size=9), *oa.new(Two, 2, size=9)]
            for _ in range(3):
                check(twos)
                shapes = first.array(Shape, ones)
                out = first.zeros(3, i32)
                weigh[3](shapes, out)
                assert out.numpy().tolist() == expected(ones)


@oa.kernel
def sizes(shapes: oa.Array[One], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    out[i] = shapes[i].size + len(shapes)


@pytest.mark.parametrize("layout", ["aos", "tile"])
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 200), min_size=1, max_size=5),
    st.integers(0, 40),
    st.integers(1, 80),
    st.sampled_from(["new", "slice", "shuffled", "assigned", "deleted"]),
)
def test_objects_side_by_side_need_no_references(
    layout: str, counts: list[int], start: int, length: int, how: str
) -> None:
    """Every way in which an array is, or stops being, a run of one region."""
    with oa.Heap(mode="auto", backend="cpu", layout=layout, initial_region=8):
        arrays = []
        for number, count in enumerate(counts):
            oa.new(Two, 3)
            arrays.append(oa.new(One, count, size=1000 * number + np.arange(count)))
        shapes = arrays[-1]
        if how == "slice":
            shapes = shapes[start : start + length]
        elif how == "shuffled":
            shapes = shapes[np.random.default_rng(start).permutation(len(shapes))]
        elif how == "assigned" and len(shapes):
            shapes[start % len(shapes)] = arrays[0][0]
        elif how == "deleted" and len(arrays) > 1:
            oa.delete(arrays[0])
        if not len(shapes):
            return
        out = oa.zeros(len(shapes), i32)
        for _ in range(2):
            sizes[len(shapes)](shapes, out)
            assert out.numpy().tolist() == [len(shapes) + int(each.size) for each in shapes]
        if how in ("new", "slice"):
            in_one_region = len(arrays[-1].selection().stretches()) == 1
            assert (shapes._run is not None) == in_one_region
        if how == "assigned":
            assert shapes._run is None
        assert sorted(oa.all(One).weigh().numpy()) == sorted(each.weigh() for each in oa.all(One))


@oa.kernel
def swap_ends(shapes: oa.Array[One]) -> None:
    first = shapes[0]
    shapes[0] = shapes[len(shapes) - 1]
    shapes[len(shapes) - 1] = first


def test_a_kernel_that_stores_references_ends_what_is_known_of_them() -> None:
    with oa.Heap(mode="auto", backend="cpu"):
        shapes, out = oa.new(One, 4, size=np.arange(4)), oa.zeros(4, i32)
        sizes[4](shapes, out)
        assert "side by side" in sizes.explain()
        swap_ends[1](shapes)
        sizes[4](shapes, out)
        assert out.numpy().tolist() == [7, 5, 6, 4]
        assert "side by side" not in sizes.explain()


@oa.func
def total(shapes: oa.Array[One], count: i32) -> i32:
    found = i32(0)
    for k in range(count):
        found += shapes[k].size
    return found


@oa.kernel
def totals(left: oa.Array[One], right: oa.Array[One], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    out[i] = total(left, i) - total(right, i) + (1000 if left else 0)


def test_runs_are_passed_on_to_functions() -> None:
    with oa.Heap(mode="auto", backend="cpu"):
        run, other = oa.new(One, 9, size=np.arange(9)), oa.new(One, 9, size=5)
        mixed = other[np.array([1, 0, 2, 3, 4, 5, 6, 7, 8])]
        for left, right in ((run, mixed), (mixed, run), (run, other), (mixed, mixed)):
            out = oa.zeros(8, i32)
            totals[8](left, right, out)
            sums = [np.cumsum([0, *(int(o.size) for o in each)])[:8] for each in (left, right)]
            assert out.numpy().tolist() == (sums[0] - sums[1] + 1000).tolist()


def test_objects_within_the_room_that_there_is_compile_nothing(compiled: list[Job]) -> None:
    """P-4: ten thousand, in regions that have room for them."""
    with oa.Heap(mode="auto", backend="cpu", initial_region=1 << 13):
        objects = [One(size=1), Three(size=2)]
        check(objects)
        compiled.clear()
        for number in range(10_000):
            (One, Three)[number % 2](size=number)
            if number % 2500 == 0:
                objects += [oa.all(One)[number // 2], oa.all(Three)[0]]
                check(objects)
        assert compiled == []


def test_classes_come_and_go_with_two_compilations(compiled: list[Job]) -> None:
    """P-5: objects of one class, of two, of one again."""
    with oa.Heap(mode="auto", backend="cpu"):
        ones = [*oa.new(One, 5, size=3)]
        check(ones)
        threes = oa.new(Three, 4, size=2)
        check([*ones, *threes])
        oa.delete(threes)
        check(ones)
        check([*ones, *oa.new(Three, 2, size=1)])
    assert [job.name for job in compiled].count("weigh") <= 2
