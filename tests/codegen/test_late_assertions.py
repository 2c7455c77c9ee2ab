"""Assertions that come behind what follows them: the same as CPython finds; what fails is told; and
in the machine code nothing waits for them within a round."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32
from tests.codegen.interpreted import InterpretedGpu
from tests.runtime.everywhere import Results, check_everywhere

GUESTS, HOPS = 40, 4


class Spot(oa.Object):
    guest: Guest | None
    many: i32
    is_last: bool

    def enter(self, guest: Guest) -> None:
        assert self.guest is None, "it is taken"
        self.guest = guest

    def leave(self) -> None:
        assert self.guest is not None, "it is empty"
        self.guest = None


class Guest(oa.Object):
    path: oa.inline[Spot, HOPS]
    at: Spot
    hops: i32


@oa.kernel
def hop(guests: oa.Array[Guest], marks: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if marks[i] == 0:
        guest = guests[i]
        for k in range(guest.hops):
            guest.at.leave()
            spot = guest.path[k]
            spot.enter(guest)
            guest.at = spot
        spot = guest.at
        if spot.many == 0 or spot.is_last:
            spot.leave()
            marks[i] = 2


def _hop(wrong: int | None = None) -> Results:
    random = np.random.default_rng(5)
    count = GUESTS * HOPS
    spots = oa.new(
        Spot, count, many=random.integers(3, size=count), is_last=random.random(count) < 0.3
    )
    guests = oa.new(Guest, GUESTS, hops=random.integers(HOPS, size=GUESTS))
    order = random.permutation(count).reshape(GUESTS, HOPS)
    for guest, (first, *path) in zip(guests, order.tolist(), strict=True):
        guest.at = spots[first]
        spots[first].guest = guest
        for k, place in enumerate(path):
            guest.path[k] = spots[place]
    if wrong is not None:
        guests[wrong].hops = 3
        guests[wrong].path[1].guest = guests[wrong]
    marks = oa.zeros(GUESTS, i32)
    hop[GUESTS](guests, marks)
    return {
        "marks": marks.numpy().copy(),
        "taken": np.array([each.guest is not None for each in spots]),
        "at": np.array([each.at.many for each in guests]),
    }


def test_the_same_everywhere() -> None:
    found = check_everywhere(_hop, "cpu", "warps", "warps in debug mode")
    assert 0 < found["taken"].sum() < GUESTS and 0 < found["marks"].sum() < 2 * GUESTS


def test_what_fails_in_a_round_is_told() -> None:
    with oa.Heap(backend=InterpretedGpu(), layout="tile", capacity="64MiB"):
        with pytest.raises(oa.DeviceError, match="it is taken"):
            _hop(wrong=7)


def test_nothing_waits_for_them() -> None:
    with oa.Heap(backend=InterpretedGpu(), layout="tile", references="64", capacity="64MiB"):
        _hop()
        assert "assertions in this loop are reported behind it" in hop.explain()
        ptx = str(hop.asm["ptx"])
    blocks = re.split(r"^[.$\w]+:|\bbra\b", ptx[ptx.index(".entry") :], flags=re.MULTILINE)
    loads = [len(re.findall(r"\bld\.global", block)) for block in blocks]
    # Of two rounds at once: elements of the path, guests of spots.
    assert max(loads) >= 5
