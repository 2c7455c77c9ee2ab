"""Which fields had better lie side by side, by what sampled threads touch.

In the rows of a tile a scalar of eight neighbours is a sector of 32 bytes, the least that memory
moves: as good as can be for threads that have neighbours, while a thread with an object of its own
needs a sector for every field. Fields of a *cluster* (``model.clusters``) share them.

A choice costs as many sectors as warps touch, and pairs of these, which is what comes from the
device's own memory, and lines of 128 bytes, which is what caches look for; what a warp comes back
to it has. And it costs the lines that each load or store of a warp takes apart: those of one object
within 16 bytes of a cluster are one instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..model.classes import ClassType
from ..model.field_address import LANES, Addressing
from ..model.layout import Layout, cluster_of
from .lanes import Numbers, Weights
from .touches import Touch

_SECTOR, _PAIR, _LINE = 5, 6, 7
"""Powers of two, in bytes."""
_AT_ONCE = 4
_ADDRESS_BITS, _INSTRUCTION_BITS = 48, 6
_WRITING = 3.0
"""Times as much as reading."""
_LEAST_GAIN = 0.05
"""Part of what fields cost that a cluster of them must spare: it takes instructions, too."""

Names = tuple[str, ...]


class Group(NamedTuple):
    """Fields of a class that follow one another, from ``first`` to ``last``, in a cluster or, if
    not, in rows."""

    first: int
    last: int
    is_cluster: bool


class Costs:
    """What the fields that ``owner`` declares cost one program, by how they lie. ``touches``: what
    it does with each."""

    def __init__(
        self, layout: Layout, owner: ClassType, touches: Mapping[str, Sequence[Touch]]
    ) -> None:
        self._record = layout.record(owner)
        self._names = tuple(owner.own_fields)
        self._touches = touches
        self._known: dict[Group, float] = {}
        self.used = frozenset(map(self._names.index, touches))
        """Places of the fields that are touched."""

    def of(self, group: Group) -> float:
        """Of one group of fields."""
        found = self._known.get(group)
        if found is None:
            names = self._names[group.first : group.last + 1]
            found = self._known[group] = self._sum(names, group.is_cluster)
        return found

    def _sum(self, names: Names, is_cluster: bool) -> float:
        cluster = cluster_of(self._record, names) if is_cluster else None
        addressing, found = Addressing(LANES, cluster), []
        for touch in (touch for name in names for touch in self._touches.get(name, ())):
            addresses = addressing.address(touch.objects, touch.offsets, touch.size)
            inside = touch.offsets
            if cluster is not None:
                inside = (inside - np.uint64(cluster.offset)) >> np.uint64(_AT_ONCE)
            found.append((touch, addresses, inside))
        return _cost(found)


def _cost(touches: Sequence[tuple[Touch, Numbers, Numbers]]) -> float:
    """Of touches, each with the addresses that it touches, and numbers that are the same for what
    one instruction of a warp loads or stores."""
    if not touches:
        return 0.0
    places, requests, weights = [], [], []
    for touch, addresses, instruction in touches:
        # Warps have nothing in common, nor do the reads and the writes of one.
        warp = (2 * touch.warp + touch.is_write).astype(np.uint64)
        place = addresses + (warp << np.uint64(_ADDRESS_BITS))
        lines = (place >> np.uint64(_LINE)) << np.uint64(_INSTRUCTION_BITS)
        places.append(place)
        requests.append(lines + (instruction & np.uint64((1 << _INSTRUCTION_BITS) - 1)))
        weights.append(touch.weights * (_WRITING if touch.is_write else 1.0))
    every, often = np.concatenate(places), np.concatenate(weights)
    order = np.argsort(every)
    every, often = every[order], often[order]
    moved = sum(_number(every >> np.uint64(shift), often) for shift in (_SECTOR, _PAIR, _LINE))
    apart = np.concatenate(requests)[order]
    order = np.argsort(apart, kind="stable")
    return moved + _number(apart[order], often[order])


def _number(places: Numbers, weights: Weights) -> float:
    """How many sorted places there are in all; each as often as the lane that needs it most, as a
    warp's lanes share it."""
    first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    return float(np.maximum.reduceat(weights, first).sum())


class Choice:
    """Clusters for the fields that ``owner`` declares. ``costs``: those of each program, and how
    often it runs."""

    def __init__(
        self, layout: Layout, owner: ClassType, costs: Sequence[tuple[Costs, float]]
    ) -> None:
        self._layout, self._owner, self._costs = layout, owner, costs
        self._names = tuple(owner.own_fields)
        self._used = sorted(frozenset().union(*(each.used for each, _ in costs)))

    def cost(self, clusters: Iterable[Names]) -> float:
        """Of all fields, if these form clusters and the others have rows."""
        place = self._names.index
        groups = [Group(place(names[0]), place(names[-1]), True) for names in clusters]
        inside = {place for group in groups for place in range(group.first, group.last + 1)}
        rows = (Group(place, place, False) for place in self._used if place not in inside)
        return sum(map(self._of, [*groups, *rows]))

    def best(self) -> tuple[Names, ...]:
        """Clusters that cost less than rows, each made of others as long as that spares enough."""
        groups = [Group(place, place, False) for place in self._used]
        while True:
            steps = [*self._steps(groups)]
            if not steps:
                break
            _, where, group = max(steps, key=lambda step: step[0])
            groups[where] = [group]
        return tuple(self._in(group) for group in groups if group.is_cluster)

    def _in(self, group: Group) -> Names:
        return self._names[group.first : group.last + 1]

    def _steps(self, groups: Sequence[Group]) -> Iterator[tuple[float, slice, Group]]:
        """Groups that may be a cluster, with what lies between them, and what that spares, where
        that is enough: each alone, each two neighbours, and some of more, which may be worth it
        where two of them are not."""
        length = 1
        while length <= len(groups):
            for start in range(0, len(groups) - length + 1, max(1, length // 2)):
                parts = groups[start : start + length]
                whole = Group(parts[0].first, parts[-1].last, True)
                if whole not in parts and self._layout.can_cluster(self._owner, self._in(whole)):
                    apart, together = sum(map(self._of, parts)), self._of(whole)
                    if together < (1 - _LEAST_GAIN) * apart:
                        yield apart - together, slice(start, start + length), whole
            length *= 2

    def _of(self, group: Group) -> float:
        return sum(often * costs.of(group) for costs, often in self._costs)
