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
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from dispatch.dataclass import dataclass

from ..heap.array_memory import ArrayStorage
from ..heap.heap import Heap
from ..heap.regions import Region
from ..ir.roles import Role
from ..model.types import Type
from ..model.world import World
from .geometry import Geometry
from .gradients import Gradient, TapedLaunch, Way
from .heap_state import Piece, Saved, array_piece, elements_in
from .legs import Leg, can_wait_for_others, cut
from .same_arguments import Words
from .vectorised import PlannedLaunch
from .way_back import WayBack

if TYPE_CHECKING:
    from .launch import Program
    from .launch_code import Launch

_COURSES = 8
"""Of a heap, by their first launches."""
_PART = 256
"""Bytes that parts of the memory of a block begin at a multiple of."""

Left = dict[int, tuple[Piece, frozenset[Role]]]
"""By address: memory that was left for the way back to load again, and its roles."""


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
class Step:
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
    #: Of its tape, and of what is copied before it.
    bytes: int
    #: The leg that it is of: which steps of the course.
    leg: tuple[int, int] | None = None
    #: The launches of the call of all objects of a class that begins with this one, as it was made
    #: last, and the call's arguments.
    planned: tuple[PlannedLaunch, ...] | None = None
    given: tuple[Any, ...] = ()
    #: The arguments that it was given last, arrays by weak references; nothing if there are others
    #: than arrays and numbers of Python.
    seen: tuple[Any, ...] = ()
    #: Which of these are arrays of objects.
    lists: tuple[int, ...] = ()


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
        #: Memory that is copied or left, by address: the region that it is part of or the array,
        #: which of them that is, and its size.
        self._pieces = {e.address: (ref(e.owner), e.part is None, e.size) for e in pieces}
        self.steps = [self._step(each) for each in done]
        for leg in cut([can_wait_for_others(each.saved, each.taped) for each in done]):
            for step in self.steps[slice(*leg)]:
                step.leg = leg
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
        #: By the address of a block's memory its legs, each by its first step; and where blocks
        #: were whose launches were started one by one.
        self.legs_at: dict[int, dict[int, Leg]] = {}
        self.seen_there: set[int] = set()

    def _step(self, done: Done) -> Step:
        taped, room, tape, used = done.taped, 0, (0, 0), None
        launch = done.program.launcher(done.geometry)
        saved = None if done.saved is None else self._copy(done.saved)
        if taped is not None:
            assert taped.way.forward is not None
            room, launch = taped.room, taped.way.forward
            tape = self._place(8 * len(taped.tape)), len(taped.tape)
            if taped.gradient.made.grows:
                used = self._place(8 * taped.way.threads), taped.way.threads
        return Step(
            done.program, done.geometry, done.words, None if taped is None else taped.way,
            launch, room, tape, used, saved,
            {address: roles for address, (_, roles) in done.left.items()},
            sum(each.bytes for each in (done.saved, taped) if each is not None),
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
        for address, (owner, is_array, size) in self._pieces.items():
            there = owner()
            if there is None and is_array:  # where it was another one may be
                there = heap.memory.arrays.at(address)
            piece = None if there is None else _piece(there, address, size)
            if piece is None or piece.size != size:
                return None
            found[address] = piece
        return found


def _whole(size: int) -> int:
    return -(-size // _PART) * _PART


def _piece(owner: Region | ArrayStorage, address: int, size: int) -> Piece | None:
    """What of it lies there; None where the array that does begins elsewhere."""
    if isinstance(owner, ArrayStorage):
        return array_piece(owner) if owner.address == address else None
    start = address - owner.start
    return Piece(address, size, owner, owner.memory[start : start + size])


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
    types, made = _types_left(heap, done), heap.memory.arrays.made
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


def course_of(heap: Heap, first: Program) -> Course | None:
    """Of the block that was last among those with this first launch."""
    return _courses.get(heap, {}).get(first)


def state_of(heap: Heap, arrays: Sequence[Type] | None = None) -> tuple[int, ...]:
    """As long as it is the same, the same launches are recorded the same way; ``arrays``: types of
    elements of which they may leave all arrays that there are. The first array of another type may
    be one of theirs, too."""
    state = World.epoch, *_changes(heap.placement)
    if arrays is None:
        return state
    made = heap.memory.arrays.made
    return *state, len(made), *[made[each] for each in arrays]


_changes = attrgetter("layout_epoch", "population_version", "moves", "deletions")
"""Each launch of a block asks for them."""


@dataclass(frozen=True, eq=False)
class Before:
    """A heap before a block: its state without arrays, and how many of these there had been."""

    state: tuple[int, ...]
    made: dict[Type, int]

    @classmethod
    def of(cls, heap: Heap) -> Before:
        return cls(state_of(heap), {**heap.memory.arrays.made})


def _types_left(heap: Heap, done: Sequence[Done]) -> list[Type] | None:
    """Types of elements of which launches may leave all arrays that there are; None if they leave
    no arrays but those that they are given."""
    taped = [each.taped for each in done if each.taped is not None]
    roles = {role for each in taped for role in each.gradient.made.again.roles}
    if all(role[:1] == ("field",) for role in roles):
        return None
    return elements_in(heap, roles)
