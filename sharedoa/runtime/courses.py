"""Blocks of ``oa.tape()`` that do what one did before on the same heap: its *course*.

Who learns records the same launches again and again. What is decided for each, which copies come
before it, and how much memory all of it takes, is then known: a block follows the course as long as
its launches are those of the course and nothing has happened that could have others decided. All
that it keeps lies in one piece of the device's memory, for the most part the one that the block
before had; so the way back is the same launches with the same arguments, too (``way_back``).

A course keeps nobody's arrays or objects. With the first launch that is another one a block goes
on as one that follows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from dispatch.dataclass import dataclass

from ..backends.base import MemoryCopy
from ..heap.arrays import Array, ObjectArray, make_array
from ..heap.device_copies import device_array
from ..heap.heap import Heap, current_heap
from ..heap.regions import Region
from ..heap.run import RunOfObjects
from ..ir.roles import Role
from ..model.scalars import i64, u64
from ..model.types import Type
from ..model.world import World
from .geometry import Geometry
from .gradients import Gradient, TapedLaunch, Way
from .heap_state import Copies, CopyPlan, Piece, Saved, array_piece, elements_in, memory_copies
from .vectorised import PlannedLaunch, geometry_of
from .way_back import Event, WayBack, can_be_one

if TYPE_CHECKING:
    from .launch import Program
    from .launch_code import Launch
    from .untouched import Untouched

_COURSES, _WAYS_BACK, _PLACES = 8, 4, 16
"""Of a heap, by their first launches; of a course, by where memory is; and how many such places are
remembered that were there once."""
_PART = 256
"""Bytes that parts of the memory of a block begin at a multiple of."""

Left = dict[int, tuple[Piece, frozenset[Role]]]
"""By address: memory that was left for the way back to load again, and its roles."""


Words = tuple[bytes, tuple[Any, ...]]
"""What the arguments of a launch are: what kernels take for them, and where runs begin."""


@dataclass(frozen=True, eq=False)
class Done:
    """A launch of a block: what it was, what that took, and what is left after it."""

    program: Program
    geometry: Geometry
    words: Words
    saved: Saved | None
    taped: TapedLaunch | None
    left: Left


@dataclass(eq=False, slots=True)
class _Step:
    """A launch of a course."""

    program: Program
    geometry: Geometry
    words: Words
    #: None: nothing is reversed.
    way: Way | None
    launch: Launch
    room: int
    #: Where the words of its tape lie in the block's memory, and how many there are; and those in
    #: which threads say how many they needed.
    tape: tuple[int, int]
    used: tuple[int, int] | None
    #: Addresses of what is copied before it, and where the copy lies.
    saved: tuple[tuple[int, ...], int, int] | None
    #: By address, the roles in which memory is left after it.
    left: dict[int, frozenset[Role]]
    #: The launches of the call of all objects of a class that begins with this one, as it was made
    #: last, and the call's arguments.
    planned: tuple[PlannedLaunch, ...] | None = None
    given: tuple[Any, ...] = ()
    #: The arguments that it was given last, arrays by weak references; nothing if there are others
    #: than arrays and numbers of Python.
    seen: tuple[Any, ...] = ()
    #: Whether there are arrays of objects among these.
    has_objects: bool = True


class Course:
    """What a block did."""

    def __init__(
        self,
        heap: Heap,
        done: Sequence[Done],
        end: Saved | None,
        gradients: dict[str, Gradient],
        types: Sequence[Type] | None,
    ) -> None:
        """``end``: what was copied when the block ended; ``types``: as those of ``state_of``."""
        self.types, self.state = types, state_of(heap, types)
        self.gradients = gradients
        self.size = 0
        pieces = [piece for each in done if each.saved is not None for piece in each.saved.pieces]
        pieces += [piece for each in done for piece, _ in each.left.values()]
        #: Memory that is copied or left, by address: the region that it is part of, None for an
        #: array; and its size.
        self._pieces = {each.address: (_region(each), each.size) for each in pieces}
        self.steps = [self._step(each) for each in done]
        self.end = None if end is None else self._copy(end)
        saved = [each.saved for each in done if each.saved is not None]
        copied = {
            piece.address: piece
            for each in (*saved, *([] if end is None else [end]))
            for piece in each.pieces
        }
        #: What the way back copies before all, to put it back after all, and where.
        self.copied = [*copied]
        self.now = self._place(sum(_whole(each.size) for each in copied.values()))
        #: By the address of a block's memory and the distance of adjoints, and whether it does all.
        self.ways_back: dict[tuple[int, int, bool], WayBack] = {}
        #: Where memory was in ways back that were gone through event by event.
        self.seen: set[tuple[int, int, bool]] = set()

    def _step(self, done: Done) -> _Step:
        taped, room, tape, used = done.taped, 0, (0, 0), None
        launch = done.program.launcher(done.geometry)
        saved = None if done.saved is None else self._copy(done.saved)
        if taped is not None:
            assert taped.way.forward is not None
            room, launch = taped.room, taped.way.forward
            tape = self._place(8 * len(taped.tape)), len(taped.tape)
            if taped.gradient.made.grows:
                used = self._place(8 * taped.way.threads), taped.way.threads
        return _Step(
            done.program, done.geometry, done.words, None if taped is None else taped.way,
            launch, room, tape, used, saved,
            {address: roles for address, (_, roles) in done.left.items()},
        )  # fmt: skip

    def _copy(self, saved: Saved) -> tuple[tuple[int, ...], int, int]:
        addresses = tuple([each.address for each in saved.pieces])
        return addresses, self._place(saved.size), saved.size

    def _place(self, size: int) -> int:
        """Where so many bytes of a block's memory lie."""
        place = self.size
        self.size += _whole(size)
        return place

    def pieces(self, heap: Heap) -> dict[int, Piece] | None:
        """The memory that is copied or left; None if some of it is no more."""
        found = {}
        for address, (region, size) in self._pieces.items():
            piece = _array(heap, address) if region is None else _part_of(region(), address, size)
            if piece is None or piece.size != size:
                return None
            found[address] = piece
        return found


def _whole(size: int) -> int:
    return -(-size // _PART) * _PART


def _region(piece: Piece) -> ref[Region] | None:
    return ref(piece.owner) if isinstance(piece.owner, Region) else None


def _part_of(region: Region | None, address: int, size: int) -> Piece | None:
    if region is None:
        return None
    start = address - region.start
    return Piece(address, size, region, region.memory[start : start + size])


def _array(heap: Heap, address: int) -> Piece | None:
    storage = heap.memory.array_at(address)
    return None if storage is None or storage.address != address else array_piece(storage)


_courses: WeakKeyDictionary[Heap, dict[Program, Course]] = WeakKeyDictionary()
"""By the program that is launched first."""


def remember(
    heap: Heap,
    before: Before,
    done: Sequence[Done],
    end: Saved | None,
    gradients: dict[str, Gradient],
) -> None:
    """A block has done so, on the heap as it was ``before``."""
    types, made = _types_left(heap, done), heap.memory.arrays_made
    if before.state != state_of(heap) or any(before.made.get(t, 0) != made[t] for t in types or ()):
        return
    copies = [each.saved for each in done if each.saved is not None]
    copies += [] if end is None else [end]
    if heap.backend.copies is None or not all(each.is_on_device for each in copies):
        return
    courses = _courses.setdefault(heap, {})
    first = done[0].program
    courses.pop(first, None)
    if len(courses) >= _COURSES:
        del courses[next(iter(courses))]
    courses[first] = Course(heap, done, end, gradients, types)


def follow(heap: Heap, first: Program, events: list[Any]) -> Following | None:
    """What lets a block, whose first launch is of that program, do what one before did; what
    happens is added to ``events``."""
    course = _courses.get(heap, {}).get(first)
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
    """A block that follows a course, as far as it has come."""

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
        #: How many steps it has taken, and of what it has copies.
        self.taken = 0
        self._copied: dict[int, Piece] = {}
        self._plans: dict[tuple[int, ...], CopyPlan] = {}
        self._steps, self._state = course.steps, course.state
        #: Of calls of all objects of a class, what comes before the arguments of the method.
        self._first: dict[tuple[PlannedLaunch, ...], list[tuple[Any, ...]]] = {}
        self._nothing = self._array(u64, 0, 0)

    @property
    def is_complete(self) -> bool:
        return self.taken == len(self._steps) and self._is_as_it_was()

    def done(self) -> list[Done]:
        """What it has done, as a block knows it that follows nothing."""
        found = []
        events = iter([each for each in self._events if isinstance(each, Event)])
        for step in self._steps[: self.taken]:
            saved = next(events) if step.saved is not None else None
            taped = next(events) if step.way is not None else None
            assert not isinstance(saved, TapedLaunch) and not isinstance(taped, Saved)
            left = self._left(step)
            found.append(Done(step.program, step.geometry, step.words, saved, taped, left))
        return found

    def _left(self, step: _Step) -> Left:
        return {address: (self._pieces[address], each) for address, each in step.left.items()}

    def leave(self, untouched: Untouched) -> None:
        """Go on as a block that follows nothing."""
        left = self._left(self._steps[self.taken - 1]) if self.taken else {}
        untouched.resume(left, self._copied, self._copies)

    def end(self, untouched: Untouched) -> None:
        """The block has ended, all steps are taken."""
        end = None if self.course.end is None else self._copy(self.course.end)
        untouched.end_with(end, self._copied, self._copies)

    # ------------------------------------------------------------ launches

    def take(self, program: Program, geometry: Geometry, arguments: tuple[Any, ...]) -> bool:
        """Launch, if that is the next step; else do nothing."""
        step = self._next(program)
        if step is None or not _is_same(self._heap, step, program, geometry, arguments):
            return False
        self._take(step, arguments)
        return True

    def take_seen(self, program: Program, geometry: Geometry, arguments: tuple[Any, ...]) -> bool:
        """The same for the very arguments that the step was given last, at which nobody looks."""
        step = self._next(program)
        if step is None or not _is_seen(step, program, geometry, arguments):
            return False
        self._take(step, arguments)
        return True

    def take_call(self, planned: tuple[PlannedLaunch, ...], arguments: tuple[Any, ...]) -> bool:
        """Call a method of all objects of a class, whose launches are ``planned`` without these
        arguments of the method, if they are the next steps; else do nothing."""
        if not self._is_as_it_was():
            return False
        first = self._first.get(planned)
        if first is None:
            heap = self._heap
            first = self._first[planned] = [(*p.arrays(heap), *p.first_threads) for p in planned]
        given = [(*each, *arguments) for each in first]
        steps = self._steps[self.taken : self.taken + len(planned)]
        if not steps or steps[0].planned is not planned or not _are_same(steps[0].given, arguments):
            if not self._are_next(steps, planned, given):
                return False
            if all(each.__class__ in _PLAIN for each in arguments):
                steps[0].planned, steps[0].given = planned, arguments
        for step, values in zip(steps, given, strict=True):
            self._take(step, values)
        return True

    def _are_next(
        self,
        steps: Sequence[_Step],
        planned: Sequence[PlannedLaunch],
        given: Sequence[tuple[Any, ...]],
    ) -> bool:
        return len(steps) == len(planned) and all(
            _is_same(self._heap, step, each.program, geometry_of(each.threads), values)
            for step, each, values in zip(steps, planned, given, strict=True)
        )

    def _next(self, program: Program) -> _Step | None:
        program.look_at_names()
        if self.taken == len(self._steps) or not self._is_as_it_was():
            return None
        return self._steps[self.taken]

    def _is_as_it_was(self) -> bool:
        heap = self._heap
        return not heap.upkeep.is_shared and self._state == state_of(heap, self.course.types)

    def _take(self, step: _Step, arguments: tuple[Any, ...]) -> None:
        events, way = self._events, step.way
        if step.saved is not None:
            events.append(self._copy(step.saved))
        if way is None:
            step.launch(*arguments)
        else:
            tape = self._array(u64, *step.tape) if step.tape[1] else self._nothing
            used = () if step.used is None else (self._array(i64, *step.used),)
            step.launch(*arguments, tape, step.room, *used)
            events.append(TapedLaunch(way, arguments, None, tape, step.room))
        self.taken += 1

    def _copy(self, saved: tuple[tuple[int, ...], int, int]) -> Saved:
        """A copy of what there is now."""
        addresses, place, _ = saved
        plan = self._plans.get(addresses)
        if plan is None:
            pieces = [self._pieces[each] for each in addresses]
            self._copied.update(zip(addresses, pieces, strict=True))
            plan = self._plans[addresses] = CopyPlan(pieces)
        room = self._room
        assert room is not None and room._storage is not None
        return Saved(self._heap, plan, room=(room._storage, room._address + place))

    def _array(self, element: Type, place: int, length: int) -> Array:
        room = self._room
        if room is None:
            return make_array(self._heap, element, None, 0, 0)
        return make_array(self._heap, element, room._storage, room._address + place, length)

    # ------------------------------------------------------------ the way back

    def way_back(
        self, events: Sequence[Event], untouched: Untouched, distance: int, is_whole: bool
    ) -> WayBack | None:
        """What goes back through all events, if that is not done in these places for the first
        time; None if it has to be done one by one. ``is_whole``: from memory as it is, and back to
        that; else memory is as it was when the block ended."""
        heap, course, room = self._heap, self.course, self._room
        key = 0 if room is None else room._address, distance, is_whole
        known, seen = course.ways_back.get(key), course.seen
        if known is None and key not in seen:
            if len(seen) >= _PLACES:
                seen.clear()
            seen.add(key)
            return None
        if not can_be_one(heap, events, untouched.copy_of_end):
            return None
        if known is None:
            if len(course.ways_back) >= _WAYS_BACK:
                del course.ways_back[next(iter(course.ways_back))]
            before, after = self._around(untouched.copy_of_end) if is_whole else ([], [])
            known = WayBack(heap, events, before, after, distance)
            course.ways_back[key] = known
        return known

    def _around(self, end: Saved | None) -> tuple[list[MemoryCopy], list[MemoryCopy]]:
        """Copies before and after all."""
        room = self._room
        if room is None:
            return [], []
        pieces, place = [self._copied[each] for each in self.course.copied], self.course.now
        keep = memory_copies(pieces, room._address + place, back=False)
        back = [] if end is None else end.copies_back()
        return [*keep, *back], memory_copies(pieces, room._address + place, back=True)


_PLAIN, _ARRAYS = frozenset({int, float, bool}), frozenset({Array, ObjectArray})


def _are_same(known: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    """Whether numbers of Python and arrays, which ``known`` are or refers to, are the very same."""
    if len(known) != len(given):
        return False
    for a, b in zip(known, given, strict=True):
        if a is b:
            continue
        if a.__class__ is ref:
            if a() is not b:
                return False
        elif a.__class__ is not b.__class__ or not a == b != 0:
            return False
    return True


def _seen(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What ``_are_same`` takes as known; nothing if there are other arguments."""
    if not all(each.__class__ in _PLAIN or each.__class__ in _ARRAYS for each in arguments):
        return ()
    return tuple([ref(each) if each.__class__ in _ARRAYS else each for each in arguments])


def _runs(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    runs = [each._run for each in arguments if isinstance(each, (RunOfObjects, ObjectArray))]
    return tuple([run if run is None else (run.first, run.form) for run in runs])


def words_of(program: Program, arguments: tuple[Any, ...]) -> tuple[Words, Heap | None]:
    """What the arguments are, and the heap that they lie in."""
    slots = program.plan.new_slots()
    with program.lock:
        heap = program.plan.pack(slots, arguments)
    return (bytes(slots), _runs(arguments)), heap


def _is_seen(step: _Step, program: Program, geometry: Geometry, arguments: tuple[Any, ...]) -> bool:
    """Whether a launch is the step, whose arguments are known."""
    if step.program is not program or not arguments or not _are_same(step.seen, arguments):
        return False
    # Arrays of objects may have come to be runs, or are none any more.
    is_same = not step.has_objects or _runs(arguments) == step.words[1]
    return is_same and step.geometry == geometry


def _is_same(
    heap: Heap, step: _Step, program: Program, geometry: Geometry, arguments: tuple[Any, ...]
) -> bool:
    """Whether a launch is the step."""
    if step.program is not program or step.geometry != geometry:
        return False
    if _is_seen(step, program, geometry, arguments):
        return True
    words, found = words_of(program, arguments)
    if words != step.words or (found or current_heap()) is not heap:
        return False
    step.seen = _seen(arguments) if found is heap else ()
    step.has_objects = any(each.__class__ is ObjectArray for each in arguments)
    return True


def state_of(heap: Heap, arrays: Sequence[Type] | None = None) -> tuple[int, ...]:
    """As long as it is the same, the same launches are recorded the same way; ``arrays``: types of
    elements of which they may leave all arrays that there are. The first array of another type may
    be one of theirs, too."""
    books, placement, made = heap.books, heap.placement, heap.memory.arrays_made
    changes = placement.population_version, placement.moves, placement.deletions
    of_arrays = () if arrays is None else (len(made), *[made[each] for each in arrays])
    return World.epoch, books.layout_epoch, *changes, *of_arrays


@dataclass(frozen=True, eq=False)
class Before:
    """A heap before a block: its state without arrays, and how many of these there had been."""

    state: tuple[int, ...]
    made: dict[Type, int]

    @classmethod
    def of(cls, heap: Heap) -> Before:
        return cls(state_of(heap), {**heap.memory.arrays_made})


def _types_left(heap: Heap, done: Sequence[Done]) -> list[Type] | None:
    """Types of elements of which launches may leave all arrays that there are; None if they leave
    no arrays but those that they are given."""
    taped = [each.taped for each in done if each.taped is not None]
    roles = {role for each in taped for role in each.gradient.made.again.roles}
    if all(role[:1] == ("field",) for role in roles):
        return None
    return elements_in(heap, roles)
