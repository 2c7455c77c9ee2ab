"""Extents: pieces of slabs, first fit, in units of 256 bytes; neighbours that are free coalesce.

Regions of objects take the lowest place that fits, maybe at a multiple of something
(``class_windows``), arrays and tables the highest, so that the regions of a growing class have a
chance to lie side by side and become one range.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sortedcontainers import SortedDict

from ..errors import HeapError
from .provider import Bytes, Provider, Slab
from .residency import Residency

ALIGNMENT = 256
SLAB_SIZE = 64 << 20
"""Bytes of a slab, unless one request needs more or the capacity leaves less."""


_MOST_OUTSIDE = 4
"""Slabs out of reach before the search for one within ends."""


class Reach(Protocol):
    """How far apart slabs may lie."""

    reach: int

    def admit(self, start: int, end: int) -> bool:
        """Whether a slab may lie there; the first one that is asked for decides."""
        ...


class NoRoom(Exception):
    """``asked`` bytes do not fit; ``free`` are left in all of ``capacity``, maybe in pieces.
    ``reason`` is what the system says, if it was the one that refused."""

    def __init__(self, asked: int, free: int, capacity: int, reason: str = "") -> None:
        super().__init__(asked, free, capacity, reason)
        self.asked, self.free, self.capacity, self.reason = asked, free, capacity, reason


@dataclass(frozen=True, eq=False)
class Extent:
    """``size`` bytes of one slab, a multiple of ALIGNMENT."""

    address: int
    size: int
    memory: Bytes

    @property
    def end(self) -> int:
        return self.address + self.size


class _SlabMemory:
    """Owns a slab: it goes back to its provider when no extent and no NumPy view uses it."""

    def __init__(self, slab: Slab, provider: Provider) -> None:
        self.address, self.end = slab.address, slab.address + slab.size
        # Bytes between these two were never handed out and still hold the provider's zeros.
        self.clean_from, self.clean_to = self.address, self.end
        # At exit the process goes with all its memory; a driver may be gone before.
        weakref.finalize(self, provider.free, slab).atexit = False

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self.end - self.address,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
        }

    def view(self, start: int, end: int) -> Bytes:
        return np.asarray(self)[start - self.address : end - self.address]


class Extents:
    """All memory of one heap: at most ``capacity`` bytes in slabs of ``provider``."""

    def __init__(
        self,
        provider: Provider,
        capacity: int,
        residency: Residency,
        slab_size: int = SLAB_SIZE,
        within: Reach | None = None,
    ) -> None:
        """``within``: where slabs must lie; anywhere if not given."""
        self._provider = provider
        self._residency = residency
        self._slab_size = slab_size
        self._within = within
        self.capacity = capacity
        self.reserved = 0
        self._slabs: SortedDict[int, _SlabMemory] = SortedDict()
        self._free: SortedDict[int, int] = SortedDict()

    @property
    def moves(self) -> bool:
        """Whether host and device fetch memory from each other."""
        return self._residency.moves

    @property
    def free_bytes(self) -> int:
        """Bytes that are free in slabs or can still be reserved."""
        unreserved = max(0, min(self.capacity - self.reserved, self._provider.free_memory()))
        return sum(map(int, self._free.values())) + unreserved

    def allocate(self, size: int, from_top: bool = False, alignment: int = ALIGNMENT) -> Extent:
        """At least ``size`` bytes of zeros, as high as they fit if ``from_top``, else as low, at a
        multiple of ``alignment`` from where a slab begins. Raises NoRoom."""
        size = _rounded(size)
        place = self._find(size, from_top, alignment)
        if place is None:
            self._add_slab(size)
            place = self._find(size, from_top, alignment)
            assert place is not None
        return self._take(*place, size)

    def allocate_after(self, extent: Extent, size: int) -> Extent | None:
        """At least ``size`` bytes of zeros side by side with ``extent``, or None where they do not
        fit."""
        size, place = _rounded(size), extent.end
        if place in self._slabs or self._free.get(place, 0) < size:
            return None
        return self._take(place, place, size)

    def free(self, extent: Extent) -> None:
        self._residency.forget(extent.address, extent.end)
        start, size = extent.address, extent.size
        following = start + size
        if following in self._free and following not in self._slabs:
            size += self._free.pop(following)
        index = self._free.bisect_left(start) - 1
        if index >= 0 and start not in self._slabs:
            before, length = self._free.peekitem(index)
            if before + length == start:
                start, size = before, size + length
        self._free[start] = size

    def join(self, low: Extent, high: Extent) -> Extent | None:
        """Two extents as one, or None if they are not neighbours in one slab."""
        if low.end != high.address or high.address in self._slabs:
            return None
        slab = self._slab_of(low.address)
        return Extent(low.address, low.size + high.size, slab.view(low.address, high.end))

    def reserve_outside(self, size: int) -> None:
        """Count ``size`` bytes that the platform's own allocator hands out. Raises NoRoom."""
        if size > self.capacity - self.reserved:
            self._drop_empty_slabs()
        if size > self.capacity - self.reserved:
            raise NoRoom(size, max(0, self.capacity - self.reserved), self.capacity)
        self.reserved += size

    def release_outside(self, size: int) -> None:
        self.reserved -= size

    def _find(self, size: int, from_top: bool, alignment: int) -> tuple[int, int] | None:
        """A free piece, and where in it."""
        if from_top:
            for start, length in reversed(self._free.items()):
                if length >= size:
                    place = start + length - size
                    place -= (place - self._slab_of(start).address) % alignment
                    if place >= start:
                        return start, place
            return None
        for start, length in self._free.items():
            if length >= size:
                place = start + (self._slab_of(start).address - start) % alignment
                if place + size <= start + length:
                    return start, place
        return None

    def _take(self, start: int, place: int, size: int) -> Extent:
        """``size`` bytes at ``place`` in the free piece that begins at ``start``."""
        end = start + self._free.pop(start)
        if start < place:
            self._free[start] = place - start
        if place + size < end:
            self._free[place + size] = end - place - size
        slab = self._slab_of(place)
        extent = Extent(place, size, slab.view(place, place + size))
        self._clear_used(slab, extent)
        return extent

    def _clear_used(self, slab: _SlabMemory, extent: Extent) -> None:
        """Zero what was handed out before, and move the clean part's ends past this extent."""
        start, end = extent.address, extent.end
        clean_from, clean_to = max(start, slab.clean_from), min(end, slab.clean_to)
        if clean_from >= clean_to:
            self._clear(extent, start, end)
            return
        self._clear(extent, start, clean_from)
        self._clear(extent, clean_to, end)
        # Of what is clean before the extent and behind it, the larger part stays clean.
        if start - slab.clean_from < slab.clean_to - end:
            slab.clean_from = end
        else:
            slab.clean_to = start

    def _clear(self, extent: Extent, start: int, end: int) -> None:
        if start >= end:
            return
        transfer = self._residency.transfer_between(start, end)
        if transfer is not None:
            self._residency.send(start, end)
            transfer.clear(start, end)
        else:
            self._residency.host_uses(extent.address, start, end)
            extent.memory[start - extent.address : end - extent.address] = 0

    def _slab_of(self, address: int) -> _SlabMemory:
        slab: _SlabMemory = self._slabs.peekitem(self._slabs.bisect_right(address) - 1)[1]
        return slab

    def _add_slab(self, size: int) -> None:
        if size > self._room():
            self._drop_empty_slabs()
        room = self._room()
        if size > room:
            raise NoRoom(size, self.free_bytes, self.capacity)
        wanted = max(size, min(self._slab_size, room) // ALIGNMENT * ALIGNMENT)
        try:
            slab = self._provide(wanted)
        except HeapError as error:
            raise NoRoom(size, self.free_bytes, self.capacity, error.message) from error
        self._slabs[slab.address] = _SlabMemory(slab, self._provider)
        self._free[slab.address] = slab.size
        self.reserved += slab.size

    def _provide(self, size: int) -> Slab:
        if self._within is None:
            return self._provider.allocate(size)
        outside: list[Slab] = []
        try:
            while len(outside) < _MOST_OUTSIDE:
                slab = self._provider.allocate(size)
                if self._within.admit(slab.address, slab.address + slab.size):
                    return slab
                outside.append(slab)
        finally:
            for slab in outside:
                self._provider.free(slab)
        raise HeapError(
            f"the system gives memory outside of the {self._within.reach:,} bytes that references "
            "of 32 bits reach",
            "let references have 64 bits: oa.Heap(references='64') or SHAREDOA_REFERENCES=64",
        )

    def _room(self) -> int:
        return min(self.capacity - self.reserved, self._provider.free_memory())

    def _drop_empty_slabs(self) -> None:
        for address, slab in list(self._slabs.items()):
            if self._free.get(address) == slab.end - slab.address:
                del self._slabs[address], self._free[address]
                self.reserved -= slab.end - slab.address


def _rounded(size: int) -> int:
    return max(1, -(-size // ALIGNMENT)) * ALIGNMENT
