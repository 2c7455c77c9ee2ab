"""Launches that make and end objects, again and again: nothing grows."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import i32

_PAGE = 4096
THREADS = 64


class Mite(oa.Object):
    born: i32
    mother: Mite | None

    def live(self, turn: i32) -> None:
        """One in two goes, and leaves one child or, one turn in eight, two."""
        if (self.born + turn) % 2 == 0:
            oa.new(Mite, born=turn, mother=self)
            if turn % 8 == 0:
                oa.new(Mite, born=turn + 1)
            oa.delete(self)
        elif turn % 8 == 4 and self.born % 3 == 0:
            oa.delete(self)


@oa.kernel
def settle(count: i32, rounds: i32) -> None:
    """Nobody knows how many each thread makes."""
    i = oa.grid(1)
    if i < count:
        for number in range(rounds):
            oa.new(Mite, born=i + number)


def resident() -> int:
    """Bytes of this process's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def held(heap: oa.Heap) -> tuple[int, int, int]:
    placement = heap.placement
    capacity = sum(region.capacity for region in placement.all_regions())
    return capacity, len([*placement.all_regions()]), heap.stats().array_bytes


def run(heap: oa.Heap, launches: int) -> None:
    oa.reserve(Mite, 4 * THREADS)
    half, resident_then = launches // 2, 0
    # What the heap held at most, in each half: to keep all of it would grow, too.
    before, after = (0, 0, 0), (0, 0, 0)
    for turn in range(launches):
        if turn == half:
            resident_then, before, after = resident(), after, before
        living = len(oa.all(Mite))
        if living < THREADS:
            settle[THREADS](THREADS - living, 2)
        elif living > 4 * THREADS:
            oa.delete(oa.all(Mite)[::2])
        oa.all(Mite).live(turn)
        capacity, regions, array_bytes = held(heap)
        after = max(after[0], capacity), max(after[1], regions), max(after[2], array_bytes)
    assert all(late <= 2 * early for early, late in zip(before, after, strict=True))
    assert max(before[1], after[1]) <= 8
    if heap.backend.name == "cpu":
        # Python's allocator keeps some; a leak of 100 bytes a launch would be more than this.
        assert resident() - resident_then <= max(8 << 20, 100 * half)


@pytest.mark.parametrize(("backend", "launches"), [("cpu", 500), ("python", 60)])
def test_nothing_grows(backend: str, launches: int) -> None:
    with oa.Heap(backend=backend) as heap:
        run(heap, launches)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "typepointer"])
def test_nothing_grows_in_the_long_run(mode: str) -> None:
    with oa.Heap(backend="cpu", mode=mode, initial_region=64) as heap:
        run(heap, 100_000)
