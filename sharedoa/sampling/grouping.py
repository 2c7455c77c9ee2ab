"""Which fields of which objects sampled threads touch, and which had better lie side by side.

In the rows of a tile a scalar of eight neighbours is a sector of 32 bytes, the least that memory
moves: as good as can be for threads that have neighbours, while a thread with an object of its own
needs a sector for every field. Fields of a *cluster* (``model.clusters``) share them.

A choice costs as many sectors as warps touch, and pairs of these, which is what comes from the
device's own memory, and lines of 128 bytes, which is what caches look for; what a warp comes back
to it has, but what it writes again goes through to the second-level cache again. And it costs the
lines that each load or store of a warp takes apart: those of one object within as many bytes of a
cluster as are aligned, up to 16, are one instruction.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..model.classes import ClassType
from ..model.field_address import LANES, WIDEST_ACCESS, Addressing
from ..model.layout import Layout, cluster_of
from .lanes import Lvalue, Numbers, Weights

WARP = 32
_SECTOR, _PAIR, _LINE = 5, 6, 7
"""Powers of two, in bytes."""
_ADDRESS_BITS, _INSTRUCTION_BITS = 48, 6
_WRITING = 3.0
"""Times as much as reading."""
_LEAST_GAIN = 0.05
"""Part of what fields cost that a cluster of them must spare: it takes instructions, too."""

Names = tuple[str, ...]


class Touch(NamedTuple):
    """A scalar of ``size`` bytes of one object a lane, as part of the field ``name``: the object's
    address, the scalar's offset in the record (u64), and how often the threads that the lane stands
    for touch it at most where they come to it, and in all, which counts for what they write."""

    name: str
    objects: Numbers
    offsets: Numbers
    size: int
    is_write: bool
    weights: Weights
    times: Weights


class Touches:
    """All of a sample."""

    def __init__(self) -> None:
        self._found: dict[ClassType, dict[Any, Touch]] = {}

    @property
    def of_class(self) -> dict[ClassType, list[Touch]]:
        """By the class that declares the field."""
        return {cls: [*touches.values()] for cls, touches in self._found.items()}

    def add(self, lvalue: Lvalue, size: int, weights: Weights, is_write: bool) -> None:
        """Note a touch of a field in lanes that have a weight. What a lane reads again is nothing
        new: it counts as often as it does at most."""
        owner, name, objects, offset = lvalue.owner, lvalue.name, lvalue.base, lvalue.offset
        assert owner is not None
        if weights.any():
            # Touches keep the arrays, and these their identity.
            inside = id(offset) if isinstance(offset, np.ndarray) else int(offset)
            known, key = self._found.setdefault(owner, {}), (id(objects), inside, size, is_write)
            times = weights
            if key in known:
                before = known[key]
                weights, offset = np.maximum(before.weights, weights), before.offsets
                times = before.times + times if is_write else weights
            known[key] = Touch(name, objects, offset, size, is_write, weights, times)


class Group(NamedTuple):
    """Fields of a class that follow one another, from ``first`` to ``last``, in a cluster or, if
    not, in rows."""

    first: int
    last: int
    is_cluster: bool


class _Scalars(NamedTuple):
    """Scalars that warps touch, by object and then by ``offsets`` in the record; ``fields`` are the
    places of those that they are part of. The addresses of ``objects`` have in the bits above what
    tells warps apart, and the reads and writes of one, which have nothing in common."""

    objects: Numbers
    offsets: Numbers
    sizes: Numbers
    fields: Numbers
    weights: Numbers
    times: Numbers


class NotCounted(LookupError):
    """Nobody has asked yet what a group of fields costs, and touches are known no more."""


class Costs:
    """What the fields that a class declares cost one program, by how they lie, as far as it is
    known. ``used``: places of the fields that are touched."""

    def __init__(self, used: frozenset[int], known: dict[Group, float]) -> None:
        self.used, self.known = used, known

    def of(self, group: Group) -> float:
        """Of one group of fields. Raises NotCounted."""
        if not any(group.first <= place <= group.last for place in self.used):
            return 0.0
        found = self.known.get(group)
        if found is None:
            found = self.known[group] = self._count(group)
        return found

    def _count(self, group: Group) -> float:
        raise NotCounted(group)


class SampledCosts(Costs):
    """Those of the fields that ``owner`` declares. ``touches``: what the program does with them."""

    def __init__(self, layout: Layout, owner: ClassType, touches: Collection[Touch]) -> None:
        self._record = layout.record(owner)
        self._names = tuple(owner.own_fields)
        self._touches = touches
        super().__init__(frozenset(self._names.index(each.name) for each in touches), {})

    def _count(self, group: Group) -> float:
        fields = self._scalars.fields
        chosen = np.flatnonzero((group.first <= fields) & (fields <= group.last))
        objects, offsets, sizes, _, weights, times = (each[chosen] for each in self._scalars)
        if group.is_cluster:
            cluster = cluster_of(self._record, self._names[group.first : group.last + 1])
            places = Addressing(LANES, cluster).address(objects, offsets, 0)
            at_once = math.gcd(WIDEST_ACCESS, cluster.width)
            inside = (offsets - np.uint64(cluster.offset)) // np.uint64(at_once)
            return _cost(places, inside, weights, times)
        places, rows = np.empty_like(objects), Addressing(LANES)
        for size in np.flatnonzero(np.bincount(sizes)).tolist():
            own = sizes == size
            places[own] = rows.address(objects[own], offsets[own], size)
        return _cost(places, offsets, weights, times)

    @cached_property
    def _scalars(self) -> _Scalars:
        """All that is touched."""
        touches, self._touches = [*self._touches], ()
        lanes = max((len(each.weights) for each in touches), default=0)
        warps = np.arange(lanes, dtype=np.uint64) // np.uint64(WARP) * np.uint64(2)
        # The objects that touches have in common are numbered once, in order.
        places = {
            (id(each.objects), each.is_write): each.objects
            + (warps + np.uint64(each.is_write) << np.uint64(_ADDRESS_BITS))
            for each in touches
        }
        every = np.concatenate([*places.values(), np.zeros(0, np.uint64)])
        order = np.argsort(every, kind="stable")
        is_first = _is_first(every[order])
        numbers = np.empty(len(every), np.int64)
        numbers[order] = np.cumsum(is_first) - 1
        by_touch = dict(zip(places, numbers.reshape(-1, lanes or 1), strict=True))
        parts = []
        for touch in sorted(touches, key=lambda each: int(np.min(each.offsets))):
            lane = np.flatnonzero(touch.weights)
            known = np.broadcast_to([[touch.size], [self._names.index(touch.name)]], (2, len(lane)))
            offsets = np.broadcast_to(touch.offsets, lanes)[lane]
            factor = _WRITING if touch.is_write else 1.0
            often = (each[lane] * factor for each in (touch.weights, touch.times))
            number = by_touch[id(touch.objects), touch.is_write][lane]
            parts.append((number, offsets, *known, *often))
        if not parts:
            return _Scalars(*[np.zeros(0, np.int64)] * 6)
        found = _Scalars(*map(np.concatenate, zip(*parts, strict=True)))
        # NumPy sorts numbers of 16 bits in a tenth of the time.
        small = np.min_scalar_type(len(every))
        order_of = np.argsort(found.objects.astype(small), kind="stable")
        found = _Scalars(*(each[order_of] for each in found))
        first = np.flatnonzero(_is_first(found.objects) | _is_first(found.offsets))
        weights = np.maximum.reduceat(found.weights, first)
        number, offsets, sizes, fields, *_ = (each[first] for each in found)
        objects = every[order][is_first][number]
        are_written = (objects >> np.uint64(_ADDRESS_BITS)) & np.uint64(1) != 0
        times = np.where(are_written, np.add.reduceat(found.times, first), weights)
        return _Scalars(objects, offsets, sizes, fields, weights, times)


def _is_first(values: Numbers) -> Numbers:
    """Which are not like the one before."""
    found = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def _cost(places: Numbers, instructions: Numbers, weights: Weights, times: Weights) -> float:
    """Of touches of these addresses, and of ``instructions``, which are the same for what one of a
    warp loads or stores; ``times``: how often in all."""
    lines = (places >> np.uint64(_LINE)) << np.uint64(_INSTRUCTION_BITS)
    requests = lines + (instructions & np.uint64((1 << _INSTRUCTION_BITS) - 1))
    cost = float(_different(requests, times)[1].sum())
    cost += float(_different(places >> np.uint64(_SECTOR), times)[1].sum())
    shifted = 0
    for bits in (_PAIR, _LINE):
        places, weights = _different(places >> np.uint64(bits - shifted), weights)
        cost += float(weights.sum())
        shifted = bits
    return cost


def _different(places: Numbers, weights: Weights) -> tuple[Numbers, Weights]:
    """The places that there are, in order; each as often as the lane that needs it most, as a
    warp's lanes share it."""
    if (places[1:] < places[:-1]).any():
        order = np.argsort(places, kind="stable")
        places, weights = places[order], weights[order]
    first = np.flatnonzero(_is_first(places))
    return places[first], np.maximum.reduceat(weights, first)


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

    def ways(self, without: Collection[Names] = ()) -> list[tuple[Names, ...]]:
        """The best clusters, each made of others as long as that spares enough, and those that they
        were made of, one step after another, back to rows; none of them is one of ``without``."""
        groups = [Group(place, place, False) for place in self._used]
        found: list[tuple[Names, ...]] = [()]
        while True:
            steps = [step for step in self._steps(groups) if self._in(step[2]) not in without]
            if not steps:
                return found[::-1]
            _, where, group = max(steps, key=lambda step: step[0])
            groups[where] = [group]
            found.append(tuple(self._in(group) for group in groups if group.is_cluster))

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
