"""Clusters that the device's own clock compares before objects keep them.

What sampled threads touch says how many pieces of memory clusters spare, not which of these are in
caches anyway, nor what else a launch waits for. So once there is code for other clusters
(``planned_clusters``), launches are timed: some with objects as they are, some with the others, and
again some as they were, so that a population that grows meanwhile misleads nobody. Only launches of
one kind are compared with each other, and nobody waits for them. Objects keep what took less time;
which that was is known for as long as there are not many times as many of them, and kept for later
runs (``remembered_looks``). Which clusters there are has no effect on results.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from statistics import median
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dispatch.dataclass import dataclass, field

from ..backends.base import Timing
from ..forks import renew_in_child
from ..heap.heap import Heap
from ..model.classes import ClassType, Family
from ..model.clusters import Clusters, Groups

if TYPE_CHECKING:
    from .launch import Program
    from .unit import Unit

_TURNS = 3
"""As objects are, with the other clusters, and as they were."""
_SAMPLES, _WARM_UP = 12, 2
"""Launches of one kind that are timed in a turn, and how many before these, which find caches and
code as the other clusters left them."""
_LEAST = 4
"""How many of each other kind there are to be, unless there are ..."""
_MOST = 16
"""... so many times ``_SAMPLES`` launches of one kind: some are launched once and never again."""
_MOST_UNDER_WAY = 40
_ATTEMPTS = 3
"""Until clusters that cannot be compared, as each turn has other launches, are as wanted."""
_WORTHWHILE = 0.99
"""What other clusters must take, of what objects take as they are: clocks are not exact."""
_OTHER_POPULATION = 4
"""How many times as many objects of a family are another case: they no longer fit in caches."""


@dataclass(frozen=True)
class Slower:
    """Clusters of a class with which launches took longer than with others, when there were so many
    objects of its family."""

    groups: Groups
    than: Groups
    objects: int


@dataclass(eq=False)
class _Kind:
    """Launches that may be compared. Of each turn: how many there were, how many of these are
    timed, and what those took that have ended."""

    started: list[int] = field(default_factory=lambda: [0] * _TURNS)
    timed: list[int] = field(default_factory=lambda: [0] * _TURNS)
    seconds: list[list[float]] = field(default_factory=lambda: [[] for _ in range(_TURNS)])


class Comparison:
    """Of the clusters that objects of a heap have with ``other`` ones. ``is_wanted``: whether they
    are to have the others if nothing can be compared."""

    def __init__(self, heap: Heap, other: Clusters, is_wanted: bool) -> None:
        self._heap = heap.weak
        self._sides = heap.layout.clusters, other
        self._is_wanted = is_wanted
        self._families = {cls.family for cls in _differing(*self._sides)}
        #: Guards what follows.
        self._lock = renew_in_child(threading.Lock())
        self._attempts = 0
        self._begin()

    def _begin(self) -> None:
        self._turn, self._is_over = 0, False
        self._kinds: dict[Hashable, _Kind] = {}
        #: Launches that have not ended, in their order, with their turns.
        self._under_way: deque[tuple[_Kind, int, Timing]] = deque()

    def concerns(self, unit: Unit) -> bool:
        """Whether code rests on what is compared."""
        asked = unit.compilation.job.facts.asked("clusters")
        return any(family in self._families for (family,), _ in asked)

    def started(
        self, program: Program, kind: Hashable, start: Callable[[], None]
    ) -> Callable[[], None]:
        """``start``, which starts launches of a ``kind`` of a program, and times them."""

        def timed() -> None:
            if self.run(kind, start):
                program.bind_next(None)

        return timed

    def run(self, kind: Hashable, start: Callable[[], None]) -> bool:
        """Launch. Whether there were enough launches of this turn: who launches next is to be bound
        anew, so that objects change (``go_on``)."""
        heap = self._heap()
        if heap is None or self._is_over:
            start()
            return True
        with self._lock:
            known, turn = self._kinds.setdefault(kind, _Kind()), self._turn
            known.started[turn] += 1
            is_timed = (
                known.started[turn] > _WARM_UP
                and known.timed[turn] < _SAMPLES
                and len(self._under_way) < _MOST_UNDER_WAY
            )
            known.timed[turn] += is_timed
        timing: Timing | None = None
        if is_timed:
            timing = heap.backend.timed(start)
        else:
            start()
        with self._lock:
            if timing is not None:
                self._under_way.append((known, turn, timing))
            while self._under_way and (seconds := self._under_way[0][2]()) is not None:
                of, when, _ = self._under_way.popleft()
                of.seconds[when].append(seconds)
            self._is_over |= turn == self._turn and self._is_enough()
            return self._is_over

    def _is_enough(self) -> bool:
        kinds = [each for each in self._kinds.values() if each.started[self._turn]]
        timed = [len(each.seconds[self._turn]) for each in kinds]
        most = max(each.started[self._turn] for each in kinds)
        return max(timed) >= _SAMPLES and (min(timed) >= _LEAST or most >= _MOST * _SAMPLES)

    def go_on(self, heap: Heap) -> bool:
        """If there were enough launches, have objects lie as the next turn wants; whether that was
        the last one, or something else has changed how they lie."""
        now = heap.layout.clusters
        if now != self._sides[self._turn % 2] or heap.upkeep.keeps_clusters:
            return True
        if not self._is_over:
            return False
        is_last = self._turn == _TURNS - 1
        if is_last:
            kept = self._kept(heap)
            if kept is None:
                with self._lock:
                    self._begin()
                return False
        else:
            with self._lock:
                self._turn, self._is_over = self._turn + 1, False
                self._under_way.clear()
            kept = self._sides[self._turn % 2]
        if not are_possible(heap, kept):
            return True
        if kept != now:
            heap.rearrange(kept)
        return is_last

    def _kept(self, heap: Heap) -> Clusters | None:
        """What objects are to have, which is noted; None if there is to be another attempt."""
        before, other = self._sides
        ratio = self._ratio()
        self._attempts += 1
        if ratio is None:
            if self._attempts < _ATTEMPTS:
                return None
            return other if self._is_wanted else before
        kept, slower = (other, before) if ratio < _WORTHWHILE else (before, other)
        for cls in _differing(before, other):
            note(heap, cls, [Slower(slower.of(cls), kept.of(cls), count(heap, cls.family))])
        _of_heap(heap).is_new = True
        return kept

    def _ratio(self) -> float | None:
        """What launches took with the others, of what they took without; None if that is not known,
        as none could be timed, or those of each turn were of other kinds."""
        without = with_others = 0.0
        for kind in self._kinds.values():
            first, second, last = kind.seconds
            if min(map(len, kind.seconds)) >= _LEAST:
                often = sum(kind.started)
                without += often * (median(first) + median(last)) / 2
                with_others += often * median(second)
        if not without or math.isnan(without + with_others):
            return None
        return with_others / without


@dataclass(eq=False)
class _OfHeap:
    """``slower``: what was found, of each class; ``is_new``: since somebody asked."""

    comparison: Comparison | None = None
    slower: dict[ClassType, tuple[Slower, ...]] = field(default_factory=dict)
    is_new: bool = False


_heaps: WeakKeyDictionary[Heap, _OfHeap] = WeakKeyDictionary()


def _of_heap(heap: Heap) -> _OfHeap:
    return _heaps.setdefault(heap, _OfHeap())


def of(heap: Heap) -> Comparison | None:
    """What launches on the heap are to be timed for, if anything."""
    found = _heaps.get(heap)
    return found.comparison if found is not None else None


def begin(heap: Heap, other: Clusters, is_wanted: bool) -> None:
    """Compare the clusters that objects have with ``other`` ones, for which there is code. The
    caller holds the heap's lock."""
    _of_heap(heap).comparison = Comparison(heap, other, is_wanted)


def go_on(heap: Heap) -> None:
    """Whoever launches next looks at everything: if launches of a turn were enough, objects change.
    The caller holds the heap's lock."""
    comparison = of(heap)
    if comparison is not None and comparison.go_on(heap):
        _of_heap(heap).comparison = None


def note(heap: Heap, cls: ClassType, found: Iterable[Slower]) -> None:
    """Objects of the class are not to get clusters that are slower than theirs."""
    known = _of_heap(heap).slower
    for each in found:
        pair = {each.groups, each.than}
        others = (old for old in known.get(cls, ()) if {old.groups, old.than} != pair)
        known[cls] = (*others, each)


def found_since(heap: Heap) -> Mapping[ClassType, tuple[Slower, ...]]:
    """All that is known, if there is something new since somebody asked."""
    state = _heaps.get(heap)
    if state is None or not state.is_new:
        return {}
    state.is_new = False
    return state.slower


def is_slower(heap: Heap, cls: ClassType, groups: Groups, than: Groups) -> bool:
    """Whether launches are known to take longer if objects of a class have such clusters."""
    state = _heaps.get(heap)
    known = () if state is None else state.slower.get(cls, ())
    return any(
        (each.groups, each.than) == (groups, than)
        and count(heap, cls.family) < _OTHER_POPULATION * max(1, each.objects)
        for each in known
    )


def never_compared(heap: Heap) -> Clusters:
    """The clusters that objects have, but rows where nobody knows that these are slower."""
    clusters = heap.layout.clusters
    for cls, groups in clusters:
        if not is_slower(heap, cls, (), groups):
            clusters = clusters.replace(cls, ())
    return clusters


def count(heap: Heap, family: Family) -> int:
    """Objects that there are."""
    return sum(map(heap.placement.count, family.root.concrete()))


def _differing(before: Clusters, after: Clusters) -> list[ClassType]:
    every = dict.fromkeys([cls for cls, _ in (*before, *after)])
    return [cls for cls in every if before.of(cls) != after.of(cls)]


def are_possible(heap: Heap, clusters: Clusters) -> bool:
    """Whether objects of the heap may have these."""
    layout = heap.layout
    return all(layout.can_cluster(cls, names) for cls, groups in clusters for names in groups)
