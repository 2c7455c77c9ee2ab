"""When fields of a heap's objects become clusters, and which (layout ``auto``).

When a program is launched for the first time on a heap with many objects, once more when it has
been launched a few times, and when it is bound for twice as many threads, some warps of that launch
are interpreted (``sharedoa.sampling``). What all programs touched says what clusters would spare;
where that is enough the objects are rearranged in place. What decides is where references lead,
which is in the objects and not in the code; the device's clock has the last word
(``compared_clusters``). After their first look programs run for longer than all looks have taken
before any is looked at again. What earlier runs found takes the place of the first look
(``remembered_looks``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dispatch.dataclass import dataclass, field

from ..heap.heap import Heap
from ..ir.job import Uses
from ..model.classes import ClassType
from ..model.clusters import Groups
from ..sampling import Choice, Costs, NotCounted, SampledCosts, sample
from . import background, compared_clusters, planned_clusters, remembered_looks, trial_accounts
from .compared_clusters import count
from .populations import threads_apart_in
from .remembered_looks import Circumstances, Compared, Look

if TYPE_CHECKING:
    from dispatch.mode import Mode

    from .geometry import Geometry
    from .launch import Program

    Launchable = tuple[Program, Geometry, Sequence[Any], Mode, bool]
    """A launch with its arguments, its mode, and whether it is in debug mode."""

FEWEST_OBJECTS = 1 << 14
"""Of a family that is worth it: fewer are in caches anyway."""
FEWEST_THREADS = 1 << 12
LAUNCHES = 16
"""After so many a program is looked at again: what it works on may not have been there at first,
and it has shown that it is no preparation for others."""
PATIENCE = 4.0
"""How many times as long as all looks at the heap's programs took must have passed since the last
one before any is looked at again: a look may take as long as hundreds of steps."""
_TRIAL = 0.25
"""How many seconds to try other clusters takes at least, which is to compile and to compare: as
many times as long must pass before the first one, too, so that short runs are no slower for it;
those of a process, and processes, add up (``trial_accounts``)."""
_CONFIRMED = 4.0
"""How many times as long as others looks count that earlier runs took at what they had launched
``LAUNCHES`` times."""
_WORTHWHILE = 0.85
"""Of what a class costs if all of its fields have rows, clusters must cost less than this part: not
everything that takes time is memory, and addresses in clusters take instructions."""
_ALIKE = 1.1
"""Clusters that cost at most so many times as much as the best: threads do not tell which of both
are quicker, so they are tried, too."""
_LEAST_PART = 0.02
"""Of what all classes cost that clusters of one must spare."""
_AT_FIRST, _LATER = 0.7, 0.9
"""The same, of what it costs now, when a program is looked at first, and again: each time what uses
the class is compiled anew."""


@dataclass(eq=False)
class _Looks:
    """At the programs of one heap: what they took, in seconds, and when there may be others."""

    seconds: float = 0.0
    not_before: float = 0.0
    #: From when on other clusters may be tried, as some were before.
    tries_from: float = 0.0
    #: When clusters are to be chosen by what is known, as some are wanted that could not be tried.
    chooses_at: float = math.inf
    #: Whether clusters are being compared: objects are about to change anyway.
    are_held: bool = False

    def took(self, begun: float) -> None:
        """There was a look, from then until now."""
        now = perf_counter()
        self.seconds += now - begun
        self.not_before = now + PATIENCE * self.seconds

    @property
    def are_too_many(self) -> bool:
        return self.are_held or perf_counter() < self.not_before

    def may_try(self, heap: Heap, is_wanted: bool, cls: ClassType) -> bool:
        """Whether other clusters, which are wanted first of all for a class, or only to be compared
        with what it has, may be tried now, or in the place of those that are."""
        if trial_accounts.is_trying(heap):
            return True
        now, price = perf_counter(), PATIENCE * _TRIAL
        begin = max(self.tries_from, now + trial_accounts.missing(cls, price, is_wanted))
        if begin > now:
            self.chooses_at = min(self.chooses_at, begin)
            return False
        self.chooses_at = math.inf
        trial_accounts.begin(heap, cls, price, PATIENCE)
        return True

    def note_end(self, heap: Heap) -> None:
        """See whether others are tried no longer. The caller holds the heap's lock."""
        if trial_accounts.is_trying(heap) and not planned_clusters.is_trying(heap):
            seconds = trial_accounts.end(heap)
            self.tries_from = perf_counter() + PATIENCE * (_TRIAL + seconds)

    @property
    def is_to_choose(self) -> bool:
        is_put_off = self.chooses_at < math.inf and not self.are_held
        return is_put_off and self.chooses_at <= perf_counter()


@dataclass(eq=False)
class Launched:
    """What is known of a program on one heap, with certain of its arguments runs of objects: how
    often it was launched, up to ``LAUNCHES`` and where a captured step launches it more often than
    that; and when it was looked at last, how often it had been, how many objects its largest family
    and how many threads it had, whether those did nothing, as in a captured step that has not yet
    listed who lives; what each class cost it; whether it is looked at later than it should be, as
    there were too many ``looks``. And what it used when it was looked at, under which
    circumstances, how long that took, whether an earlier run did it, and how many groups of fields
    are kept for later ones."""

    looks: _Looks
    launches: int = 0
    looked_at: int = 0
    objects: int = 0
    threads: int = 0
    was_idle: bool = False
    costs: Mapping[ClassType, Costs] = field(default_factory=dict)
    is_put_off: bool = False
    uses: Uses | None = None
    then: Circumstances | None = None
    seconds: float = 0.0
    is_recalled: bool = False
    may_recall: bool = True
    groups_kept: int = -1
    #: How often it had been launched when what is known of it was seen, maybe in an earlier run.
    seen_at: int = 0
    #: Whether it is to be looked at amid the next run of its step.
    waits: bool = False

    @property
    def left(self) -> int:
        """How many launches need not be looked at before one must be, as far as is known."""
        looks = self.looks
        if self.was_idle or looks.is_to_choose:
            return 0
        left = LAUNCHES - 1 - self.launches
        return left if left > 0 else 0 if self._waits_to_be_seen and not looks.are_too_many else 1

    @property
    def _waits_to_be_seen(self) -> bool:
        return self.is_put_off or self.waits or self.looked_at < LAUNCHES

    @property
    def is_counted(self) -> bool:
        """Whether a launch after others is to be looked at."""
        return self.is_new or self._waits_to_be_seen or self.looks.chooses_at < math.inf

    @property
    def is_new(self) -> bool:
        """Whether nothing is known of it."""
        return self.looked_at == 0 or self.was_idle

    def is_due(self, objects: int, threads: int) -> bool:
        """Whether to look at a launch, with so many objects and threads, unless there were too many
        looks. Populations that grow lie in less and less order, as objects come into places of
        those that have gone."""
        again = self.launches >= LAUNCHES > self.looked_at
        has_grown = objects >= 2 * self.objects or threads >= 2 * self.threads
        return self.is_new or self.is_put_off or again or has_grown

    def saw(self, costs: Mapping[ClassType, Costs], objects: int, threads: int) -> None:
        """What there was to see."""
        self.costs, self.objects, self.threads = costs, objects, threads
        self.looked_at = self.seen_at = self.launches
        self.was_idle = self.is_put_off = self.is_recalled = self.waits = False

    def recalls(self, look: Look, objects: int, threads: int) -> None:
        """An earlier run has seen it; whether that is still so is looked at when this one has gone
        on for long enough, longer where that run did."""
        self.launches = max(self.launches, look.launches)
        self.saw(look.costs, max(objects, look.objects), max(threads, look.threads))
        self.looked_at, self.seen_at = min(self.launches, LAUNCHES - 1), look.launches
        self.is_recalled = True
        self.looks.seconds += look.seconds * (_CONFIRMED if look.launches >= LAUNCHES else 1.0)

    def look(self) -> Look:
        """For later runs; without what was sampled, which is large."""
        costs = {cls: Costs(each.used, each.known) for cls, each in self.costs.items()}
        return Look(self.launches, self.objects, self.threads, self.seconds, costs)

    def forget(self) -> None:
        """What an earlier run has seen does not do: the next launch is looked at."""
        self.costs, self.looked_at, self.was_idle = {}, 0, True
        self.is_recalled = self.may_recall = False


#: By which arguments are runs.
_Programs = WeakKeyDictionary["Program", dict[tuple[bool, ...], Launched]]


@dataclass(eq=False)
class _OfHeap:
    """What was launched on a heap, and what was seen amid steps, by which nobody has chosen yet."""

    programs: _Programs = field(default_factory=WeakKeyDictionary)
    looks: _Looks = field(default_factory=_Looks)
    seen: list[Launched] = field(default_factory=list)


_known: WeakKeyDictionary[Heap, _OfHeap] = WeakKeyDictionary()


def looks(program: Program, mode: Mode, debug: bool) -> bool:
    """Whether launches of a program may be looked at."""
    return mode.by_population and not debug and not program.source.is_derived


def consider(
    heap: Heap, launches: Sequence[Launchable], waits: bool = False
) -> list[Launched | None]:
    """Look at what launches, which follow one another, are going to touch, if it is time to, and
    rearrange objects if that spares enough: once, by all that was seen, as each time what uses them
    is compiled anew. The result is, of each, what counts launches until that one which is to be
    looked at, None if no more will be. ``waits``: those that there is code for are looked at in
    their run (``look_amid``)."""
    asked = [looks(program, mode, debug) for program, _, _, mode, debug in launches]
    found: list[Launched | None] = [None] * len(asked)
    if not heap.layout.is_open or not any(asked):
        return found
    planned_clusters.take_over(heap)
    launched = _known.setdefault(heap, _OfHeap())
    launched.looks.are_held = compared_clusters.of(heap) is not None
    if trial_accounts.is_trying(heap):
        with heap.lock:
            launched.looks.note_end(heap)
    _keep_compared(heap, launched)
    large = [n for n, each in enumerate(launches) if asked[n] and not is_small(each[1])]
    if not large:
        return found
    looked_at: dict[Launched, bool] = {}
    begun = perf_counter()
    # Nobody may free or move what sampled threads read, or note launches meanwhile.
    with heap.lock:
        for number in large:
            found[number] = _look(heap, launched, *launches[number][:3], looked_at, waits)
        looked_at |= dict.fromkeys(launched.seen, True)
        launched.seen.clear()
        seen = [known for known, has_work in looked_at.items() if has_work]
        by = [*seen]
        if launched.looks.is_to_choose:
            launched.looks.chooses_at = math.inf
            by += [known for of in launched.programs.values() for known in of.values()]
        if by:
            _choose_by(heap, launched, [*dict.fromkeys(by)])
        if seen:
            launched.looks.took(begun)
        return [each if each is not None and each.is_counted else None for each in found]


def is_small(geometry: Geometry) -> bool:
    """Whether a launch is too small to be looked at."""
    return math.prod(geometry.threads) < FEWEST_THREADS


def _look(
    heap: Heap,
    launched: _OfHeap,
    program: Program,
    geometry: Geometry,
    arguments: Sequence[Any],
    looked_at: dict[Launched, bool],
    waits: bool,
) -> Launched | None:
    """Count a launch, and look at it if it is time to and none that is alike is among
    ``looked_at``, where it is noted with whether there was anything to see."""
    objects = _most_objects(heap, program)
    if objects < FEWEST_OBJECTS:
        return None
    runs = _runs_of(arguments)
    of_program = launched.programs.setdefault(program, {})
    known = of_program.setdefault(runs, Launched(launched.looks))
    known.launches += 1
    threads = math.prod(geometry.threads)
    if known in looked_at or not known.is_due(objects, threads):
        return known
    now = Circumstances.of(runs, heap, objects, threads)
    if known.then is None:
        compared = remembered_looks.recall(program.uses(), now.in_general, Compared)
        for cls, slower in () if compared is None else compared.slower.items():
            compared_clusters.note(heap, cls, slower)
    look = None
    if known.may_recall and now != known.then:
        look = remembered_looks.recall(program.uses(), now, Look)
    if look is not None:
        known.recalls(look, objects, threads)
    elif known.is_new or not known.looks.are_too_many:
        if waits and (known.looked_at or known.was_idle):
            known.waits = True
            return known
        looked_at[known] = _sample(heap, known, program, geometry, arguments)
        if not looked_at[known]:
            return known
    else:
        known.is_put_off = True
        return known
    known.uses, known.then, looked_at[known] = program.uses(), now, True
    return known


def _most_objects(heap: Heap, program: Program) -> int:
    """Of the largest family that the program uses."""
    return max((count(heap, family) for family in program.uses().families), default=0)


def _runs_of(arguments: Sequence[Any]) -> tuple[bool, ...]:
    return tuple([getattr(each, "_run", None) is not None for each in arguments])


def _sample(
    heap: Heap, known: Launched, program: Program, geometry: Geometry, arguments: Sequence[Any]
) -> bool:
    """See what a launch touches; False if that is nothing, for the first time."""
    begun = perf_counter()
    heap.before_launch()
    apart = threads_apart_in(program, heap, geometry, arguments)
    touches = sample(program.uses().program, heap, geometry.threads, arguments, apart)
    if not touches.of_class and not known.was_idle:
        known.was_idle = True
        return False
    layout, costs = heap.layout, {}
    for cls, fields in touches.of_class.items():
        if layout.is_open_for(cls) and count(heap, cls.family) >= FEWEST_OBJECTS:
            costs[cls] = SampledCosts(layout, cls, fields)
    objects = _most_objects(heap, program)
    known.saw(costs, objects, math.prod(geometry.threads))
    known.seconds, known.groups_kept = perf_counter() - begun, -1
    return True


def look_amid(heap: Heap, program: Program, geometry: Geometry, arguments: Sequence[Any]) -> None:
    """Look at a launch of a captured step that waits for it, when those before it in its step have
    ended: what they have done, such as what objects ask of each other, is gone when the step ends.
    Who is bound next chooses by that. The caller holds the heap's lock."""
    launched = _known.get(heap)
    runs = _runs_of(arguments)
    known = None if launched is None else launched.programs.get(program, {}).get(runs)
    if launched is None or known is None or not known.waits:
        return
    begun = perf_counter()
    known.waits = False
    if _sample(heap, known, program, geometry, arguments):
        known.uses = program.uses()
        known.then = Circumstances.of(runs, heap, known.objects, known.threads)
        launched.seen.append(known)
    launched.looks.took(begun)


def _choose_by(heap: Heap, of_heap: _OfHeap, seen: Sequence[Launched]) -> None:
    """Rearrange objects by what was ``seen``, and keep that for later runs."""
    if compared_clusters.of(heap) is not None:
        for known in seen:
            known.is_put_off = True
        return
    begun, programs = perf_counter(), of_heap.programs
    try:
        _choose(heap, of_heap, seen)
    except NotCounted:  # other programs ran then: what this one's next launches touch is looked at
        for launched in programs.values():
            for known in launched.values():
                if known.is_recalled:
                    known.forget()
        return
    for known in seen:
        known.seconds += (perf_counter() - begun) / len(seen)
    for launched in programs.values():
        for known in launched.values():
            # What other programs use is not asked: whoever launches them may wait for the heap.
            if known.is_recalled or known.then is None or known.uses is None:
                continue
            groups = sum(len(each.known) for each in known.costs.values())
            if groups > known.groups_kept:
                known.groups_kept = groups
                remembered_looks.remember(known.uses, known.then, known.look())


def _choose(heap: Heap, of_heap: _OfHeap, seen: Sequence[Launched]) -> None:
    """Rearrange objects whose fields had better lie otherwise, of classes that programs use which
    were looked at: in rows, or in clusters that cost less than a part of what there is now, or is
    planned. A program that has been launched once when one of these is looked at later was a
    preparation."""
    clusters, programs, looks = planned_clusters.coming(heap), of_heap.programs, of_heap.looks
    every = [known for launched in programs.values() for known in launched.values()]
    choices = {
        cls: _choice(heap, cls, every, seen)
        for cls in {cls: None for k in every for cls in k.costs}
    }
    # Whatever was seen now: an earlier run may have seen, and compared, others.
    for cls in choices:
        clusters = clusters.replace(cls, compared_clusters.quickest(heap, cls, clusters.of(cls)))
    costs = {cls: choice.cost(clusters.of(cls)) for cls, choice in choices.items()}
    spared = _LEAST_PART * sum(costs.values())
    spares: dict[ClassType, float] = {}
    sure: list[ClassType] = []
    for cls in {cls: None for each in seen for cls in each.costs}:
        # What was seen may be of a program that is gone.
        if cls not in choices or costs[cls] < spared:
            continue
        launches, choice = _most_launches(seen, cls), choices[cls]
        least = (_LATER if launches >= LAUNCHES else _AT_FIRST) * costs[cls]
        groups = _quickest(heap, cls, choice, min(least, costs[cls] - spared))
        if groups is not None and groups != clusters.of(cls):
            spares[cls] = costs[cls] - choice.cost(groups)
            seen_at = max(each.seen_at for each in seen if cls in each.costs)
            if seen_at >= LAUNCHES and choice.cost(groups) < _AT_FIRST * costs[cls]:
                sure.append(cls)
            clusters = clusters.replace(cls, groups)
    latest = max(each.launches for each in seen)
    over = [
        program
        for program, launched in programs.items()
        if LAUNCHES * sum(known.launches for known in launched.values()) <= latest
    ]
    first, is_wanted = max(spares, key=lambda cls: spares[cls], default=None), True
    if clusters == heap.layout.clusters and latest >= LAUNCHES and background.is_on():
        for cls, groups in _not_compared(heap, choices):
            clusters, first, is_wanted = clusters.replace(cls, groups), cls, False
            break
    may_try = partial(looks.may_try, heap, is_wanted)
    planned_clusters.rearrange(heap, clusters, first, over, is_wanted, sure, may_try)
    now = heap.layout.clusters
    waiting = [cls for cls in spares if cls not in sure and now.of(cls) != clusters.of(cls)]
    if waiting and not trial_accounts.is_trying(heap):
        # What the next one has to wait counts meanwhile.
        trial_accounts.missing(max(waiting, key=lambda cls: spares[cls]), PATIENCE * _TRIAL)


def _not_compared(
    heap: Heap, choices: Mapping[ClassType, Choice]
) -> Iterator[tuple[ClassType, Groups]]:
    """Of classes that have clusters, which nobody may have compared as there was no code yet: what
    nobody knows to be slower than these, rows, or what is about as good by what threads touch."""
    for cls, now in heap.layout.clusters:
        if not now:
            continue
        others: list[Groups] = [()]
        if (choice := choices.get(cls)) is not None:
            with suppress(NotCounted):
                best = choice.ways([max(now, key=len)])[0]
                others += [best] if choice.cost(best) <= _ALIKE * choice.cost(now) else []
        for each in others:
            if not compared_clusters.is_slower(heap, cls, each, now):
                yield cls, each


def _quickest(heap: Heap, cls: ClassType, choice: Choice, least: float) -> Groups | None:
    """The best clusters, or rows where none are worth it; None if they do not cost less than so
    much. Ones that were slower than what objects have are passed over. If all of the best and of
    what they were made of were, the largest cluster among the best is left out."""
    now = heap.layout.clusters.of(cls)
    best, *others = choice.ways()
    # Asked also where nobody needs them yet: later runs know only what was counted.
    alike = choice.ways([max(best, key=len)]) if best else []
    if choice.cost(best) > _WORTHWHILE * choice.cost(()):
        return None if compared_clusters.is_slower(heap, cls, (), now) else ()
    if best and compared_clusters.is_slower(heap, cls, best, now):
        others += alike
    for groups in (best, *others):
        if choice.cost(groups) >= least:
            continue
        if not compared_clusters.is_slower(heap, cls, groups, now):
            return groups
    return None


def _keep_compared(heap: Heap, launched: _OfHeap) -> None:
    """If clusters were compared, or given for certain, choose anew for all classes: of those that
    are wanted others may have waited. What was found is kept for later runs of the programs."""
    found = compared_clusters.found_since(heap)
    if found is None:
        return
    with heap.lock:  # under which other threads note what they launch
        for known in (known for of in launched.programs.values() for known in of.values()):
            if not known.costs:
                continue
            launched.seen.append(known)
            own = {cls: slower for cls, slower in found.items() if cls in known.costs}
            if own and known.then is not None and known.uses is not None:
                remembered_looks.remember(known.uses, known.then.in_general, Compared(own))


def _choice(
    heap: Heap, cls: ClassType, every: Sequence[Launched], seen: Sequence[Launched]
) -> Choice:
    launches = _most_launches(seen, cls)
    used = [known for known in every if cls in known.costs]
    later = [known for known in used if LAUNCHES * known.launches > launches]
    return Choice(heap.layout, cls, [(each.costs[cls], float(each.launches)) for each in later])


def _most_launches(seen: Sequence[Launched], cls: ClassType) -> int:
    return max((each.launches for each in seen if cls in each.costs), default=0)
