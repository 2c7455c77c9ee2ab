"""Clusters that the device's own clock compares before objects keep them.

What sampled threads touch says how many pieces of memory clusters spare, not which of these are in
caches anyway, nor what else a launch waits for. So once there is code for other clusters
(``planned_clusters``), launches are timed: some with objects as they are, some with the others, and
again some as they were, so that a population that grows meanwhile misleads nobody. Turns are of few
launches, as populations also turn. Only launches of one kind are compared with each other. Objects
keep what took less time; which that was is known for as long as there are not many times as many of
them, and kept for later runs (``remembered_looks``). Which clusters there are has no effect on
results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from statistics import median
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dispatch.dataclass import dataclass, field

from ..backends.base import Timing
from ..heap.heap import Heap
from ..model.classes import ClassType, Family
from ..model.clusters import Clusters, Groups
from ..model.layout import Layout
from ..uninterrupted import BooksLock
from . import background, trial_accounts

if TYPE_CHECKING:
    from .launch import Program
    from .unit import Unit

Submit = Callable[[Layout], background.Task]
_TURNS = 3
"""As objects are, with the other clusters, and as they were."""
_SAMPLES, _WARM_UP = 4, 2
"""Launches of one kind that are timed in a turn, and how many before these, which find caches and
code as the other clusters left them."""
_LEAST = 2
"""How many of each other kind there are to be, unless there are ..."""
_MOST = 16
"""... so many times ``_SAMPLES`` launches of one kind: some are launched once and never again."""
_MOST_LAUNCHES = 2048
"""Launches of any kind after which a turn ends: where each is for another number of threads there
are never enough of one kind, and more and more kinds."""
_MOST_UNDER_WAY = 40
_ATTEMPTS = 3
"""Comparisons of clusters until the last one decides."""
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
    are to have the others if nothing can be compared. ``submit`` has code made for a layout."""

    def __init__(self, heap: Heap, other: Clusters, is_wanted: bool, submit: Submit) -> None:
        self._heap, self._submit = heap.weak, submit
        self._sides = heap.layout.clusters, other
        self._is_wanted = is_wanted
        self._families = {cls.family for cls in differing(*self._sides)}
        #: Guards what follows.
        self._lock = BooksLock()
        self._attempts = 0
        self._begin()

    def _begin(self) -> None:
        self._turn = self._launches = 0
        #: At the end of a turn: makes code ready for the next one.
        self._task: background.Task | None = None
        self._kinds: dict[tuple[int, Hashable], _Kind] = {}
        #: Of each who launches, the last one: steps that grow have other launches from then on.
        self._latest: dict[int, _Kind] = {}
        #: Launches that have not ended, in their order, with their turns.
        self._under_way: deque[tuple[_Kind, int, Timing]] = deque()

    def concerns(self, unit: Unit) -> bool:
        """Whether code rests on what is compared."""
        asked = unit.compilation.job.facts.asked("clusters")
        return any(family in self._families for (family,), _ in asked)

    def started(
        self, program: Program, number: int, start: Callable[[], None]
    ) -> Callable[[], None]:
        """``start``, which starts launches of a ``number`` of a program, and times them."""

        def timed() -> None:
            if self.run(id(program), number, start):
                program.bind_next(None)

        return timed

    def run(self, owner: int, form: Hashable, start: Callable[[], None]) -> bool:
        """Start what an owner launches, which is the same as all of that ``form``. Whether there
        were enough launches of this turn, and there is code for the next one: who launches next is
        to be bound anew, so that objects change (``go_on``)."""
        heap, task = self._heap(), self._task
        if heap is None or task is not None:
            start()
            return task is not None and not task.is_pending
        trial_accounts.goes_on(heap)
        with self._lock:
            known, turn = self._kinds.setdefault((owner, form), _Kind()), self._turn
            self._latest[owner] = known
            known.started[turn] += 1
            self._launches += 1
            is_timed = (
                known.started[turn] > _WARM_UP
                and known.timed[turn] < _SAMPLES
                and len(self._under_way) < _MOST_UNDER_WAY
            )
        timing: Timing | None = None
        if is_timed:
            timing = heap.backend.timed(start)
        else:
            start()
        with self._lock:
            if timing is not None:  # and starting it has raised nothing
                known.timed[turn] += 1
                self._under_way.append((known, turn, timing))
            self._note_ended()
            if turn == self._turn and self._task is None and self._is_enough():
                # Of the last turn the next one is the first, or none.
                layout = heap.layout.with_clusters(self._sides[(turn + 1) % 2])
                self._task = self._submit(layout)
        return False

    def _note_ended(self) -> None:
        while self._under_way and (seconds := self._under_way[0][2]()) is not None:
            kind, turn, _ = self._under_way.popleft()
            kind.seconds[turn].append(seconds)

    def _is_enough(self) -> bool:
        """Whether so many of this turn were started, as objects change when these have ended, or
        have ended, of the last one."""
        if self._launches >= _MOST_LAUNCHES:
            return True
        kinds = [each for each in self._latest.values() if each.started[self._turn]]
        if not kinds:  # another thread has begun anew meanwhile
            return False
        timed = [
            len(each.seconds[self._turn]) if self._is_last_turn else each.timed[self._turn]
            for each in kinds
        ]
        most = max(each.started[self._turn] for each in kinds)
        return max(timed) >= _SAMPLES and (min(timed) >= _LEAST or most >= _MOST * _SAMPLES)

    @property
    def _is_last_turn(self) -> bool:
        return self._turn == _TURNS - 1

    def go_on(self, heap: Heap) -> bool:
        """If there were enough launches, have objects lie as the next turn wants; whether that was
        the last one, or something else has changed how they lie."""
        now = heap.layout.clusters
        if now != self._sides[self._turn % 2] or heap.upkeep.keeps_clusters:
            return True
        task = self._task
        if task is None or task.is_pending:
            return False
        if task.is_dropped or task.failure is not None:
            return True
        kept = self._kept(heap) if self._is_last_turn else self._sides[(self._turn + 1) % 2]
        if kept is None:
            with self._lock:
                self._begin()
            return False
        if not are_possible(heap, kept):
            return True
        if kept != now:
            heap.rearrange(kept)  # waits for what is under way
        if self._is_last_turn:
            return True
        with self._lock:
            self._note_ended()
            self._under_way.clear()
            self._turn, self._launches, self._task = self._turn + 1, 0, None
        return False

    def _kept(self, heap: Heap) -> Clusters | None:
        """What objects are to have, which is noted if it is known; None if there is to be another
        attempt."""
        before, other = self._sides
        taken = self._taken()
        self._attempts += 1
        is_last = self._attempts >= _ATTEMPTS
        if taken is None:
            return None if not is_last else other if self._is_wanted else before
        first, second, last = taken
        # In a population that grows or dies out, what comes between lies between.
        mean = (first + last) / 2
        least, most = (mean, mean) if is_last else (min(first, last), max(first, last))
        if second < _WORTHWHILE * least:
            kept, slower = other, before
        elif is_last or second > most:
            kept, slower = before, other
        else:
            return None
        for cls in differing(before, other):
            note(heap, cls, [Slower(slower.of(cls), kept.of(cls), count(heap, cls.family))])
        choose_again(heap)
        return kept

    def _taken(self) -> tuple[float, float, float] | None:
        """What the same launches took in each turn; None if none could be timed, or each turn had
        others."""
        of_turns = [0.0] * _TURNS
        for kind in self._kinds.values():
            if min(map(len, kind.seconds)) >= _LEAST:
                for turn, seconds in enumerate(kind.seconds):
                    of_turns[turn] += sum(kind.started) * median(seconds)
        first, second, last = of_turns
        return (first, second, last) if all(each > 0 for each in of_turns) else None  # no NaN


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


def begin(heap: Heap, other: Clusters, is_wanted: bool, submit: Submit) -> None:
    """Compare the clusters that objects have with ``other`` ones, for which there is code. The
    caller holds the heap's lock."""
    _of_heap(heap).comparison = Comparison(heap, other, is_wanted, submit)


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


def choose_again(heap: Heap) -> None:
    """Other clusters may be worth it by now."""
    _of_heap(heap).is_new = True


def found_since(heap: Heap) -> Mapping[ClassType, tuple[Slower, ...]] | None:
    """All that is known, if clusters are to be chosen again since somebody asked."""
    state = _heaps.get(heap)
    if state is None or not state.is_new:
        return None
    state.is_new = False
    return state.slower


def is_slower(heap: Heap, cls: ClassType, groups: Groups, than: Groups) -> bool:
    """Whether launches are known to take longer if objects of a class have such clusters: that was
    seen, or that they do so than with others, with which they take longer."""
    state = _heaps.get(heap)
    known = () if state is None else state.slower.get(cls, ())
    now = count(heap, cls.family) if known else 0
    quicker = {groups}
    for _ in known:
        quicker |= {
            each.than
            for each in known
            if each.groups in quicker and now < _OTHER_POPULATION * max(1, each.objects)
        }
    return groups != than and than in quicker


def quickest(heap: Heap, cls: ClassType, groups: Groups) -> Groups:
    """What is known to be quicker than such clusters of a class, and slower than nothing; these
    themselves if there is none."""
    state = _heaps.get(heap)
    for each in () if state is None else state.slower.get(cls, ()):
        is_quicker = is_slower(heap, cls, groups, each.than)
        if is_quicker and are_possible(heap, heap.layout.clusters.replace(cls, each.than)):
            groups = each.than
    return groups


def are_quicker(heap: Heap, clusters: Clusters) -> bool:
    """Whether launches are known to take longer with the clusters that objects have."""
    now = heap.layout.clusters
    return all(
        is_slower(heap, cls, now.of(cls), clusters.of(cls)) for cls in differing(now, clusters)
    )


def count(heap: Heap, family: Family) -> int:
    """Objects that there are."""
    return sum(map(heap.placement.count, family.root.concrete()))


def differing(before: Clusters, after: Clusters) -> list[ClassType]:
    """The classes that have others."""
    every = dict.fromkeys([cls for cls, _ in (*before, *after)])
    return [cls for cls in every if before.of(cls) != after.of(cls)]


def are_possible(heap: Heap, clusters: Clusters) -> bool:
    """Whether objects of the heap may have these."""
    layout = heap.layout
    return all(layout.can_cluster(cls, names) for cls, groups in clusters for names in groups)
