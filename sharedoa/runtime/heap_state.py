"""What a launch may change, as it was: to launch again.

Copies of memory that a device uses are the device's own as long as it has room
(``heap.device_copies``), else the host's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import finalize

import numpy as np

from .. import ir
from ..heap.by_type import ByTypePlacement
from ..heap.heap import Heap
from ..ir.roles import Role, element_role, may_meet, stored_roles
from ..model.classes import ClassType
from . import planned_clusters

_ALIGNMENT = 256


class Copies:
    """Copies of a heap's memory that are to be put back: until they are let go of, objects keep
    their clusters. Those that were to get others get them before."""

    def __init__(self, heap: Heap) -> None:
        mark = object()
        # First, so that a signal leaves no mark; and under the lock, so that nobody who has just
        # seen none is about to rearrange objects.
        self.let_go = finalize(self, _let_go, heap, mark)
        self.let_go.atexit = False
        with heap.lock:
            planned_clusters.take_over(heap)
            heap.upkeep.copies.add(mark)


def _let_go(heap: Heap, mark: object) -> None:
    heap.upkeep.copies.discard(mark)
    planned_clusters.remind(heap)


@dataclass(frozen=True, eq=False)
class Piece:
    """All memory of a region or an array; ``memory`` keeps it."""

    address: int
    memory: np.ndarray[Any, np.dtype[np.uint8]]

    @property
    def size(self) -> int:
        return self.memory.nbytes


class Saved:
    """A copy of pieces of memory, after all that has been launched. Who has it has ``Copies``."""

    def __init__(self, heap: Heap, pieces: Sequence[Piece]) -> None:
        self._heap, self.pieces = heap, pieces
        self._places: dict[int, int] = {}
        size = 0
        for piece in pieces:
            self._places[piece.address] = size
            size += -(-piece.size // _ALIGNMENT) * _ALIGNMENT
        #: Where the device has it; None: the host does.
        self._device = _reserved(self, heap, size)
        self._host = np.empty(0 if self._device is not None else size, np.uint8)
        self.take()

    @property
    def bytes(self) -> int:
        return sum(each.size for each in self.pieces)

    @property
    def is_on_device(self) -> bool:
        return self._device is not None

    def take(self) -> None:
        """Keep what is there now in place of what was kept."""
        self._begin(changes=False)
        for piece in self.pieces:
            self._copy(piece, back=False)

    def put_back(self, pieces: Iterable[Piece] | None = None) -> None:
        """Let memory be as it was: all of it, or those of the pieces that are asked for."""
        self._begin(changes=True)
        for piece in self.pieces if pieces is None else pieces:
            self._copy(piece, back=True)

    def _begin(self, changes: bool) -> None:
        heap = self._heap
        if self._device is None:
            heap.synchronize()
            return
        heap.launch_deferred()
        heap.memory.finish_launching()
        heap.before_launch()
        # The host waits for copies before it looks at anything.
        heap.note_launch(changes, None if changes else ())

    def _copy(self, piece: Piece, back: bool) -> None:
        place, size = self._places[piece.address], piece.size
        if self._device is not None:
            copies = self._heap.backend.copies
            assert copies is not None
            ends = piece.address, self._device + place
            copies.copy(*(ends if back else ends[::-1]), size)
            return
        self._heap.residency.host_uses(piece.address, piece.address, piece.address + size)
        kept = self._host[place : place + size]
        if back:
            piece.memory[...] = kept
        else:
            kept[...] = piece.memory


def _reserved(saved: Saved, heap: Heap, size: int) -> int | None:
    """Memory of the device, which goes with the copy."""
    copies = heap.backend.copies
    address = None if copies is None or not size else copies.reserve(size)
    if copies is not None and address is not None:
        finalize(saved, copies.release, address, size).atexit = False
    return address


class HeapState:
    """A copy of all memory in the roles that a program stores to; a context manager, in whose block
    it may be put back."""

    def __init__(self, heap: Heap, program: ir.Program) -> None:
        self._copies = Copies(heap)
        self._saved = Saved(heap, memory_in(heap, stored_roles(program)))

    def __enter__(self) -> HeapState:
        return self

    def __exit__(self, *error: object) -> None:
        self._copies.let_go()

    def restore(self) -> None:
        self._saved.put_back()


def memory_in(heap: Heap, roles: frozenset[Role]) -> list[Piece]:
    """All memory of objects and arrays that may be in one of the roles."""
    heap.distinct.give_up()
    placement, found = heap.placement, []
    assert isinstance(placement, ByTypePlacement)
    for cls in placement.classes():
        if any(_may_be_in(cls, role) for role in roles):
            found += [Piece(each.start, each.memory) for each in placement.regions(cls)]
    for storage in heap.memory.all_arrays():
        if any(may_meet(element_role(storage.element), role) for role in roles):
            found.append(Piece(storage.address, np.asarray(storage)))
    return found


def _may_be_in(cls: ClassType, role: Role) -> bool:
    """Whether objects of a class have memory in a role."""
    if not role:
        return True
    if role[0] != "field":
        return False
    return any(each.type_index == role[1] for each in cls.ancestry())
