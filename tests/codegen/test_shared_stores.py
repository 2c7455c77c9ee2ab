"""Loops whose iterations store, shared by the threads of a warp: several come to one object."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, i64
from tests.codegen.loop_sharing import Lists, check, check_expected, check_scattered, lists, rounds
from tests.differential.effort import examples

few = settings(max_examples=examples(8))
FAR = 10**9


class Spot(oa.Object):
    distance: i32
    label: i64
    seen: bool
    by: Spot
    factor: i32

    def lower(self, value: i32) -> bool:
        if self.distance > value:
            self.distance = value
            return True
        return False

    def look(self, value: i32) -> None:
        """Plain ones look away."""


class Marked(Spot):
    def look(self, value: i32) -> None:
        """So do marked ones."""


class Lowered(Marked):
    def look(self, value: i32) -> None:
        self.lower(value)


class Walker(oa.Object):
    begin: i32
    end: i32
    level: i32
    spots: oa.Array[Spot]
    own: Spot

    def reach(self) -> None:
        level = self.level + 1
        for e in range(self.begin, self.end):
            spot = self.spots[e]
            if spot.distance > level:
                spot.distance = level

    def mark(self, word: i64) -> None:
        for e in range(self.begin, self.end):
            spot = self.spots[e]
            if spot.factor & 1:
                continue
            spot.seen = True
            spot.label = word

    def claim(self) -> None:
        own = self.own
        for e in range(self.begin, self.end):
            target = self.spots[e]
            if e % 3 < target.factor and target.by is None:
                target.by = own

    def look(self) -> None:
        value = self.level
        for e in range(self.begin, self.end):
            spot = self.spots[e]
            spot.look(value)


@oa.kernel
def reach(all: oa.Array[Walker]):
    all[oa.grid(1)].reach()


@oa.kernel
def mark(all: oa.Array[Walker], word: i64):
    all[oa.grid(1)].mark(word)


@oa.kernel
def claim(all: oa.Array[Walker]):
    all[oa.grid(1)].claim()


@oa.kernel
def look(all: oa.Array[Walker]):
    all[oa.grid(1)].look()


def _spots(given: Lists, classes: tuple[type, ...], few: int) -> tuple[list[Spot], Any]:
    """Spots, and an array that names each of them several times."""
    kinds = given.numbers(0, len(classes), few).tolist()
    start = given.numbers(-5, 40, few).tolist()
    spots = [
        oa.new(classes[kind], distance=FAR if value > 30 else value, label=-1, factor=value & 3)
        for kind, value in zip(kinds, start, strict=True)
    ]
    places = given.numbers(0, few).tolist()
    return spots, oa.array(Spot, [spots[place] for place in places])


def _walkers(given: Lists, spots: Any, level: Any, own: Any = None) -> Any:
    all = oa.new(Walker, given.count, begin=given.begin, end=given.end, level=level)
    for place, walker in enumerate(all):
        walker.spots = spots
        if own is not None:
            walker.own = own[place % len(own)]
    return all


def _state(spots: list[Spot]) -> list[Any]:
    place = {spot: number for number, spot in enumerate(spots)}
    return [
        (spot.distance, spot.label, spot.seen, None if spot.by is None else place[spot.by])
        for spot in spots
    ]


@given(given=lists(), level=st.integers(-3, 30), count=st.integers(1, 40))
@few
def test_one_level_for_all_threads(given: Lists, level: int, count: int) -> None:
    """As in a search by breadth: whoever comes stores the same."""

    def run() -> list[Any]:
        spots, named = _spots(given, (Spot, Marked), count)
        reach[given.count](_walkers(given, named, level))
        return _state(spots)

    check(run, rounds(given.lengths))
    check_scattered(run, given.seed)


@given(given=lists(), count=st.integers(1, 40))
@few
def test_levels_of_threads_that_come_to_the_same_objects(given: Lists, count: int) -> None:
    """Nothing is between a test and its store in the interpreter, so the least level stays."""
    levels = given.numbers(-9, 50, given.count)

    def run() -> list[Any]:
        spots, named = _spots(given, (Spot, Marked), count)
        walkers = _walkers(given, named, levels.astype("int32"))
        reach[given.count](walkers)
        return [spot.distance for spot in spots]

    def expected() -> list[int]:
        found = [FAR if v > 30 else v for v in given.numbers(-5, 40, count).tolist()]
        places = given.numbers(0, count).tolist()
        for begin, end, level in zip(given.begin, given.end, levels.tolist(), strict=True):
            for e in range(begin, end):
                found[places[e]] = min(found[places[e]], level + 1)
        return found

    check_expected(run, expected())


@given(given=lists(), word=st.integers(-(2**63), 2**63 - 1), count=st.integers(1, 40))
@few
def test_unconditional_stores(given: Lists, word: int, count: int) -> None:
    def run() -> list[Any]:
        spots, named = _spots(given, (Spot,), count)
        mark[given.count](_walkers(given, named, 0), word)
        return _state(spots)

    check(run, rounds(given.lengths))


@given(given=lists(), count=st.integers(1, 9))
@few
def test_references_are_stored_into_objects_of_ones_own(given: Lists, count: int) -> None:
    """Every thread has spots of its own, each of which many of its iterations come to."""

    def run() -> list[Any]:
        everyone: list[Spot] = []
        owners = oa.new(Spot, given.count)
        walkers = _walkers(given, oa.array(Spot, []), 0, list(owners))
        for walker in walkers:
            factors = given.numbers(0, 3, count).tolist()
            spots = [oa.new(Spot, factor=factor) for factor in factors]
            names = [spots[place] for place in given.numbers(0, count).tolist()]
            walker.spots = oa.array(Spot, names)
            everyone += spots
        claim[given.count](walkers)
        place = {spot: number for number, spot in enumerate(owners)}
        return [None if spot.by is None else place[spot.by] for spot in everyone]

    check(run, rounds(given.lengths))


@given(given=lists(), level=st.integers(-3, 30), count=st.integers(1, 40))
@few
def test_virtual_methods_that_store(given: Lists, level: int, count: int) -> None:
    """One class of three does, in a method that it calls."""

    def run() -> list[Any]:
        spots, named = _spots(given, (Spot, Marked, Lowered), count)
        look[given.count](_walkers(given, named, level))
        return _state(spots)

    check(run, rounds(given.lengths))
    check_scattered(run, given.seed)
