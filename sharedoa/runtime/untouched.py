"""Memory that launches of a tape leave for their way back to load again, in place of keeping what
they loaded (``ir.adjoint.again``).

It is copied where it is about to change: before a later launch of the tape that stores to such
memory, and what has not changed when the tape's block ends, then, as nobody knows what happens
afterwards. On the way back, which goes from the newest launch to the oldest, each copy is put back
when its turn comes; in the end memory is as it was when the way back began.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dispatch.dataclass import dataclass

from .. import ir
from ..errors import HeapError
from ..heap.array_memory import ArrayStorage
from ..heap.heap import Heap
from ..ir.adjoint.again import Again, stored_places
from ..ir.roles import Role, element_role, may_meet
from .geometry import Geometry
from .heap_state import Copies, Piece, Saved, array_piece, arrays_made, memory_by_role
from .tape_words import TapeWords

if TYPE_CHECKING:
    from .gradients import Way

_LEAST, _EACH = 1 << 19, 512
"""Bytes of memory that a launch may leave: what is copied at once, and for each of its threads.
Tapes of a few threads are smaller than copies of all objects that they might have met."""

_Left = list[tuple[Piece, frozenset[Role]]]
_LeftNow = dict[int, tuple[Piece, frozenset[Role]]]


@dataclass(frozen=True)
class _Stored:
    """What a program stores to: roles, and arrays that are parameters; and whether any of them may
    be in some of what was left, of what that is known."""

    roles: frozenset[Role]
    arrays: frozenset[int]
    known: dict[frozenset[Role], bool]

    def may_be_in(self, left: frozenset[Role]) -> bool:
        found = self.known.get(left)
        if found is None:
            found = any(may_meet(one, each) for one in left for each in self.roles)
            self.known[left] = found
        return found


@dataclass(frozen=True)
class _Known:
    """What a launch leaves, and its bytes; how many arrays had been made then, of all types and of
    those that it may leave."""

    left: _Left
    size: int
    made: int
    made_of_roles: int


_stored: WeakKeyDictionary[ir.Program, _Stored] = WeakKeyDictionary()


@dataclass(frozen=True)
class Step:
    """What was done for a launch: how it was recorded, what was copied before it, and by number
    what was left after it."""

    way: Way
    saved: Sequence[Piece]
    number: int


class Untouched:
    """Of one tape."""

    def __init__(self, heap: Heap, words: TapeWords) -> None:
        """``words``: where copies may lie."""
        self._heap, self._words = heap, words
        self._copies: Copies | None = None
        #: By address: what launches have left since it was copied, with its roles.
        self._left: dict[int, tuple[Piece, frozenset[Role]]] = {}
        #: A number for what is left; None where nobody has looked since it changed. What is left
        #: by a number is not changed any more.
        self._number: int | None = 0
        self._numbers: dict[frozenset[tuple[int, frozenset[Role]]], int] = {frozenset(): 0}
        self._by_number: list[dict[int, tuple[Piece, frozenset[Role]]]] = [self._left]
        self._steps: dict[tuple[Way, int, int], Step] = {}
        #: All that will be put back.
        self._pieces: dict[int, Piece] = {}
        self._end: Saved | None = None
        #: Whether another thread came to use the heap when launches had left memory already.
        self._is_shared = False
        self._known: dict[tuple[Again, tuple[ArrayStorage, ...]], _Known] = {}

    def leave(self, again: Again, arguments: Sequence[Any], geometry: Geometry) -> bool:
        """Note what a launch, which is about to run, leaves; False, and nothing, if its threads had
        better keep what they load."""
        heap = self._heap
        if heap.upkeep.is_shared:  # others might look at memory while it is as it was
            return False
        arrays = [arguments[number]._storage for number in again.arrays]
        known = self._memory(again, tuple([each for each in arrays if each is not None]))
        if known.size > _LEAST and known.size > _EACH * math.prod(geometry.threads):
            return False
        if self._copies is None:
            self._copies = Copies(heap)
        left = self._changing()
        for each in known.left:
            piece, roles = each
            before = left.get(piece.address)
            if before is None:
                left[piece.address] = each
            elif not roles <= before[1]:
                left[piece.address] = piece, before[1] | roles
        return True

    def _memory(self, again: Again, storages: tuple[ArrayStorage, ...]) -> _Known:
        """What is left."""
        heap, key = self._heap, (again, storages)
        made = heap.memory.arrays.made.total()
        known = self._known.get(key)
        if known is not None and known.made == made:
            return known
        of_roles = arrays_made(heap, again.roles)
        if known is not None and known.made_of_roles == of_roles:
            left, size = known.left, known.size
        else:
            left = self._look(again, storages)
            size = sum(piece.size for piece, _ in left)
        known = self._known[key] = _Known(left, size, made, of_roles)
        return known

    def _look(self, again: Again, storages: Sequence[ArrayStorage]) -> _Left:
        found = {each[0].address: each for each in memory_by_role(self._heap, again.roles)}
        for storage in storages:
            made = array_piece(storage)
            piece, before = found.get(made.address, (made, frozenset()))
            found[made.address] = piece, before | {element_role(storage.element)}
        return list(found.values())

    def before(self, code: ir.Program, arguments: Sequence[Any]) -> Saved | None:
        """A copy of what a launch, which is about to run, may change of what others have left."""
        if not self._left:
            return None
        stored = _stored.get(code)
        if stored is None:
            stored = _stored[code] = _Stored(*stored_places(code), {})
        written = [arguments[number]._storage for number in stored.arrays]
        arrays = {each.address for each in written if each is not None}
        pieces = [
            piece
            for address, (piece, roles) in self._left.items()
            if address in arrays or stored.may_be_in(roles)
        ]
        return self._saved(pieces) if pieces else None

    def end(self) -> None:
        """The block of the tape has ended."""
        self._is_shared = self._copies is not None and self._heap.upkeep.is_shared
        if self._left:
            self._end = self._saved([piece for piece, _ in self._left.values()])

    def now_left(self) -> _LeftNow:
        """What is left now, which nobody changes."""
        self._look_up()
        return self._left

    def resume(self, left: _LeftNow, copied: dict[int, Piece], copies: Copies | None) -> None:
        """Go on where memory is left, and some was copied."""
        self._number, self._left, self._pieces, self._copies = None, left, copied, copies

    def end_with(self, end: Saved | None, copied: dict[int, Piece], copies: Copies | None) -> None:
        """The block has ended, and all of this was copied; what is left at the end is ``end``."""
        self._end, self._pieces, self._copies = end, copied, copies
        self._is_shared = copies is not None and self._heap.upkeep.is_shared

    @property
    def copy_of_end(self) -> Saved | None:
        """What was left when the block ended."""
        return self._end

    def _saved(self, pieces: list[Piece]) -> Saved:
        made = Saved(self._heap, pieces, self._words)
        left = self._changing()
        for piece in pieces:
            self._pieces[piece.address] = piece
            del left[piece.address]
        return made

    # ------------------------------------------------------------ as before

    def now(self, way: Way) -> tuple[Way, int, int]:
        """What decides what happens to memory before and after a launch."""
        return way, self._look_up(), self._heap.memory.arrays.made.total()

    def _look_up(self) -> int:
        """The number of what is left."""
        number = self._number
        if number is None:
            left = self._left
            key = frozenset([(address, roles) for address, (_, roles) in left.items()])
            number = self._number = self._numbers.setdefault(key, len(self._by_number))
            if number == len(self._by_number):
                self._by_number.append(left)
        return number

    def known(self, now: tuple[Way, int, int]) -> Step | None:
        """What such a launch did before."""
        return None if self._heap.upkeep.is_shared else self._steps.get(now)

    def note(self, now: tuple[Way, int, int], way: Way, saved: Saved | None) -> None:
        """A launch was recorded in some way, after copies of what it was about to change."""
        _, number, _ = self.now(way)
        self._steps[now] = Step(way, [] if saved is None else saved.pieces, number)

    def again(self, step: Step) -> Saved | None:
        """Do what was done before a launch."""
        made = Saved(self._heap, step.saved, self._words) if step.saved else None
        self._number, self._left = step.number, self._by_number[step.number]
        return made

    def _changing(self) -> dict[int, tuple[Piece, frozenset[Role]]]:
        """What is left, to be changed."""
        if self._number is not None:
            self._number, self._left = None, dict(self._left)
        return self._left

    @property
    def bytes(self) -> int:
        """Of the last copy."""
        return 0 if self._end is None else self._end.bytes

    @property
    def puts_back(self) -> bool:
        """Whether memory is other than it seems while a way back runs."""
        return bool(self._pieces)

    @property
    def leaves(self) -> bool:
        """Whether launches have left memory for their way back."""
        return self._copies is not None

    def as_it_was(self, work: Callable[[], None]) -> None:
        """``work``, during which memory may be put back; afterwards it is as before. Raises
        HeapError if it may have changed before it was copied."""
        if self._is_shared:
            raise HeapError(
                "another thread of Python began to use the heap within the block of "
                "oa.tape(), and may have changed what launches had found",
                "let it use the heap before the block, whose launches then keep what they load; or "
                "record it again",
            )
        if not self._pieces:
            work()
            return
        now, is_back = Saved(self._heap, list(self._pieces.values())), False
        try:
            try:
                if self._end is not None:
                    self._end.put_back()
                work()
            finally:
                now.put_back()
                is_back = True
        finally:
            if not is_back:  # a signal came before it was
                now.put_back()
