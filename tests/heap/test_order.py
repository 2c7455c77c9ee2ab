"""In which order objects stand follows from the program, not from where regions end or lie, nor
from how much room a device has made for runs to come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32, i64

from ..backends.pretend_device import PretendDevice


class Being(oa.Object):
    id: i32


class Small(Being):
    def grow(self, part: i32) -> None:
        if self.id % part == 0:
            oa.new(Small, id=self.id + 1000)

    def end(self, part: i32) -> None:
        if self.id % part:
            oa.delete(self)

    def grow_apart(self, low: i32, high: i32) -> None:
        for k in range(10):
            if k == 0 and (self.id == low or self.id == high):
                oa.new(Small, id=self.id + 1000)


class Large(Being):
    pair: oa.inline[i64, 4]


class Other(Large):
    pass


def ids() -> list[int]:
    found: list[int] = oa.all(Small).id.numpy().tolist()
    return found


def make(first: int, count: int) -> Any:
    return oa.new(Small, count, id=np.arange(first, first + count))


def test_later_regions_stand_behind_wherever_they_lie() -> None:
    with oa.Heap("coal", "cpu", "aos", initial_region=32) as heap:
        first = oa.new(Other, 64)
        make(0, 32)
        oa.new(Large, 64)
        oa.delete(first)
        make(32, 32)
        low, high = sorted(heap.placement.regions(Small.__sharedoa__), key=lambda each: each.start)
        assert low.live.sum() and heap.placement.regions(Small.__sharedoa__) == [high, low]
        assert ids() == list(range(64))
        oa.sort(oa.all(Small)[10:50], -np.arange(40))
        assert ids() == [*range(10), *range(49, 9, -1), *range(50, 64)]


def test_what_is_empty_amid_others_is_filled_again() -> None:
    with oa.Heap("coal", "cpu", "aos", initial_region=32) as heap:
        gone = make(0, 32)
        oa.new(Large, 32)
        make(32, 40)
        assert heap.placement.region_count(Small.__sharedoa__) == 2
        oa.delete(gone)
        make(100, 1)
        assert ids() == [100, *range(32, 72)]


@pytest.mark.parametrize("device", [False, True])
def test_new_ones_come_into_the_first_places_of_all_regions(device: bool) -> None:
    with oa.Heap("coal", PretendDevice(1 << 16) if device else "cpu", initial_region=32) as heap:
        make(0, 20)
        oa.new(Large, 32)
        oa.all(Small).grow_apart(i32(2), i32(19))  # each thread has ten places
        assert heap.placement.region_count(Small.__sharedoa__) == 2
        with oa.capture() as step:
            oa.all(Small).grow(i32(1))
        step.run()
        assert ids() == [*range(20), *range(1000, 1020), 1002, 2002, 2019, 1019]


def history(device: bool) -> list[list[int]]:
    """Which objects there are while the host deletes some and makes others."""
    with oa.Heap(backend=PretendDevice(1 << 16) if device else "cpu", initial_region=32) as heap:
        make(0, 60)
        with oa.capture() as step:
            oa.all(Small).grow(i32(3))
        step.run(2)
        found = []
        for turn in range(60):
            gone = list(oa.all(Small)[::40])
            for each in gone:
                oa.delete(each)
            make(5000 + 10 * turn, len(gone))
            found.append(ids())
        return [*found, [heap.placement.moves]]


def test_they_move_by_themselves_at_the_same_moment() -> None:
    """Whatever room a device has for other runs."""
    assert history(device=True) == history(device=False)


def test_in_how_many_pieces_the_host_deletes_is_nothing() -> None:
    with oa.Heap(backend="cpu", initial_region=32) as heap:
        make(0, 1000)
        oa.all(Small).end(i32(1))  # a class that launches change has some patience
        oa.delete(oa.all(Small)[np.flatnonzero(np.arange(1000) % 3)])
        oa.delete(oa.all(Small)[np.flatnonzero(np.random.default_rng(1).random(334) < 0.9)])
        assert heap.placement.moves == 0


def test_room_that_is_reserved_waits_for_runs() -> None:
    """A region that grows takes along who lives, which a device may be about to change."""
    with oa.Heap(backend=PretendDevice(1 << 16), initial_region=32):
        make(0, 40)
        with oa.capture() as step:
            oa.all(Small).end(i32(5))
        step.run()
        step.run()
        oa.reserve(Small, 500)
        assert ids() == list(range(0, 40, 5))
