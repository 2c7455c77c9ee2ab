"""Packing arguments: the quick way and the careful way agree on every argument."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa.model.classes import Signature
from sharedoa.model.scalars import boolean, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from sharedoa.model.types import VOID, ArrayType, ReferenceType
from sharedoa.runtime.arguments import ArgumentPlan


class Plant(oa.Object):
    size: f32


class Tree(Plant):
    pass


@oa.value
class Point:
    x: f32
    plant: Plant


HEAPS = [oa.Heap(mode="sharedoa", backend="cpu", capacity="16MiB") for _ in range(2)]


def _things(heap: oa.Heap) -> list[object]:
    with heap:
        plant, tree = Plant(size=1), Tree(size=2)
        arrays = [oa.zeros(3, element) for element in (f32, i32, Plant, Tree)]
        return [plant, tree, Point(1, plant), *arrays, oa.zeros(0, f32)]


THINGS = [thing for heap in HEAPS for thing in _things(heap)]
SCALARS = (i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, boolean)
TYPES = (
    *SCALARS,
    ArrayType(f32),
    ArrayType(i32),
    ArrayType(ReferenceType(Plant.__sharedoa__)),
    ReferenceType(Plant.__sharedoa__),
    ReferenceType(Tree.__sharedoa__),
    Point.__sharedoa_value__,
)
EDGES = [sign * (1 << bits) + more for bits in (7, 8, 15, 16, 31, 32, 63, 64)
         for sign in (1, -1) for more in (-1, 0, 1)]  # fmt: skip
numbers = st.one_of(
    st.sampled_from(EDGES), st.integers(-300, 300), st.floats(), st.booleans(), st.none(),
    st.sampled_from([3.4028234663852886e38, 3.4028235677973366e38, 1e39, "text", 1j, [1.0]]),
    st.builds(
        lambda kind, value: kind(value),
        st.sampled_from([np.int8, np.uint8, np.int32, np.uint32, np.int64, np.float32, np.float64,
                         np.bool_]),
        st.integers(0, 100),
    ),
)  # fmt: skip
values = st.one_of(numbers, st.sampled_from(THINGS))


def usual(type: object) -> st.SearchStrategy[object]:
    """Values that are mostly right for a type, so that several right ones come together."""
    if type in SCALARS:
        return st.one_of(st.integers(0, 100), st.floats(0, 100), numbers)
    return values


@st.composite
def calls(draw: st.DrawFn) -> tuple[tuple[object, ...], list[tuple[object, ...]]]:
    types = tuple(draw(st.lists(st.sampled_from(TYPES), max_size=4)))
    arguments = st.tuples(*map(usual, types))
    return types, draw(st.lists(arguments, min_size=1, max_size=4))


def outcome(pack, plan: ArgumentPlan, arguments: tuple[object, ...]) -> object:
    slots = plan.new_slots()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of f32(1e39)
        try:
            heap = pack(slots, arguments)
        except oa.ArgumentError as error:
            return str(error)
    return heap, bytes(slots)


@settings(max_examples=300)
@given(calls())
def test_both_ways_agree(call):
    types, given_arguments = call
    names = tuple(f"p{number}" for number in range(len(types)))
    plan = ArgumentPlan("k", Signature(names, types, VOID))
    for arguments in given_arguments:
        assert outcome(plan.pack, plan, arguments) == outcome(plan._pack_carefully, plan, arguments)


def test_usual_arguments_are_packed_quickly(monkeypatch):
    types = (ArrayType(f32), ArrayType(ReferenceType(Plant.__sharedoa__)), f32, i32)
    plan = ArgumentPlan("k", Signature(("a", "b", "c", "d"), types, VOID))
    slots = plan.new_slots()
    with HEAPS[0] as heap:
        floats, trees = oa.zeros(3, f32), oa.new(Tree, 2)
    assert plan.pack(slots, (floats, trees, 0.5, 7)) is heap
    plan._names["careful"] = lambda *_: pytest.fail("the careful way is taken")
    for half, seven in ((0.5, 7), (np.float32(0.5), np.int32(7))):
        assert plan.pack(slots, (floats, trees, half, seven)) is heap
        assert slots[:3] == [floats.address, 3, trees.address]
        assert np.array(slots[4:6], np.uint64).view(np.float32)[0] == 0.5
        assert slots[5] == 7
