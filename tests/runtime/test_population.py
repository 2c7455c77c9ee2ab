"""Mode auto rests on which classes have objects, and on where; never wrongly when that changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32


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


Step = tuple[str, int, int]
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
        for what, number, count in steps:
            if what == "new":
                held[number] += list(oa.new(CLASSES[number], count, size=range(count)))
            else:
                gone = held[number] if what == "delete all" else held[number][::2]
                held[number] = [] if what == "delete all" else held[number][1::2]
                for each in gone:
                    oa.delete(each)
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
