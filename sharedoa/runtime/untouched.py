"""Memory that launches of a tape leave for their way back to load again, in place of keeping what
they loaded (``ir.adjoint.again``).

It is copied where it is about to change: before a later launch of the tape that stores to such
memory, and what has not changed when the tape's block ends, then, as nobody knows what happens
afterwards. On the way back, which goes from the newest launch to the oldest, each copy is put back
when its turn comes; in the end memory is as it was when the way back began.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from .. import ir
from ..errors import HeapError
from ..heap.heap import Heap
from ..ir.adjoint.again import Again, stored_places
from ..ir.roles import Role, element_role, may_meet
from .geometry import Geometry
from .heap_state import Copies, Piece, Saved, array_piece, arrays_made, memory_in

_LEAST, _EACH = 1 << 19, 512
"""Bytes of memory that a launch may leave: what is copied at once, and for each of its threads.
Tapes of a few threads are smaller than copies of all objects that they might have met."""

_Left = list[tuple[Piece, frozenset[Role]]]

_stored: WeakKeyDictionary[ir.Program, tuple[frozenset[Role], frozenset[int]]]
_stored = WeakKeyDictionary()


class Untouched:
    """Of one tape."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._copies: Copies | None = None
        #: By address: what launches have left since it was copied, with its roles.
        self._left: dict[int, tuple[Piece, frozenset[Role]]] = {}
        #: All that will be put back.
        self._pieces: dict[int, Piece] = {}
        self._end: Saved | None = None
        #: Whether another thread came to use the heap when launches had left memory already.
        self._is_shared = False
        self._known: dict[Any, _Left] = {}
        #: Whether what a program stores to may be in a role.
        self._meets: dict[ir.Program, dict[Role, bool]] = {}

    def leave(self, again: Again, arguments: Sequence[Any], geometry: Geometry) -> bool:
        """Note what a launch, which is about to run, leaves; False, and nothing, if its threads had
        better keep what they load."""
        heap = self._heap
        if heap.upkeep.is_shared:  # others might look at memory while it is as it was
            return False
        arrays = [arguments[number]._storage for number in sorted(again.arrays)]
        storages = [each for each in arrays if each is not None]
        found = self._memory(again, storages)
        size = sum(piece.size for piece, _ in found)
        if size > max(_LEAST, _EACH * math.prod(geometry.threads)):
            return False
        if self._copies is None:
            self._copies = Copies(heap)
        for piece, roles in found:
            _, before = self._left.get(piece.address, (piece, frozenset()))
            self._left[piece.address] = piece, before | roles
        return True

    def _memory(self, again: Again, storages: Sequence[Any]) -> _Left:
        key = again, arrays_made(self._heap, again.roles), *storages
        if key not in self._known:
            found: dict[int, tuple[Piece, frozenset[Role]]] = {}
            alone = [(frozenset([role]), memory_in(self._heap, frozenset([role])))
                     for role in again.roles]  # fmt: skip
            alone += [
                (frozenset([element_role(each.element)]), [array_piece(each)]) for each in storages
            ]
            for roles, pieces in alone:
                for piece in pieces:
                    _, before = found.get(piece.address, (piece, frozenset()))
                    found[piece.address] = piece, before | roles
            self._known[key] = list(found.values())
        return self._known[key]

    def before(self, code: ir.Program, arguments: Sequence[Any]) -> Saved | None:
        """A copy of what a launch, which is about to run, may change of what others have left."""
        if not self._left:
            return None
        if code not in _stored:
            _stored[code] = stored_places(code)
        stored, numbers = _stored[code]
        roles = {role for _, each in self._left.values() for role in each}
        meets = self._meets.setdefault(code, {})
        for role in roles - meets.keys():
            meets[role] = any(may_meet(role, each) for each in stored)
        changed = {role for role in roles if meets[role]}
        written = [arguments[number]._storage for number in numbers]
        arrays = {each.address for each in written if each is not None}
        pieces = [
            piece
            for address, (piece, each) in self._left.items()
            if address in arrays or not each.isdisjoint(changed)
        ]
        return self._saved(pieces) if pieces else None

    def end(self) -> None:
        """The block of the tape has ended."""
        self._is_shared = self._copies is not None and self._heap.upkeep.is_shared
        if self._left:
            self._end = self._saved([piece for piece, _ in self._left.values()])

    def _saved(self, pieces: list[Piece]) -> Saved:
        made = Saved(self._heap, pieces)
        for piece in pieces:
            self._pieces[piece.address] = piece
            del self._left[piece.address]
        return made

    @property
    def bytes(self) -> int:
        """Of the last copy."""
        return 0 if self._end is None else self._end.bytes

    @contextmanager
    def as_it_was(self) -> Iterator[None]:
        """In the block memory may be put back; afterwards it is as before. Raises HeapError if it
        may have changed before it was copied."""
        if self._is_shared:
            raise HeapError(
                "another thread of Python began to use the heap within the block of oa.tape(), and "
                "may have changed what launches had found",
                "let it use the heap before the block, whose launches then keep what they load; or "
                "record it again",
            )
        if not self._pieces:
            yield
            return
        now = Saved(self._heap, list(self._pieces.values()))
        try:
            if self._end is not None:
                self._end.put_back()
            yield
        finally:
            now.put_back()
