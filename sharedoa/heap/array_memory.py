"""Memory of arrays: freed when nothing refers to it any more, in Python or in an object's field.

A Python array holds its storage, and so does every NumPy view of it. When the last one goes, the
storage becomes a candidate; it is freed when no launch is under way that may still use it and no
field of type ``oa.Array`` of a live object holds its address.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter, deque
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
from sortedcontainers import SortedDict

from dispatch.dataclass import dataclass

from ..forks import take_for_forks
from ..model.classes import ClassType
from ..model.scalars import ScalarType
from ..model.types import Type
from .extents import Extent, Extents

FAULT_BLOCK = 64 << 10
"""Bytes around a page that a fault of the host may bring along."""
_LARGE, _ROOM = 4 * FAULT_BLOCK, 1 << 30
"""An array of at least so many bytes shares no block with others, in a heap of at least so many."""
_AT_HAND = 4
"""Arrays that were dropped last, among which memory is looked for."""
Addresses = np.ndarray[Any, np.dtype[np.uint64]]


class ArrayStorage:
    """The memory of one array, which slices of it share."""

    is_foreign = False

    def __init__(
        self,
        address: int,
        size: int,
        element: Type,
        held_as: set[ClassType] | None = None,
        extent: Extent | None = None,
    ) -> None:
        """``extent``: what it is memory of, if it is the heap's own, and is kept with it."""
        self.address = address
        self.size = size
        self.element = element
        self.version = 0
        """Raised when the host writes to it."""
        self.without_null: tuple[Any, int, int] | None = None
        """What ``ObjectArray._contents`` was when the references between two addresses were looked
        at and none was null."""
        self.held_as: set[ClassType] = set() if held_as is None else held_as
        """Of arrays of objects: as arrays of what objects hold it (``held_arrays``)."""
        self.known: tuple[int, int] | None = None
        """Of references: after how many deletions, and launches that may store references, all of
        them referred to live objects or were null; None where nobody knows."""
        self.lived = 0
        """Of references: after how many deletions it was seen that none is to a deleted object."""
        self._extent = extent
        self.reference: _StorageReference | None = None
        """To this, where somebody watches it."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        # NumPy keeps the object that gave the interface alive as long as the view.
        return {
            "shape": (self.size,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
        }

    def bytes_of_device(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """A view that is not for the host."""
        if self.reference is not None:
            self.reference.is_exported = True
        return np.asarray(self)


def elements_in(memory: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Bytes as elements that lie in memory as ``dtype``."""
    if dtype.subdtype is None:
        return memory.view(dtype)
    return memory.view(dtype.base).reshape(-1, *dtype.shape)


class _StorageReference(weakref.ref[ArrayStorage]):
    """Knows which storage it was a reference to."""

    __slots__ = ("address", "is_exported")
    address: int
    is_exported: bool
    """Others may use the memory in streams of their own."""


@dataclass(eq=False)
class _Block:
    extent: Extent
    size: int
    element: Type
    held_as: set[ClassType]
    storage: _StorageReference

    @property
    def is_for_others(self) -> bool:
        """Whether another array may have the memory as it is, once nothing holds this one."""
        return isinstance(self.element, ScalarType) and not self.storage.is_exported


class ArrayMemory:
    """All arrays of one heap."""

    def __init__(self, extents: Extents) -> None:
        self._extents = extents
        #: Held while the books below change or are looked at: fields that hold arrays are read
        #: without the lock on the heap's.
        self._lock = take_for_forks(threading.RLock())
        self._blocks: SortedDict[int, _Block] = SortedDict()
        self._dropped: deque[_StorageReference] = deque()
        self._unheld: dict[int, _Block] = {}
        #: Those of them that stay for later arrays.
        self._left: set[int] = set()
        #: How many there have been, by type of elements.
        self.made: Counter[Type] = Counter()

    def new(self, size: int, element: Type, zeros: bool = True) -> ArrayStorage:
        """``size`` bytes of ``zeros`` or anything. Raises NoRoom."""
        self.made[element] += 1
        extent = self._allocate(size, zeros)
        held_as: set[ClassType] = set()
        try:
            storage = ArrayStorage(extent.address, size, element, held_as, extent)
            block = _Block(extent, size, element, held_as, self._watch(storage))
            with self._lock:
                self._blocks[extent.address] = block
        except BaseException:
            self._extents.free(extent)
            raise
        return storage

    def _allocate(self, size: int, zeros: bool) -> Extent:
        extents = self._extents
        if not extents.moves or size < _LARGE or extents.capacity < _ROOM:
            return extents.allocate(size, from_top=True, zeros=zeros)
        # A number that the host reads would take parts of the array along, page by page.
        whole = -(-size // FAULT_BLOCK) * FAULT_BLOCK
        return extents.allocate(whole, from_top=True, alignment=FAULT_BLOCK, zeros=zeros)

    def at(self, address: int) -> ArrayStorage | None:
        """The storage that ``address`` lies in, also if only fields still refer to it."""
        with self._lock:
            index = self._blocks.bisect_right(address) - 1
            if index < 0:
                return None
            block: _Block = self._blocks.peekitem(index)[1]
            if address >= block.extent.address + block.size:
                return None
            return self._storage(block)

    def all_at(self, addresses: Addresses) -> list[ArrayStorage]:
        """The storages that any of ``addresses`` lies in, by address."""
        with self._lock:
            blocks = list(self._blocks.values())
            held = _pointed_into(blocks, addresses)
            return [
                self._storage(block) for block, is_held in zip(blocks, held, strict=True) if is_held
            ]

    def all(self, elements: Collection[Type] | None = None) -> list[ArrayStorage]:
        """Every storage, or those with such elements, by address."""
        with self._lock:
            blocks = list(self._blocks.values())
            return [self._storage(b) for b in blocks if elements is None or b.element in elements]

    def ranges(self) -> list[tuple[int, int]]:
        """(start, end) of every array, by address."""
        with self._lock:
            return [(address, address + block.size) for address, block in self._blocks.items()]

    def _storage(self, block: _Block) -> ArrayStorage:
        storage = block.storage()
        if storage is None:
            storage, block.storage = self._storage_anew(block)
        return storage

    def _storage_anew(self, block: _Block) -> tuple[ArrayStorage, _StorageReference]:
        extent = block.extent
        storage = ArrayStorage(extent.address, block.size, block.element, block.held_as, extent)
        reference = self._watch(storage)
        reference.is_exported = block.storage.is_exported
        return storage, reference

    def _watch(self, storage: ArrayStorage) -> _StorageReference:
        # It may go in the middle of anything, so that only makes a note; and it calls no code that
        # was written in Python, which a signal could keep from running.
        reference = _StorageReference(storage, self._dropped.append)
        reference.address = storage.address
        reference.is_exported = False
        storage.reference = reference
        return reference

    @property
    def has_unheld(self) -> bool:
        """Whether ``unheld`` might find some."""
        return bool(self._dropped or self._unheld)

    @property
    def has_new_unheld(self) -> bool:
        """Whether it might find some that have not been left."""
        return bool(self._dropped) or len(self._unheld) > len(self._left)

    def leave(self) -> bool:
        """Leave what ``unheld`` finds to later arrays, so that no memory is taken for these; False
        where it is more than ``again`` looks among, or not for that."""
        with self._lock:
            blocks = self._unheld.values()
            if len(blocks) > _AT_HAND or not all(block.is_for_others for block in blocks):
                return False
            self._left = set(self._unheld)
            return True

    def again(self, size: int, element: ScalarType) -> ArrayStorage | None:
        """Memory with what is in it of an array that no Python object holds any more, and of which
        no field may hold a piece; None where none of the last ones dropped is of this size and was
        never given to others. For what is launched now: launches that use it may be under way."""
        with self._lock:
            self._note_dropped()
            try:
                last = [*islice(reversed(self._unheld), _AT_HAND)]
            except RuntimeError:
                return None  # a signal's handler came here meanwhile, and has changed them
            for address in last:
                block = self._unheld.get(address)
                if block is None or block.size != size or block.element is not element:
                    continue
                if block.storage() is None and block.is_for_others:
                    # First: who is interrupted lets go of it again.
                    storage, reference = self._storage_anew(block)
                    # That handler may come here, too: one of both takes it.
                    if self._unheld.pop(address, None) is block:
                        block.storage = reference
                        self._left.discard(address)
                        self.made[element] += 1
                        return storage
        return None

    def _note_dropped(self) -> None:
        for reference in [*self._dropped]:
            address = reference.address
            self._left.discard(address)  # somebody had it since
            block = self._blocks.get(address)
            if block is not None:
                self._unheld[address] = block
            # Last: who is interrupted does it again. A signal's handler may have done it meanwhile.
            with suppress(ValueError):
                self._dropped.remove(reference)

    @property
    def has_left(self) -> bool:
        return bool(self._left)

    def free_left(self) -> list[Extent]:
        """Free those that were left, of which no launch has known since; the result is what was
        freed."""
        with self._lock:
            self._note_dropped()
            return self.collect(self._left, np.empty(0, np.uint64))

    def _forget(self, address: int) -> None:
        """Nobody waits any more for what happens to it."""
        self._left.discard(address)
        del self._unheld[address]

    def unheld(self) -> dict[int, int]:
        """The arrays that no Python object holds any more: bytes by address."""
        with self._lock:
            self._note_dropped()
            return {address: block.size for address, block in self._unheld.items()}

    @property
    def bytes_dropped(self) -> int:
        """Of those that have not been left."""
        unheld = self.unheld()
        return sum(size for address, size in unheld.items() if address not in self._left)

    def collect(self, unheld: Iterable[int], in_fields: Addresses) -> list[Extent]:
        """Free those of ``unheld`` that nothing in Python holds now and none of ``in_fields``
        points into; the result is what was freed. No launch may be under way."""
        with self._lock:
            # Of them: others may have been used again since somebody looked.
            blocks = [self._unheld[address] for address in sorted(self._unheld.keys() & unheld)]
            held = _pointed_into(blocks, in_fields)
            freed = []
            for block, is_held in zip(blocks, held, strict=True):
                if block.storage() is not None:  # read from a field since it was dropped
                    self._forget(block.extent.address)
                elif not is_held:
                    self._forget(block.extent.address)
                    del self._blocks[block.extent.address]
                    self._extents.free(block.extent)
                    freed.append(block.extent)
            return freed

    @property
    def bytes_used(self) -> int:
        """Without those that were left."""
        with self._lock:
            left = (self._blocks[address] for address in self._left)
            free: int = sum(block.extent.size for block in left if block.storage() is None)
            size: int = sum(block.extent.size for block in self._blocks.values())
            return size - free


def _pointed_into(blocks: list[_Block], addresses: Addresses) -> np.ndarray[Any, Any]:
    """For each of the sorted, disjoint blocks, whether an address lies in it."""
    held = np.zeros(len(blocks), np.bool_)
    if not blocks:
        return held
    starts = np.array([block.extent.address for block in blocks], np.uint64)
    ends = starts + np.array([block.size for block in blocks], np.uint64)
    index = np.searchsorted(starts, addresses, side="right") - 1
    inside = (index >= 0) & (addresses < ends[index])
    held[index[inside]] = True
    return held
