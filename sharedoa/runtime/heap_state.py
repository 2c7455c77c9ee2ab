"""What a launch may change, as it was: to launch again.

Copies of memory that a device uses are the device's own as long as it has room
(``heap.device_copies``), else the host's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import finalize

import numpy as np

from dispatch.dataclass import dataclass

from .. import ir
from ..backends.base import MemoryCopy
from ..heap.array_memory import ArrayStorage
from ..heap.distinct_fields import Field
from ..heap.heap import Heap
from ..heap.region_selection import RegionSelection
from ..heap.regions import Region
from ..ir.roles import Role, element_role, may_meet, stored_roles
from ..model.classes import ClassType
from ..model.types import ReferenceType, Type
from . import planned_clusters
from .tape_words import TapeWords

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


@dataclass(eq=False)
class Piece:
    """Memory of objects of a region, or of an array, which it keeps. ``references``: the array that
    it is, if its elements are references."""

    address: int
    size: int
    #: What it is memory of.
    owner: Region | ArrayStorage
    #: That of a region; an array's is made where the host looks at it.
    part: np.ndarray[Any, np.dtype[np.uint8]] | None = None
    references: ArrayStorage | None = None

    @property
    def memory(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return np.asarray(self.owner) if self.part is None else self.part


class CopyPlan:
    """Where pieces of memory lie in a copy of them."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        #: By address, where in the copy pieces begin; and its bytes.
        self.places, self.size = places_of(pieces)
        self.references = [
            (each, each.references) for each in pieces if each.references is not None
        ]


class Saved:
    """A copy of pieces of memory, after all that has been launched. Who has it has ``Copies``."""

    def __init__(
        self,
        heap: Heap,
        pieces: Sequence[Piece] | CopyPlan,
        words: TapeWords | None = None,
        room: tuple[ArrayStorage, int] | None = None,
        made_with: Mapping[Field, object] | None = None,
    ) -> None:
        """``words``: where the device may keep it; ``room``: memory of the device, and the address
        in it from which on it is for just this; ``made_with``: the changes of watched fields when
        the device made the copy, as ``copies`` says, of the references that there are still; None:
        it is made now."""
        self._heap = heap
        self._plan = plan = pieces if isinstance(pieces, CopyPlan) else CopyPlan(pieces)
        if room is None:
            made = (words or TapeWords(heap)).of_device(plan.size)
            if made is not None:
                assert made._storage is not None
                room = made._storage, made._address
        #: Keeps its memory.
        self._room = None if room is None else room[0]
        #: Where the device has it; None: the host does.
        self._device = None if room is None else room[1]
        if room is None:
            self._host = np.empty(plan.size, np.uint8)
        #: Of references and of watched fields, when they were copied.
        self._versions: dict[int, tuple[int, int]] = {}
        self._changes: Mapping[Field, object] = made_with or {}
        if made_with is None:
            self.take()
        else:
            self._note_references()

    @property
    def pieces(self) -> Sequence[Piece]:
        return self._plan.pieces

    @property
    def bytes(self) -> int:
        return sum(each.size for each in self.pieces)

    @property
    def size(self) -> int:
        """Bytes of the memory that has it."""
        return self._plan.size

    @property
    def has_references(self) -> bool:
        """Whether arrays of references are among the pieces."""
        return bool(self._plan.references)

    def copies(self) -> list[MemoryCopy]:
        """What a device does to keep what is there then."""
        device, places = self._device, self._plan.places
        assert device is not None
        ends = [(device + places[each.address], each) for each in self.pieces]
        return [MemoryCopy(kept, each.address, each.size) for kept, each in ends]

    def copies_back(self) -> list[MemoryCopy]:
        """What a device does to put it back, where ``is_known_now``."""
        assert self._device is not None
        return memory_copies(self.pieces, self._device, back=True)

    @property
    def is_known_now(self) -> bool:
        """Whether nothing has to be noted when it is put back: neither references that it has nor
        watched fields have changed since."""
        heap = self._heap
        if self._changes != heap.distinct.changes:
            return False
        return all(self._is_unchanged(*each) for each in self._plan.references)

    def _is_unchanged(self, piece: Piece, references: ArrayStorage) -> bool:
        version = references.version, self._heap.reference_writes
        return version == self._versions[piece.address]

    @property
    def is_on_device(self) -> bool:
        return self._device is not None

    def take(self) -> None:
        """Keep what is there now in place of what was kept."""
        heap = self._heap
        self._begin()
        self._changes = {**heap.distinct.changes}
        self._note_references()
        self._copy(self.pieces, back=False)

    def _note_references(self) -> None:
        """It has those that there are now."""
        for piece, references in self._plan.references:
            self._versions[piece.address] = references.version, self._heap.reference_writes

    def put_back(self, pieces: Iterable[Piece] | None = None) -> None:
        """Let memory be as it was: all of it, or those of the pieces that are asked for."""
        heap, changed = self._heap, []
        self._begin()
        heap.distinct.put_back(self._changes)
        for piece in self.pieces if pieces is None else pieces:
            if piece.references is not None:
                if self._is_unchanged(piece, piece.references):
                    continue  # what is known of them stays so
                heap.note_reference_writes()
                piece.references.version += 1
            changed.append(piece)
        self._copy(changed, back=True)

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

    def _copy(self, pieces: Sequence[Piece], back: bool) -> None:
        places, device = self._plan.places, self._device
        if device is not None:
            copies = self._heap.backend.copies
            assert copies is not None
            for piece in pieces:
                address, kept = piece.address, device + places[piece.address]
                ends = (address, kept) if back else (kept, address)
                copies.copy(*ends, piece.size)
            return
        for piece in pieces:
            address, size = piece.address, piece.size
            self._heap.residency.host_uses(address, address, address + size)
            memory = self._host[places[address] : places[address] + size]
            if back:
                piece.memory[...] = memory
            else:
                memory[...] = piece.memory


def places_of(pieces: Sequence[Piece]) -> tuple[dict[int, int], int]:
    """By address, where in a copy of pieces they begin, and its bytes."""
    places, size = {}, 0
    for piece in pieces:
        places[piece.address] = size
        size += -(-piece.size // _ALIGNMENT) * _ALIGNMENT
    return places, size


def memory_copies(pieces: Sequence[Piece], address: int, back: bool) -> list[MemoryCopy]:
    """What a device does to copy pieces, but for references, to memory from ``address`` on, or
    ``back``."""
    places, _ = places_of(pieces)
    ends = [(each, address + places[each.address]) for each in pieces if each.references is None]
    if back:
        return [MemoryCopy(each.address, kept, each.size) for each, kept in ends]
    return [MemoryCopy(kept, each.address, each.size) for each, kept in ends]


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
    return [piece for piece, _ in memory_by_role(heap, roles)]


def memory_by_role(heap: Heap, roles: Collection[Role]) -> Iterator[tuple[Piece, frozenset[Role]]]:
    """All memory of objects and arrays that may be in some of the roles, and in which."""
    placement = heap.placement
    for cls in placement.classes():
        found = frozenset([role for role in roles if _may_be_in(cls, role)])
        if not found:
            continue
        selection = placement.objects([cls])
        assert isinstance(selection, RegionSelection)
        for part in selection.parts:
            start, end = part.region.span(*part.extremes())
            inside = slice(start - part.region.start, end - part.region.start)
            yield Piece(start, end - start, part.region, part.region.memory[inside]), found
    elements = elements_in(heap, roles)
    if elements:
        for storage in heap.memory.arrays.all(elements):
            element = element_role(storage.element)
            found = frozenset([role for role in roles if may_meet(element, role)])
            yield array_piece(storage), found


def arrays_made(heap: Heap, roles: Collection[Role]) -> int:
    """How many arrays there have been that may be in one of the roles: as long as that is the same,
    so is ``memory_in``, unless objects are made or deleted."""
    made = heap.memory.arrays.made
    return sum(made[type] for type in elements_in(heap, roles))


def elements_in(heap: Heap, roles: Collection[Role]) -> list[Type]:
    """Of which types elements of arrays are that may be in one of the roles."""
    roles = [role for role in roles if role[:1] != ("field",)]
    if not roles:
        return []
    made = heap.memory.arrays.made
    return [type for type in made if any(may_meet(element_role(type), role) for role in roles)]


def array_piece(storage: ArrayStorage) -> Piece:
    """All of an array."""
    is_of_references = isinstance(storage.element, ReferenceType)
    references = storage if is_of_references else None
    return Piece(storage.address, storage.size, storage, references=references)


def _may_be_in(cls: ClassType, role: Role) -> bool:
    """Whether objects of a class have memory in a role."""
    if not role:
        return True
    if role[0] != "field":
        return False
    return any(each.type_index == role[1] for each in cls.ancestry())
