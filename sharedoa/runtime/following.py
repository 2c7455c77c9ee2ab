"""Blocks of ``oa.tape()`` that follow the course of one before (``courses``): their launches, and
their way back."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..backends.base import MemoryCopy
from ..forks import renew_in_child
from ..heap.arrays import Array, make_array
from ..heap.device_copies import device_array
from ..heap.distinct_fields import Field
from ..heap.heap import Heap
from ..heap.recording import can_wait, deferring, own, recording
from ..model.scalars import i64, u64
from ..model.types import Type
from .courses import Course, Done, Left, Step, course_of, state_of
from .geometry import Geometry
from .gradients import TapedLaunch
from .heap_state import Copies, CopyPlan, Piece, Saved, memory_copies
from .legs import Leg, LegEvents, one_by_one
from .same_arguments import PLAIN, are_same, is_same, is_seen
from .vectorised import PlannedLaunch, geometry_of
from .way_back import Event, WayBack, can_be_one

if TYPE_CHECKING:
    from .launch import Program
    from .untouched import Untouched

_WAYS, _PLACES = 4, 16
"""Of a course, by where memory is; and how many such places are remembered that were there once."""


def follow(heap: Heap, first: Program, events: list[Any]) -> Following | None:
    """What lets a block, whose first launch is of that program, do what one before did; what
    happens is added to ``events``."""
    course = course_of(heap, first)
    if course is None or heap.upkeep.is_shared or heap.debug:
        return None
    # First, as objects may get other clusters now.
    copies = Copies(heap) if course.copied else None
    with heap.lock:
        pieces = course.pieces(heap) if course.state == state_of(heap, course.types) else None
    room = None
    if pieces is not None and course.size:
        room = device_array(heap, u64, course.size // 8)
    if pieces is None or (course.size and room is None):
        if copies is not None:
            copies.let_go()
        return None
    return Following(heap, course, events, pieces, room, copies)


class Following:
    """A block that follows a course, as far as it has come. Launches that wait for others of their
    leg are deferred (``heap.recording.Deferred``)."""

    def __init__(
        self,
        heap: Heap,
        course: Course,
        events: list[Any],
        pieces: dict[int, Piece],
        room: Array | None,
        copies: Copies | None,
    ) -> None:
        self._heap, self.course, self._events, self._pieces = heap, course, events, pieces
        self._room, self._copies = room, copies
        #: How many steps it has taken.
        self.taken = 0
        #: The copy of what is left in the end, if the last leg has made it.
        self._end: Saved | None = None
        self._plans: dict[tuple[int, ...], CopyPlan] = {}
        self._steps, self._state = course.steps, course.state
        #: Of calls of all objects of a class, what comes before the arguments of the method.
        self._first: dict[tuple[PlannedLaunch, ...], list[tuple[Any, ...]]] = {}
        self._nothing = self._array(u64, 0, 0)
        #: What launches that wait were given: the first steps of a leg, after all that were taken.
        self._waiting: list[tuple[Any, ...]] = []
        #: Held while a launch is taken: another thread may have what waits launched.
        self._lock: Any = renew_in_child(threading.RLock())
        self._is_launching = False
        #: Legs where memory lies now, by their first step; None where it lies for the first time.
        self._legs = self._legs_here()

    def _legs_here(self) -> dict[int, Leg] | None:
        course, place = self.course, self._address
        known = course.legs_at.get(place)
        if known is None and place in course.seen_there:
            if len(course.legs_at) >= _WAYS:
                del course.legs_at[next(iter(course.legs_at))]
            known = course.legs_at[place] = {}
        elif known is None:
            if len(course.seen_there) >= _PLACES:
                course.seen_there.clear()
            course.seen_there.add(place)
        return known

    @property
    def _address(self) -> int:
        """Where the block's memory lies."""
        return 0 if self._room is None else self._room._address

    @property
    def is_complete(self) -> bool:
        """Whether it has taken all steps, none of which waits."""
        return self.taken == len(self._steps) and self._is_as_it_was()

    def done(self) -> list[Done]:
        """What it has done, as a block knows it that follows nothing."""
        found = []
        self._events[:] = one_by_one(self._events)
        events = iter([each for each in self._events if isinstance(each, Event)])
        for step in self._steps[: self.taken]:
            saved = next(events) if step.saved is not None else None
            taped = next(events) if step.way is not None else None
            assert not isinstance(saved, TapedLaunch) and not isinstance(taped, Saved)
            left = self._left(step)
            found.append(Done(step.program, step.geometry, step.words, saved, taped, left))
        return found

    def _left(self, step: Step) -> Left:
        return {address: (self._pieces[address], each) for address, each in step.left.items()}

    def leave(self, untouched: Untouched) -> None:
        """Go on as a block that follows nothing, when nothing waits."""
        left = self._left(self._steps[self.taken - 1]) if self.taken else {}
        steps = self._steps[: self.taken]
        copied = [each for step in steps if step.saved is not None for each in step.saved[0]]
        untouched.resume(left, self._pieces_at(copied), self._copies)

    def _pieces_at(self, addresses: Sequence[int]) -> dict[int, Piece]:
        return {each: self._pieces[each] for each in addresses}

    def end(self, untouched: Untouched) -> None:
        """The block has ended, all steps are taken."""
        course, end = self.course, self._end
        if end is None and course.end is not None:
            end = self._copy(course.end)
        untouched.end_with(end, self._pieces_at(course.copied), self._copies)
        self._events = []  # which refer to this: memory is the next block's as soon as a tape goes

    # ------------------------------------------------------------ launches

    def take(self, program: Program, geometry: Geometry, arguments: tuple[Any, ...]) -> bool:
        """Launch, if that is the next step; else do nothing."""
        with self._lock:
            step = self._next(program)
            if step is None or not is_same(self._heap, step, program, geometry, arguments):
                return False
            self.launch()
            self._take(step, arguments)
            return True

    def take_seen(self, program: Program, geometry: Geometry, arguments: tuple[Any, ...]) -> bool:
        """The same for the very arguments that the step was given last, at which nobody looks."""
        with self._lock:
            step = self._next(program)
            if step is None or not is_seen(step, program, geometry, arguments):
                return False
            self._take_seen(step, arguments)
            return True

    def take_call(self, planned: tuple[PlannedLaunch, ...], arguments: tuple[Any, ...]) -> bool:
        """Call a method of all objects of a class, whose launches are ``planned`` without these
        arguments of the method, if they are the next steps; else do nothing."""
        with self._lock:
            return self._take_call(planned, arguments)

    def _take_call(self, planned: tuple[PlannedLaunch, ...], arguments: tuple[Any, ...]) -> bool:
        if not self._is_as_it_was():
            return False
        first = self._first.get(planned)
        if first is None:
            heap = self._heap
            first = self._first[planned] = [(*p.arrays(heap), *p.first_threads) for p in planned]
        given = [(*each, *arguments) for each in first]
        number = self.taken + len(self._waiting)
        steps = self._steps[number : number + len(planned)]
        if not steps or steps[0].planned is not planned or not are_same(steps[0].given, arguments):
            if not self._are_next(steps, planned, given):
                return False
            self.launch()
            for step, values in zip(steps, given, strict=True):
                self._take(step, values)
            if all(each.__class__ in PLAIN for each in arguments):
                steps[0].planned, steps[0].given = planned, arguments
            return True
        for step, values in zip(steps, given, strict=True):
            self._take_seen(step, values)
        return True

    def _are_next(
        self,
        steps: Sequence[Step],
        planned: Sequence[PlannedLaunch],
        given: Sequence[tuple[Any, ...]],
    ) -> bool:
        return len(steps) == len(planned) and all(
            is_same(self._heap, step, each.program, geometry_of(each.threads), values)
            for step, each, values in zip(steps, planned, given, strict=True)
        )

    def _next(self, program: Program) -> Step | None:
        number = self.taken + len(self._waiting)
        step = self._steps[number] if number < len(self._steps) else None
        if step is None or step.program is not program:
            return None
        program.look_at_names()
        return step if self._is_as_it_was() else None

    def _is_as_it_was(self) -> bool:
        heap = self._heap
        return not heap.upkeep.is_shared and self._state == state_of(heap, self.course.types)

    def _take(self, step: Step, arguments: tuple[Any, ...]) -> None:
        """Launch at once."""
        copy, taped = self._events_of(step, arguments)
        if copy is not None:
            self._events.append(copy)
        if taped is None:
            step.launch(*arguments)
        else:
            step.launch(*arguments, *self._words(step, taped))
            self._events.append(taped)
        self.taken += 1

    def _events_of(
        self,
        step: Step,
        arguments: tuple[Any, ...],
        changes: Mapping[Field, object] | None = None,
    ) -> tuple[Saved | None, TapedLaunch | None]:
        """What there is to note of a launch. What is to be copied before it is copied now, or
        with its leg, when ``changes`` were those of watched fields."""
        copy = None if step.saved is None else self._copy(step.saved, changes)
        if step.way is None:
            return copy, None
        tape = self._array(u64, *step.tape) if step.tape[1] else self._nothing
        return copy, TapedLaunch(step.way, arguments, None, tape, step.room)

    def _words(self, step: Step, taped: TapedLaunch) -> tuple[Any, ...]:
        """What a launch is given beside its arguments."""
        if step.used is None:
            return taped.tape, step.room
        return taped.tape, step.room, self._array(i64, *step.used)

    # ------------------------------------------------------------ launches that wait

    def _take_seen(self, step: Step, arguments: tuple[Any, ...]) -> None:
        """Launch what is given arrays and numbers that were looked at: with its leg, if it is of
        one."""
        leg, waiting = step.leg, self._waiting
        if leg is not None and (waiting or self._begins(leg)):
            waiting.append(arguments)
            if self.taken + len(waiting) == leg[1]:
                self._launch()
            return
        around = recording.get()
        try:
            recording.set(own)
            self._take(step, arguments)
        finally:
            recording.set(around)

    def _begins(self, leg: tuple[int, int]) -> bool:
        """Whether the next launch waits, as the first one of that leg."""
        memory = self._heap.memory
        # Of a leg that was left the rest is launched one by one.
        if self._legs is None or leg[0] != self.taken or memory.deferred is not None:
            return False
        memory.deferred = self
        # Whoever looks whether something was launched comes to launch this.
        memory.last_launch = object()
        deferring.add(self)
        return True

    def is_launching_here(self) -> bool:
        """See ``Deferred``."""
        return self._is_launching and bool(self._lock._is_owned())

    def launch(self) -> None:
        """Launch what waits, before the rest of its leg is asked for."""
        if not self._waiting or self.is_launching_here():
            return
        if self._lock.acquire(blocking=can_wait(self._heap)):
            try:
                self._launch()
            finally:
                self._lock.release()

    def _launch(self) -> None:
        """Launch what waits; the caller has the lock. An error drops those after the one that it
        comes from."""
        waiting, self._waiting, first = self._waiting, [], self.taken
        if not waiting:
            return
        memory, steps = self._heap.memory, self._steps[first : first + len(waiting)]
        around = recording.get()
        self._is_launching = True
        try:
            recording.set(own)
            if steps[0].leg == (first, first + len(steps)):
                self._launch_leg(steps, waiting)
            else:
                for step, arguments in zip(steps, waiting, strict=True):
                    self._take(step, arguments)
        finally:
            self._is_launching = False
            recording.set(around)
            memory.deferred = None
            deferring.discard(self)

    def _launch_leg(self, steps: Sequence[Step], waiting: Sequence[tuple[Any, ...]]) -> None:
        heap, legs, changes = self._heap, self._legs, {**self._heap.distinct.changes}

        def events() -> list[Event]:
            found: list[Event] = []
            for step, given in zip(steps, waiting, strict=True):
                copy, taped = self._events_of(step, given, changes)
                assert taped is not None
                found += [taped] if copy is None else [copy, taped]
            return found

        def arguments() -> list[tuple[Any, ...]]:
            launches = [each for each in events() if isinstance(each, TapedLaunch)]
            return [
                (*each.arguments, *self._words(step, each))
                for step, each in zip(steps, launches, strict=True)
            ]

        end = self.course.end if steps[-1] is self._steps[-1] else None
        assert legs is not None
        leg = legs.get(self.taken)
        if leg is None:
            copies = [] if end is None else [self._copy(end, changes)]
            leg = legs[self.taken] = Leg(heap, [*events(), *copies], arguments())
        leg.run_with(heap, waiting, arguments)
        if end is not None:
            self._end = self._copy(end, changes)
        kept = sum([step.bytes for step in steps])
        self._events.append(LegEvents(waiting, changes, kept, events))
        self.taken += len(steps)

    def _copy(
        self,
        saved: tuple[tuple[int, ...], int, int],
        changes: Mapping[Field, object] | None = None,
    ) -> Saved:
        """A copy of what there is now, or was when ``changes`` were those of watched fields."""
        addresses, place, _ = saved
        room = self._room
        assert room is not None and room._storage is not None
        where = room._storage, room._address + place
        return Saved(self._heap, self._plan(addresses), room=where, made_with=changes)

    def _plan(self, addresses: tuple[int, ...]) -> CopyPlan:
        """Of a copy of what lies there."""
        found = self._plans.get(addresses)
        if found is None:
            found = self._plans[addresses] = CopyPlan([self._pieces[each] for each in addresses])
        return found

    def _array(self, element: Type, place: int, length: int) -> Array:
        room = self._room
        if room is None:
            return make_array(self._heap, element, None, 0, 0)
        return make_array(self._heap, element, room._storage, room._address + place, length)

    # ------------------------------------------------------------ the way back

    def way_back(
        self,
        events: Sequence[Event | LegEvents],
        untouched: Untouched,
        distance: int,
        is_whole: bool,
    ) -> WayBack | None:
        """What goes back through all events, if that is not done in these places for the first
        time; None if it has to be done one by one. ``is_whole``: from memory as it is, and back to
        that; else memory is as it was when the block ended."""
        heap, course = self._heap, self.course
        key = self._address, distance, is_whole
        known, seen = course.ways_back.get(key), course.seen
        if known is None and key not in seen:
            if len(seen) >= _PLACES:
                seen.clear()
            seen.add(key)
            return None
        if not can_be_one(heap, events, untouched.copy_of_end):
            return None
        if known is None:
            if len(course.ways_back) >= _WAYS:
                del course.ways_back[next(iter(course.ways_back))]
            before, after = self._around(untouched.copy_of_end) if is_whole else ([], [])
            known = WayBack(heap, one_by_one(events), before, after, distance)
            course.ways_back[key] = known
        return known

    def _around(self, end: Saved | None) -> tuple[list[MemoryCopy], list[MemoryCopy]]:
        """Copies before and after all."""
        room = self._room
        if room is None:
            return [], []
        pieces, place = [self._pieces[each] for each in self.course.copied], self.course.now
        keep = memory_copies(pieces, room._address + place, back=False)
        back = [] if end is None else end.copies_back()
        return [*keep, *back], memory_copies(pieces, room._address + place, back=True)
