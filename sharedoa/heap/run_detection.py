"""Runs: stretches of an array of addresses that have a constant distance.

Objects that were created together are such a run, so most arrays of references are a few runs, and
their fields can be seen as strided NumPy views instead of being gathered one by one.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

MOST_RUNS = 64
"""With more than these, gathering is no slower than going run by run."""
_CHUNK = 1 << 16

#: position of the first element, its address, distance in bytes, number of elements
Run = tuple[int, int, int, int]


def find_runs(addresses: np.ndarray[Any, np.dtype[np.uint64]]) -> list[Run] | None:
    """The runs that ``addresses`` consists of, or None if they are too many to be of use, or an
    address follows itself."""
    count = len(addresses)
    if count < 2:
        return [(0, int(addresses[0]), 0, 1)] if count else []
    signed = addresses.view(np.int64)
    bends = _bends(signed)
    if bends is None:
        return None
    runs: list[Run] = []
    first = 0
    for start, stop in itertools.pairwise([0, *bends, count - 1]):
        # The distance over a gap between two runs makes no run: its far end begins the next.
        is_gap = first > start and stop - start == 1
        if is_gap:
            continue
        step = int(signed[start + 1] - signed[start])
        if step == 0:
            return None
        runs.append((first, int(addresses[first]), step, stop - first + 1))
        first = stop + 1
    if first == count - 1:
        runs.append((first, int(addresses[first]), 0, 1))
    return runs if len(runs) <= MOST_RUNS else None


def _bends(addresses: np.ndarray[Any, np.dtype[np.int64]]) -> list[int] | None:
    """Where the distance to the next element is not the one from the element before; None if there
    are more than runs could have. Goes through the cache in chunks."""
    found: list[int] = []
    for start in range(0, len(addresses) - 2, _CHUNK):
        steps = np.diff(addresses[start : start + _CHUNK + 2])
        found += (np.flatnonzero(steps[1:] != steps[:-1]) + (start + 1)).tolist()
        if len(found) > 2 * MOST_RUNS:
            return None
    return found
