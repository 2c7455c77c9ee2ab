"""Packing arguments: the quick way and the careful way agree on every argument."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa.model.classes import Signature
from sharedoa.model.scalars import boolean, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from sharedoa.model.types import VOID, ArrayType, ReferenceType, Type
from sharedoa.model.world import World
from sharedoa.runtime.arguments import ArgumentPlan
from sharedoa.runtime.binding import Binding
from sharedoa.runtime.bound_names import BoundNames
from sharedoa.runtime.geometry import parse_geometry
from sharedoa.runtime.launch import Program
from sharedoa.runtime.launch_code import quick_launcher
from sharedoa.runtime.unit import Unit

from ..differential.effort import examples


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


class Launched:
    """As much of a program as the quick way asks for: ``taken`` is the way that the last launch
    took, ``quick`` (with the slots) or ``careful``."""

    def __init__(self, types: tuple[Type, ...]) -> None:
        names = tuple(f"p{number}" for number in range(len(types)))
        self.plan = ArgumentPlan("k", Signature(names, types, VOID))
        self.slots = self.plan.new_slots()
        self.lock = threading.RLock()
        self.is_launching = self.lock._is_owned
        self.unit = cast(Unit, SimpleNamespace(state=[]))
        self.binding = Binding(lambda: None, self.unit, -1, [])
        self.taken: list[object] = []
        launcher = quick_launcher(cast(Program, self), types, self.plan.formats, self.plan.elements)
        self.launch = launcher(7, parse_geometry(1, 1))

    def launch_carefully(self, number, geometry, arguments, named, mode, debug) -> None:
        self.taken.append("careful")
        self.plan.pack(self.slots, arguments)

    def on(self, heap: oa.Heap) -> None:
        """Make launches on ``heap`` ready."""
        epoch = World.epoch + heap.layout_epoch
        starts = {7: lambda: self.taken.append(("quick", bytes(self.slots)))}
        self.binding = Binding(heap.weak, self.unit, epoch, self.unit.state, starts=starts)


def packed(plan: ArgumentPlan, arguments: tuple[object, ...]) -> tuple[oa.Heap, bytes]:
    slots = plan.new_slots()
    return plan.pack(slots, arguments) or HEAPS[0], bytes(slots)


@settings(max_examples=examples(150))
@given(calls())
def test_both_ways_agree(call):
    types, given_arguments = call
    program = Launched(types)
    with HEAPS[0], warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of f32(1e39)
        for arguments in given_arguments:
            program.taken.clear()
            try:
                heap, slots = packed(program.plan, arguments)
            except oa.ArgumentError as error:
                program.on(HEAPS[0])
                with pytest.raises(oa.ArgumentError) as caught:
                    program.launch(*arguments)
                assert str(caught.value) == str(error)
                assert program.taken == ["careful"]
                continue
            program.on(heap)
            last = heap.memory.last_launch
            program.launch(*arguments)
            assert program.taken in (["careful"], [("quick", slots)])
            assert (heap.memory.last_launch is last) == (program.taken == ["careful"])
            assert bytes(program.slots) == slots


TYPES_OF_FOUR = (ArrayType(f32), ArrayType(ReferenceType(Plant.__sharedoa__)), f32, i32)


@pytest.fixture
def four() -> tuple[Launched, oa.Array, oa.Array]:
    """A program of four parameters, and arrays for the first two. The first launch tells the
    program which element types are meant."""
    program = Launched(TYPES_OF_FOUR)
    with HEAPS[0]:
        floats, trees = oa.zeros(3, f32), oa.new(Tree, 2)
    program.launch(floats, trees, 0.5, 7)
    program.on(HEAPS[0])
    program.taken.clear()
    return program, floats, trees


def test_usual_arguments_are_packed_quickly(four):
    program, floats, trees = four
    for half, seven in ((0.5, 7), (np.float32(0.5), np.int32(7))):
        program.launch(floats, trees, half, seven)
        ((way, _),) = program.taken
        assert way == "quick"
        slots = program.slots
        assert slots[:3] == [floats.address, 3, trees.address]
        assert np.array(slots[4:6], np.uint64).view(np.float32)[0] == 0.5
        assert slots[5] == 7
        program.taken.clear()


def test_what_is_not_as_usual_is_looked_at(four):
    program, floats, trees = four
    usual, known = (floats, trees, 0.5, 7), program.binding
    run = next(HEAPS[0].all(Plant)._stretches())._run
    assert run is not None, "of another form than trees"

    def way(*arguments: object, **named: object) -> object:
        program.taken.clear()
        program.launch(*arguments, **named)
        (taken,) = program.taken
        return taken if taken == "careful" else taken[0]

    assert way(*usual) == "quick"
    assert way(floats, trees, 1, 7) == "careful", "an integer for a float"
    assert way(*usual, mode="auto") == way(*usual, debug=False) == "careful"
    for changed in (
        replace(known, epoch=known.epoch - 1),
        replace(known, starts={}),
        replace(known, heap=HEAPS[1].weak),
        replace(known, state=[]),
        replace(known, run_places=((1, 2, run),)),
        replace(known, names=Changed()),
    ):
        program.binding = changed
        assert way(*usual) == "careful"
    program.binding = known
    assert way(*usual) == "quick"
    World.advance()
    assert way(*usual) == "careful"
    program.on(HEAPS[0])
    with HEAPS[0]:
        oa.new(Tree, 100_000)  # a new region
    assert way(*usual) == "careful"


class Changed(BoundNames):
    def __init__(self) -> None:
        super().__init__(())
        self.hold = lambda: False


def test_arguments_that_are_missing_or_named_are_looked_at(four):
    program, floats, trees = four
    seen: list[object] = []
    program.launch_carefully = lambda *given: seen.append(given[2:4])
    fresh = quick_launcher(program, TYPES_OF_FOUR, program.plan.formats, program.plan.elements)
    launch = fresh(7, parse_geometry(1, 1))
    launch(floats, trees, p3=7)
    launch(floats)
    launch(floats, trees, 0.5, 7, 8)
    launch(p0=floats)
    assert seen == [
        ((floats, trees), {"p3": 7}), ((floats,), {}), ((floats, trees, 0.5, 7, 8), {}),
        ((), {"p0": floats}),
    ]  # fmt: skip
    assert not program.taken


def test_a_launch_that_fails_leaves_nothing_locked(four):
    program, floats, trees = four

    def fail() -> None:
        raise ValueError("pretended")

    program.binding.starts[7] = fail
    launching = HEAPS[0].memory.launching
    with pytest.raises(ValueError, match="pretended"):
        program.launch(floats, trees, 0.5, 7)
    assert not launching
    free = threading.Thread(target=lambda: program.taken.append(program.lock.acquire(timeout=5)))
    free.start()
    free.join()
    assert program.taken == [True]
