"""What a launch may change, as it was: to launch again.

Copies of memory that a device uses are the device's own as long as it has room
(``heap.device_copies``), else the host's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import finalize

import numpy as np

from .. import ir
from ..heap.array_memory import ArrayStorage
from ..heap.distinct_fields import Field
from ..heap.heap import Heap
from ..heap.region_selection import RegionSelection
from ..ir.roles import Role, element_role, may_meet, stored_roles
from ..model.classes import ClassType
from ..model.types import ReferenceType, Type
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
    """Memory of objects of a region, or of an array; ``memory`` keeps it. ``references``: the array
    that it is, if its elements are references."""

    address: int
    memory: np.ndarray[Any, np.dtype[np.uint8]]
    references: ArrayStorage | None = None

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
        #: Of references and of watched fields, when they were copied.
        self._versions: dict[int, tuple[int, int]] = {}
        self._changes: Mapping[Field, object] = {}
        self.take()

    @property
    def bytes(self) -> int:
        return sum(each.size for each in self.pieces)

    @property
    def is_on_device(self) -> bool:
        return self._device is not None

    def take(self) -> None:
        """Keep what is there now in place of what was kept."""
        heap = self._heap
        self._begin()
        self._changes = {**heap.distinct.changes}
        for piece in self.pieces:
            if piece.references is not None:
                self._versions[piece.address] = piece.references.version, heap.reference_writes
            self._copy(piece, back=False)

    def put_back(self, pieces: Iterable[Piece] | None = None) -> None:
        """Let memory be as it was: all of it, or those of the pieces that are asked for."""
        heap = self._heap
        self._begin()
        heap.distinct.put_back(self._changes)
        for piece in self.pieces if pieces is None else pieces:
            if piece.references is not None:
                version = piece.references.version, heap.reference_writes
                if version == self._versions[piece.address]:
                    continue  # what is known of them stays so
                heap.note_reference_writes()
                piece.references.version += 1
            self._copy(piece, back=True)

    def _begin(self) -> None:
        heap = self._heap
        if self._device is None:
            heap.synchronize()
            return
        heap.launch_deferred()
        heap.memory.finish_launching()
        heap.before_launch()
        # The host waits for copies before it looks at anything.
        heap.note_launch(False, ())

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
    placement, found = heap.placement, []
    for cls in placement.classes():
        if any(_may_be_in(cls, role) for role in roles):
            selection = placement.objects([cls])
            assert isinstance(selection, RegionSelection)
            for part in selection.parts:
                start, end = part.region.span(*part.extremes())
                inside = slice(start - part.region.start, end - part.region.start)
                found.append(Piece(start, part.region.memory[inside]))
    elements = _elements_in(heap, roles)
    if elements:
        found += map(array_piece, heap.memory.all_arrays(elements))
    return found


def arrays_made(heap: Heap, roles: Collection[Role]) -> int:
    """How many arrays there have been that may be in one of the roles: as long as that is the same,
    so is ``memory_in``, unless objects are made or deleted."""
    made = heap.memory.arrays_made
    return sum(made[type] for type in _elements_in(heap, roles))


def _elements_in(heap: Heap, roles: Collection[Role]) -> list[Type]:
    """Of which types elements of arrays are that may be in one of the roles."""
    roles = [role for role in roles if role[:1] != ("field",)]
    if not roles:
        return []
    made = heap.memory.arrays_made
    return [type for type in made if any(may_meet(element_role(type), role) for role in roles)]


def array_piece(storage: ArrayStorage) -> Piece:
    """All of an array."""
    is_of_references = isinstance(storage.element, ReferenceType)
    return Piece(storage.address, np.asarray(storage), storage if is_of_references else None)


def _may_be_in(cls: ClassType, role: Role) -> bool:
    """Whether objects of a class have memory in a role."""
    if not role:
        return True
    if role[0] != "field":
        return False
    return any(each.type_index == role[1] for each in cls.ancestry())
