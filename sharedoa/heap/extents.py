"""Extents: pieces of slabs, first fit, in units of 256 bytes; neighbours that are free coalesce.

Regions of objects take the lowest place that fits, maybe at a multiple of something
(``class_windows``), arrays and tables the highest, so that the regions of a growing class have a
chance to lie side by side and become one range.

Who calls these holds the lock on the heap's books. What is free is a list of which one slice
changes at a time, after all that may fail.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from sortedcontainers import SortedDict

from dispatch.dataclass import dataclass

from ..errors import HeapError
from .provider import Bytes, Provider, Slab
from .residency import Residency

ALIGNMENT = 256
SLAB_SIZE = 64 << 20
"""Bytes of a slab, unless one request needs more or the capacity leaves less."""


_NEAR = 1 << 20
"""Bytes between two extents that others need not tell from one."""
_MOST_OUTSIDE = 4
"""Slabs out of reach before the search for one within ends."""


class Reach(Protocol):
    """How far apart slabs may lie."""

    base: int
    """What null leads to; 0 until it is set."""
    reach: int

    def bases(self, start: int) -> Iterator[int]:
        """Where the base may lie if the first slab begins at ``start``, best first."""
        ...

    def admit(self, start: int, end: int) -> bool:
        """Whether a slab may lie there."""
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


class SlabMemory:
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
        self._slabs: SortedDict[int, SlabMemory] = SortedDict()
        #: (address, size) of every free piece, by address.
        self._free: list[tuple[int, int]] = []
        #: From where to where memory was given out, for who asks; None: nobody does.
        self.given: list[tuple[int, int]] | None = None

    @property
    def moves(self) -> bool:
        """Whether host and device fetch memory from each other."""
        return self._residency.moves

    @property
    def free_bytes(self) -> int:
        """Bytes that are free in slabs or can still be reserved."""
        unreserved = max(0, min(self.capacity - self.reserved, self._provider.free_memory()))
        return sum(size for _, size in self._free) + unreserved

    def has_room(self, sizes: Iterable[int]) -> bool:
        """Whether so many bytes each fit, all at once; with what lies at multiples of something
        they may not."""
        empty = self._empty_slabs()
        pieces = sorted(size for _, size in {*self._free}.difference(empty))
        left = self._room() + sum(size for _, size in empty)
        for size in sorted(map(rounded, sizes), reverse=True):
            place = bisect_left(pieces, size)
            if place < len(pieces):
                insort(pieces, pieces.pop(place) - size)
            elif size <= left:
                left -= size
            else:
                return False
        return True

    def allocate(
        self, size: int, from_top: bool = False, alignment: int = ALIGNMENT, zeros: bool = True
    ) -> Extent:
        """At least ``size`` bytes, of ``zeros`` or anything, as high as they fit if ``from_top``,
        else as low, at a multiple of ``alignment`` from where a slab begins. Raises NoRoom."""
        size = rounded(size)
        place = self._find(size, from_top, alignment)
        if place is None:
            self._add_slab(size)
            place = self._find(size, from_top, alignment)
            assert place is not None
        return self._take(*place, size, zeros)

    def allocate_after(self, extent: Extent, size: int) -> Extent | None:
        """At least ``size`` bytes of zeros side by side with ``extent``, or None where they do not
        fit."""
        size, place = rounded(size), extent.end
        index = bisect_left(self._free, (place,))
        if place in self._slabs or index == len(self._free) or self._free[index][0] != place:
            return None
        return self._take(index, place, size) if self._free[index][1] >= size else None

    def free(self, extent: Extent) -> None:
        self._residency.forget(extent.address, extent.end)
        free, start, end = self._free, extent.address, extent.end
        first = last = bisect_left(free, (start,))
        if last < len(free) and free[last][0] == end and end not in self._slabs:
            end, last = end + free[last][1], last + 1
        if first > 0 and start not in self._slabs:
            before, size = free[first - 1]
            if before + size == start:
                start, first = before, first - 1
        free[first:last] = [(start, end - start)]

    def join(self, low: Extent, high: Extent) -> Extent | None:
        """Two extents as one, or None if they are not neighbours in one slab."""
        if low.end != high.address or high.address in self._slabs:
            return None
        slab = self._slab_of(low.address)
        return Extent(low.address, low.size + high.size, slab.view(low.address, high.end))

    def span(self) -> tuple[int, int]:
        """From the lowest slab to the end of the highest; (0, 0) without any."""
        slabs = self._slabs.values()
        return (slabs[0].address, slabs[-1].end) if slabs else (0, 0)

    def used(self) -> list[tuple[int, int]]:
        """From where to where extents lie, with little between them that is free."""
        found: list[tuple[int, int]] = []
        for slab in self._slabs.values():
            at, first = slab.address, len(found)
            pieces = self._free[
                bisect_left(self._free, (at,)) : bisect_left(self._free, (slab.end,))
            ]
            for start, size in [*pieces, (slab.end, 0)]:
                if at < start:
                    is_near = len(found) > first and at - found[-1][1] < _NEAR
                    low = found.pop()[0] if is_near else at
                    found.append((low, start))
                at = start + size
        return found

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
        """The index of a free piece, and where in it."""
        free = self._free
        if from_top:
            for index in range(len(free) - 1, -1, -1):
                start, length = free[index]
                if length >= size:
                    place = start + length - size
                    place -= (place - self._slab_of(start).address) % alignment
                    if place >= start:
                        return index, place
            return None
        for index, (start, length) in enumerate(free):
            if length >= size:
                place = start + (self._slab_of(start).address - start) % alignment
                if place + size <= start + length:
                    return index, place
        return None

    def _take(self, index: int, place: int, size: int, zeros: bool = True) -> Extent:
        """``size`` bytes at ``place`` in a free piece."""
        start, length = self._free[index]
        end = start + length
        slab = self._slab_of(place)
        extent = Extent(place, size, slab.view(place, place + size))
        self._clear_used(slab, extent, zeros)
        left = [(start, place - start), (place + size, end - place - size)]
        if self.given is not None:
            self.given.append((extent.address, extent.end))
        self._free[index : index + 1] = [piece for piece in left if piece[1]]
        return extent

    def _clear_used(self, slab: SlabMemory, extent: Extent, zeros: bool) -> None:
        """Zero what was handed out before, if there are to be ``zeros``, and move the clean part's
        ends past this extent."""
        start, end = extent.address, extent.end
        clean_from, clean_to = max(start, slab.clean_from), min(end, slab.clean_to)
        if clean_from >= clean_to:
            clean_from = clean_to = end
        if zeros:
            self._clear(extent, start, clean_from)
            self._clear(extent, clean_to, end)
        if clean_from >= clean_to:
            return
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

    def _slab_of(self, address: int) -> SlabMemory:
        slab: SlabMemory = self._slabs.peekitem(self._slabs.bisect_right(address) - 1)[1]
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
        self._slabs[slab.address] = SlabMemory(slab, self._provider)
        index = bisect_left(self._free, (slab.address,))
        self._free[index:index] = [(slab.address, slab.size)]
        self.reserved += slab.size

    def _provide(self, size: int) -> Slab:
        if self._within is None:
            return self._provider.allocate(size)
        outside: list[Slab] = []
        try:
            while len(outside) < _MOST_OUTSIDE:
                slab = self._provider.allocate(size)
                if self._admits(slab, self._within):
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

    def _admits(self, slab: Slab, within: Reach) -> bool:
        """The first slab decides where the base is, whose neighbourhood is kept free from then on
        for as long as the heap is there."""
        if within.base == 0:
            claimed = claim_base(within, self._provider, slab.address)
            if claimed is not None:
                base, release = claimed
                weakref.finalize(self, release).atexit = False
                within.base = base
            else:
                base = next(within.bases(slab.address), 0)
                if not self.moves or base == 0:
                    return False
                # A driver has all addresses around for itself; it maps those that it gives out.
                within.base = base
        return within.admit(slab.address, slab.address + slab.size)

    def _room(self) -> int:
        return min(self.capacity - self.reserved, self._provider.free_memory())

    def _empty_slabs(self) -> list[tuple[int, int]]:
        """The free pieces that are whole slabs."""
        slabs = self._slabs
        return [(at, size) for at, size in self._free if at in slabs and slabs[at].end == at + size]

    def _drop_empty_slabs(self) -> None:
        for address, size in self._empty_slabs():
            self._free.remove((address, size))
            del self._slabs[address]
            self.reserved -= size


def claim_base(
    within: Reach, provider: Provider, start: int
) -> tuple[int, Callable[[], object]] | None:
    """The best place that null has near memory at ``start``, kept free from now on, and what gives
    it back; None where others have all of them."""
    for base in within.bases(start):
        release = provider.keep_free(base)
        if release is not None:
            return base, release
    return None


def rounded(size: int) -> int:
    """The bytes of an extent for so many."""
    return max(1, -(-size // ALIGNMENT)) * ALIGNMENT
