"""Runs: stretches of an array of addresses whose slots in a region have a constant distance.

Objects that were created together are such a run, so most arrays of references are a few runs, and
their fields can be read and written as strided pieces instead of being gathered one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..model.arrangement import Addresses
from .region_selection import Part
from .regions import Region

MOST_RUNS = 64
"""With more than these, gathering is no slower than going run by run."""
_FEW_RUNS, _SHORT_RUN = 8, 8
"""After a few runs that were short, the rest is not expected to be longer."""
_FIRST_CHUNK, _CHUNK = 1 << 6, 1 << 16

#: Gives the region and slot of the address at a position, or raises HeapError.
Locate = Callable[[int], tuple[Region, int]]


def find_runs(addresses: Addresses, locate: Locate) -> list[Part] | None:
    """The runs that ``addresses`` consists of, or None if they are too many to be of use, or an
    address follows itself. Raises HeapError for an address of nothing."""
    runs: list[Part] = []
    position = 0
    while position < len(addresses):
        disordered = len(runs) >= _FEW_RUNS and position < len(runs) * _SHORT_RUN
        if disordered or len(runs) == MOST_RUNS:
            return None
        region, slot = locate(position)
        step = _step(region, slot, addresses[position : position + 2])
        if step == 0:
            return None
        count = _follow(region, slot, step, addresses[position:])
        runs.append(Part.at(region, position, _stretch(slot, step, 0, count)))
        position += count
    return runs


def _step(region: Region, slot: int, addresses: Addresses) -> int:
    """From the first address's slot to that of the second; 1 if that is none of this region."""
    if len(addresses) == 2:
        following = region.slot(int(addresses[1]))
        if following is not None:
            return following - slot
    return 1


def _follow(region: Region, slot: int, step: int, addresses: Addresses) -> int:
    """How many of ``addresses`` are those of ``slot``, ``slot + step`` and so on. Goes through the
    cache in chunks."""
    ahead = region.capacity - 1 - slot if step > 0 else slot
    most = min(len(addresses), ahead // abs(step) + 1)
    count, chunk = 1, _FIRST_CHUNK
    while count < most:
        stop = min(count + chunk, most)
        expected = region.addresses(_stretch(slot, step, count, stop))
        differ: np.ndarray[Any, Any] = expected != addresses[count:stop]
        if differ.any():
            return count + int(np.argmax(differ))
        count, chunk = stop, min(2 * chunk, _CHUNK)
    return count


def _stretch(slot: int, step: int, first: int, stop: int) -> slice:
    """The slots of a run from its element ``first`` to before ``stop``."""
    end = slot + stop * step
    return slice(slot + first * step, end if end >= 0 else None, step)
