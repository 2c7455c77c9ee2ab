"""Captured steps whose populations change from run to run without the host being asked.

The launches of a run (``population_plan``) and those with which the device lists and settles slots
are recorded as one. While such runs are under way the heap's books are behind; whoever needs them
waits (``Heap.settle``). The host looks at reports of earlier runs as they arrive: if by what they
say another run might not have room, it waits for later ones, and then makes more room. Where each
run has to wait for the one before, runs are cut before the last launch that makes objects, and
report there, too: what is left of a run makes few objects by comparison, and the next one is there
when it ends.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..backends.base import Recordable
from ..errors import HeapError
from ..forks import renew_in_child
from ..heap.by_type import ByTypePlacement
from ..heap.heap import Heap
from ..heap.living import births_by_class
from ..heap.regions import Region
from ..heap.slot_lists import (
    REPORT_BYTES,
    REPORT_USED,
    Listing,
    SlotBytes,
    SlotLists,
    staging_of,
)
from ..heap.slots_on_device import (
    begin_reports,
    count_living,
    note_reports,
    report_totals,
)
from ..model.classes import ClassType
from ..model.scalars import i32
from ..model.world import World
from ..uninterrupted import interruptible
from . import background, clustering
from .known_ranges import note_births
from .launch import Program
from .launch_sequence import LaunchSequence, RecordedLaunch
from .launch_settings import own_settings
from .population_plan import (
    CannotPlanError,
    ChangingLaunch,
    Counts,
    Most,
    Plan,
    Planned,
    PopulationCall,
    Spans,
    plan_of,
    spans_of,
)
from .slot_calls import called_by_slot
from .specialisation import differing, number_slots, words_of
from .surroundings import Surroundings
from .vectorised import geometry_of

_PIECES = 4
"""Runs that are under way at most."""
_REPORTS = 2 * _PIECES
_ROOM = (2, 2), (2, 1), (1.25, 1), (1, 1)
"""How many times as many objects there may be as when a plan is made, and for how many runs after
that there is to be room. The first that there is memory for is taken, and of which those runs do
not need too much: more room means more threads without objects."""
_MOST_NEEDED = 8
"""How many times the threads and free slots of the last of _ROOM a plan has at most. Where each
object may make several, another run ahead takes several times as many."""
_SPARE = 32
"""The part of all threads and free slots of a run that there may be of a class which has few: else
there would be another plan each time that those double."""
_PATIENCE = 4
"""Runs in a row that had to wait for the one before until they are cut."""
_MOST_ANEW = 63
"""Runs with a look at the heap between two attempts at a plan at most. There are none after the
first that fails, and after each other one twice as many and one more."""
_STILL = 4096
"""Runs in which nothing has changed a watched class until its objects are called as those of others
are, without being listed in each run: for that there is another plan, and maybe other code."""
_MANY = 1 << 18
"""Objects that take so long to list that this is worth it."""
_changing: WeakKeyDictionary[Heap, dict[ClassType, tuple[int, int]]] = WeakKeyDictionary()
"""Classes of a heap whose objects captured steps make or end, with their versions when the first of
these was planned: what has changed since will change again."""
Record = ChangingLaunch | PopulationCall | Planned


class PopulationSequence(LaunchSequence):
    """Runs ``records`` of ``population_plan``; ``otherwise`` runs them once with a look at the heap
    before each, where there is no plan for them or no room."""

    _looks_amid = True

    def __init__(
        self,
        heap: Heap,
        records: Sequence[Record],
        is_specialised: bool,
        otherwise: Callable[[], None],
    ) -> None:
        super().__init__(heap)
        self._records, self._is_specialised, self._otherwise = records, is_specialised, otherwise
        self._turn = renew_in_child(threading.RLock())
        self._plan: Plan | None = None
        self._made_at: tuple[Any, ...] = ()
        self._room: Most = {}
        self._watched: set[ClassType] = set()
        #: Runs since these were looked at, what their versions were then, and after how many runs
        #: to look again.
        self._still = 0
        self._versions: dict[ClassType, int] = {}
        self._patience: float = _STILL
        #: Those that are no longer watched.
        self._left_alone: set[ClassType] = set()
        self._ahead = 1
        #: How many runs in a row began when nothing else was under way any more.
        self._waited = 0
        #: What comes after the cut.
        self._rest: Spans = ()
        self._failures = self._anew = 0
        self._looks: dict[Region, SlotBytes] = {}
        self._has_run = False
        #: Whether launches wait for a look amid the next run.
        self._is_looking = False
        self._reports: _Reports | None = None

    def end(self) -> None:
        """There are no more launches. What they are depends on what lives when they run."""

    def run(self, count: int) -> None:
        """Run all launches ``count`` times. Of several threads one plans and runs at a time, before
        it takes any other lock: another plan would come amid a run."""
        for _ in range(count):
            with self._turn:
                self._run_once()

    def _run_once(self) -> None:
        heap = self.heap
        while True:
            if not self._is_planned():
                heap.settle()
                if self._anew:
                    self._anew -= 1
                    self._otherwise()
                    return
                try:
                    self._make_plan()
                    self._failures = 0
                except (CannotPlanError, HeapError):  # one launch after another may need less room
                    if self._left_alone:
                        self._watched |= self._left_alone
                        self._left_alone, self._patience = set(), math.inf
                        continue
                    # Looking for room in vain may take longer than the run.
                    self._anew = min((1 << self._failures) - 1, _MOST_ANEW)
                    self._failures += 1
                    self._otherwise()
                    return
            if not self._launches:
                if self._is_empty():
                    return
                self._made_at = ()
                continue
            self._has_run = False
            self._locked(self._programs, self._run_planned)
            if self._has_run:
                self._look_at_watched()
                return
            self._made_at = ()

    def _look_at_watched(self) -> None:
        """There was another run: watch no longer what nothing changes. Whatever changes it all the
        same ends the plan, as with all classes that are not watched."""
        assert self._plan is not None
        self._still += bool(self._plan.watched)
        if self._still < self._patience:
            return
        placement = births_by_class(self.heap).placement
        before, self._still = self._versions, 0
        self._versions = {cls: placement.class_version(cls)[0] for cls in self._plan.watched}
        found = {
            cls
            for cls, version in self._versions.items()
            if before.get(cls) == version and placement.count(cls) >= _MANY
        }
        if found:
            self._watched -= found
            self._left_alone = found
            self._patience *= 4
            self._made_at = ()

    # ------------------------------------------------------------------ the plan

    def _is_planned(self) -> bool:
        """Whether the launches are still those of ``records``."""
        return self._plan is not None and self._made_at == self._now()

    def _is_empty(self) -> bool:
        """Whether no launch of the plan, which has none with threads, has got any since."""
        plan, heap = self._plan, self.heap
        assert plan is not None
        heap.settle()
        placement = births_by_class(heap).placement
        return all(placement.count(cls) <= self._room[cls] for cls in plan.counted)

    def _now(self) -> tuple[Any, ...]:
        """Changes when there may be other launches, or other addresses in them; not with code,
        which launches are bound to anew, nor with fields within objects."""
        assert self._plan is not None
        placement = births_by_class(self.heap).placement
        versions = {cls: placement.class_version(cls) for cls in self._plan.settled}
        return World.epoch, _places(placement), placement.moves, versions

    def _make_plan(self) -> None:
        heap, is_first = self.heap, self._plan is None
        memory = births_by_class(heap)
        versions = _changing.setdefault(heap, {})
        # Objects that come and go elsewhere will do so again, those that moved may not.
        known = dict(versions) if self._plan is None else self._plan.settled
        now = {cls: memory.placement.class_version(cls) for cls in known}
        self._watched |= {cls for cls in known if known[cls][0] != now[cls][0]}
        plan_of(heap, self._records)  # names that mean something else now are noticed
        world = World.epoch
        plan = plan_of(heap, self._records, self._watched)
        note_births(heap)
        with heap.lock:
            heap.settle()  # another thread's step may have run since, and regions may change below
            counts = {cls: memory.placement.count(cls) for cls in plan.counted}
            room = self._make_room(plan, counts)
            memory.show(plan.changing)
            regions = [r for cls in plan.counted for r in memory.placement.regions(cls)]
            self._looks = _looks(plan, room, regions)
            self._reports = _Reports(heap, plan.counted, self._looks)
            self._launches = self._recorded(plan, room, self._reports)
            if regions != [r for cls in plan.counted for r in memory.placement.regions(cls)]:
                raise CannotPlanError  # empty ones had to go for what is recorded
            self._programs = sorted({each.program for each in self._launches}, key=id)
            self._plan, self._room, self._key, self._bindings = plan, room, [], []
            self._cut, self._waited, self._rest = 0, 0, ()
            # By what the plan was made from: another thread may have changed it since.
            placement = memory.placement
            made_at = world, _places(placement), placement.moves, plan.settled
            self._made_at = ()  # a signal may come before what programs use is noted
            for cls in plan.changing:
                versions.setdefault(cls, placement.class_version(cls))
        _note_uses(self._launches)  # without the lock, as it asks what programs use
        self._made_at = made_at
        if is_first and background.is_on():  # the next plan may list more regions together
            lists = heap.backend.slot_lists
            background.submit(lambda task: lists.make_ready(), background.Urgency.NEEDED)

    def _make_room(self, plan: Plan, counts: Counts) -> Most:
        """How many objects of each class there may be, with room for those that any run makes."""
        births, memory = births_by_class(self.heap), self.heap.memory
        placement = births.placement
        least = plan.needed(plan.most(counts, 1))
        spare = least // _SPARE
        for growth, ahead in _ROOM:
            larger = dict(counts)
            for cls in plan.made:
                least_of = spare if growth > 1 and counts[cls] else 0
                larger[cls] = max(int(counts[cls] * growth), least_of)
            for cls in plan.watched.intersection(larger):
                slots = sum(region.capacity for region in placement.regions(cls))
                larger[cls] = min(int(larger[cls] * growth), slots)
            most = plan.most(larger, ahead)
            if plan.needed(most) > _MOST_NEEDED * least:
                continue
            room = plan.room(most)
            wanted = {cls: most[cls] - counts[cls] + room[cls] for cls in plan.counted}
            wanted = {cls: count for cls, count in wanted.items() if cls in plan.made}
            lists = plan.list_bytes(most, self.heap.encoding.dtype.itemsize)
            lists.append(births.table_bytes(plan.table_bytes(most)))
            try:
                attempt = partial(placement.make_room_for_all, wanted, lists)
                memory.with_room("what a run may make", attempt)
            except HeapError:
                continue
            self._ahead = ahead
            return most
        raise CannotPlanError

    # ------------------------------------------------------------------ its launches

    def _recorded(self, plan: Plan, room: Most, reports: _Reports) -> list[RecordedLaunch]:
        """The launches, each with what the device does before and after it. The caller holds the
        lock on the heap's books."""
        memory = births_by_class(self.heap)
        surroundings = Surroundings(self.heap, reports.looks, reports.address)
        while True:
            table = memory.table
            launches = _with_threads(plan, room)
            found = [self._record(each, room, surroundings) for each in launches]
            if memory.table == table:
                return found
            surroundings.forget()

    def _cut_in_two(self, plan: Plan) -> None:
        """Let runs from the next one on say half-way how many objects there are."""
        launches = _with_threads(plan, self._room)
        self._cut = max((n for n, each in enumerate(launches) if each.made), default=0)
        if self._cut:
            self._rest, self._bindings = spans_of(launches[self._cut :]), []

    def _record(self, planned: Planned, room: Most, surroundings: Surroundings) -> RecordedLaunch:
        heap, program, arguments = self.heap, planned.program, planned.arguments
        threads = planned.most_threads(room)
        living: list[Listing] = []
        count: int | None = None
        varying: frozenset[int] = frozenset()
        by_slot = called_by_slot(heap, planned, surroundings.looks, threads)
        if by_slot is not None:
            program, arguments, threads, varying = by_slot
        elif planned.receivers:
            listed, living = surroundings.list_living(planned, threads)
            arguments = (*listed, *arguments)
            count = listed[1]._address
        before = surroundings.write_lists(planned, threads, living, count)
        after = surroundings.settle(planned)
        same = program, planned.receivers, threads, planned.geometry, planned.settings
        key = *same, *map(id, planned.arguments)  # which the plan keeps
        if not before and not after and key in surroundings.alone:
            return surroundings.alone[key]
        slots = program.plan.new_slots()
        program.plan.pack(slots, arguments)
        found = RecordedLaunch(
            program,
            planned.geometry or geometry_of(threads),
            arguments,
            *own_settings(heap, *planned.settings),
            slots,
            self._is_specialised,
            # Of another program than the plan's: see ``_note_uses``.
            births=planned.births or None if by_slot is None else None,
            before=before,
            after=after,
            varying=varying,
        )
        if not before and not after:
            surroundings.alone[key] = found
        return found

    # ------------------------------------------------------------------ running it

    def _run_planned(self) -> None:
        """One run, noted in ``_has_run``; nothing, if there must be another plan."""
        heap, plan, reports = self.heap, self._plan, self._reports
        assert plan is not None and reports is not None
        launching = heap.memory.launching
        this, is_part = object(), self._programs[0].is_launching
        is_new = False
        while not self._is_current():
            for program in self._programs:
                program.look_at_names()
            if self._made_at != self._now():
                return
            self._prepare()
            counted = (each.counted for each in self._counted)
            self._is_looking = any(each is not None and each.waits for each in counted)
            is_new = True
        with heap.lock:
            # Not before: who has the lock may wait for all that are launching.
            launching[this] = is_part
            try:
                is_first = heap.memory.unsettled is not reports
                if is_first:
                    heap.settle()
                # Another thread may have moved objects since, or fields within them.
                if self._made_at != self._now() or not self._is_current():
                    return
                if is_first:
                    reports.begin()
                    if any(each.unused_from > s.slots for each, s in self._looks.items()):
                        return  # the host has made objects where no launch would look
                if not self._has_room(plan, reports):
                    return
                self._look_again(counts=not is_new)
                heap.before_launch()
                heap.note_launch(self._stores_references, self._stores_fields)
                if self._is_looking:
                    self._replay_looking()
                elif self._compared is None:
                    self._replay_parts()
                else:
                    self._timed(self._replay_parts)
                self._has_run = True
            finally:
                launching.pop(this, None)

    def _replay_parts(self) -> None:
        plan, reports, memory = self._plan, self._reports, self.heap.memory
        assert plan is not None and reports is not None
        for part in self._ready:
            self.heap.backend.replay(part, 1)
            memory.last_launch = object()
            if plan.counted:
                # Before the host makes or ends any, the device is to have listed who lives.
                memory.unsettled = reports
                reports.send(is_end=part is self._ready[-1])

    def _replay_looking(self) -> None:
        """Launch one by one, and look at each before it begins."""
        heap, memory, reports = self.heap, self.heap.memory, self._reports
        assert self._plan is not None and reports is not None
        self._is_looking = False
        # Whoever looks needs to know where objects may be, not which live.
        memory.unsettled = None
        try:
            for each in self._launches:
                *before, own = each.prepared(heap)[: len(each.before) + 1]
                self._launch_now(before)
                clustering.look_amid(heap, each.program, each.geometry, each.arguments)
                self._launch_now([own, *each.after])
        finally:
            memory.last_launch = object()
            if self._plan.counted:
                memory.unsettled = reports
                reports.send(is_end=True)
        self._bindings = []  # so that somebody chooses

    def _launch_now(self, launches: Sequence[Recordable]) -> None:
        if launches:
            self.heap.backend.replay(self.heap.backend.record(launches), 1)

    def _has_room(self, plan: Plan, reports: _Reports) -> bool:
        """Whether another run has room for all that its threads may make. Waits for earlier ones if
        what is known of them does not say so, and where too many are under way."""
        has_waited = False
        while True:
            counts, runs, is_amid = reports.newest()
            # With less than the plan was made for, each run would wait for the one before.
            ahead = runs + 1 if runs or is_amid else self._ahead
            most = plan.most(counts, ahead, self._rest if is_amid else ())
            has_room = all(count <= self._room[of] for of, count in most.items())
            is_idle = not runs and not is_amid
            if has_room and reports.under_way < _PIECES:
                self._waited = self._waited + 1 if has_waited and is_idle else 0
                if self._waited == _PATIENCE:
                    self._cut_in_two(plan)
                return True
            if is_idle:
                return False
            reports.wait()
            has_waited = True


def _places(placement: ByTypePlacement) -> int:
    """Raised when something may lie elsewhere."""
    return placement.layout_epoch - placement.code_epoch


def _with_threads(plan: Plan, room: Most) -> list[Planned]:
    """The launches that have any: before there are others there will be another plan."""
    return [each for each in plan.launches if each.most_threads(room)]


def _note_uses(launches: Sequence[RecordedLaunch]) -> None:
    """What programs have to be asked for, whose locks are taken before that on the heap's books:
    which numbers are constants of the code of none of the launches, and what those do to
    populations whose program depends on where objects lie."""
    by_program: dict[Program, list[RecordedLaunch]] = {}
    for each in launches:
        by_program.setdefault(each.program, []).append(each)
    for program, own in by_program.items():
        slots = number_slots(program.uses(), program.plan.first_slots)
        varying = differing([words_of(each.slots, slots) for each in own])
        for each in own:
            each.varying = varying.union(each.varying)
            each.births = each.births or program.uses().births or None


def _looks(plan: Plan, most: Most, regions: Sequence[Region]) -> dict[Region, SlotBytes]:
    """Which slots to look at: those that have had objects, and of each class as many of the first
    ones as objects and free slots together need at most: new objects come into the first free slots
    of all, in whichever region these are."""
    slots = {region: region.unused_from for region in regions}
    for cls, room in plan.room(most).items():
        needed = most[cls] + room
        for region in (region for region in regions if region.cls is cls):
            slots[region] = max(slots[region], min(needed, region.capacity))
            needed = max(0, needed - region.capacity)
        if needed > 0:
            raise CannotPlanError  # there was room, which something else was in need of
    return {region: region.slot_bytes.first(max(1, slots[region])) for region in regions}


class _Reports:
    """What lives of ``classes``, as the device says after each run (``memory.Unsettled``). It keeps
    no heap."""

    def __init__(
        self, heap: Heap, classes: Sequence[ClassType], looks: Mapping[Region, SlotBytes]
    ) -> None:
        """``looks``: which slots of each region to look at."""
        self.classes, self.looks = classes, looks
        self._placement = births_by_class(heap).placement
        self.lists: SlotLists = heap.backend.slot_lists
        self._memory = heap.zeros(max(1, len(looks)) * REPORT_BYTES // 4, i32)
        self.address = self._memory._address
        report_bytes = max(1, len(looks)) * REPORT_BYTES
        self._staging = staging_of(self, heap.backend, _REPORTS, report_bytes)
        self._sent = self._known = 0
        #: Of the reports of which nothing is known: whether it is that of a whole run.
        self._ends: deque[bool] = deque()
        self._is_amid = False
        self._counts: Counts = {}

    def begin(self) -> None:
        """The books are settled: there were no runs since."""
        self._sent = self._known = 0
        self._ends.clear()
        self._is_amid = False
        self._counts = {cls: self._placement.count(cls) for cls in self.classes}
        begin_reports(self.lists, self.address, self.looks, self._placement.deletions + 1)
        count_living(self._placement, self.looks, self.lists)

    def settle(self) -> bool:
        """See ``memory.Unsettled``."""
        return note_reports(self._placement, self.lists, self.classes, self.looks, self.address, {})

    def send(self, is_end: bool) -> None:
        """There was a run, or some of it, with fewer than _PIECES under way: let the host see how
        many live."""
        piece = self._sent % _REPORTS
        report_totals(self.lists, self.looks, self._staging.address(piece))
        self._staging.mark(piece)
        self._ends.append(is_end)
        self._sent += 1

    @property
    def under_way(self) -> int:
        """How many runs, as far as is known."""
        return sum(self._ends)

    def newest(self) -> tuple[Counts, int, bool]:
        """How many objects there were when the device reported last, as far as that is known, how
        many runs there were since, and whether it was amid a run."""
        while self._ends and self._staging.has_ended(self._known % _REPORTS):
            self._read()
        return self._counts, self.under_way - self._is_amid, self._is_amid

    def wait(self) -> None:
        """Wait for the oldest report of which nothing is known."""
        with interruptible():
            self._staging.wait(self._known % _REPORTS)
        self._read()

    def _read(self) -> None:
        memory = self._staging.memory(self._known % _REPORTS).view(np.uint32)
        used = memory.reshape(-1, REPORT_BYTES // 4)[:, REPORT_USED // 4].tolist()
        self._counts = dict.fromkeys(self.classes, 0)
        for region, count in zip(self.looks, used, strict=False):
            self._counts[region.cls] += count
        self._is_amid = not self._ends.popleft()
        self._known += 1
