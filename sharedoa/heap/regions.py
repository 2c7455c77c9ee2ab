"""A region: slots for objects of one class, side by side ("Judging a Type by Its Pointer", 4).

Slots are taken from the free list first, then from the part that was never used. One byte a slot
says whether an object lives there; kernels in debug mode read these too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.classes import ClassType
from ..model.layout import Layout
from .extents import Extent
from .placement import FieldPath, Values

#: Slots of one region: a slice where they have a constant distance, else an array of numbers.
Slots = slice | np.ndarray[Any, np.dtype[np.int64]]

POISON = 0xDD
_NO_SLOTS = np.zeros(0, np.int64)


class FreeList:
    """A stack of slot numbers; whole arrays go in and out at once."""

    def __init__(self) -> None:
        self._slots = _NO_SLOTS
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, slots: np.ndarray[Any, Any]) -> None:
        needed = self._count + len(slots)
        if needed > len(self._slots):
            grown = np.empty(max(needed, 2 * len(self._slots)), np.int64)
            grown[: self._count] = self._slots[: self._count]
            self._slots = grown
        self._slots[self._count : needed] = slots
        self._count = needed

    def pop(self, count: int) -> np.ndarray[Any, Any]:
        self._count -= count
        return self._slots[self._count : self._count + count].copy()

    def all(self) -> np.ndarray[Any, Any]:
        return self._slots[: self._count]


class Region:
    """``capacity`` slots of ``stride`` bytes in ``extent``; ``live`` is one byte a slot."""

    def __init__(
        self, cls: ClassType, layout: Layout, capacity: int, extent: Extent, live_extent: Extent
    ) -> None:
        self.cls = cls
        self.layout = layout
        self.stride = layout.record(cls).size
        self.capacity = capacity
        self.extent = extent
        self.live_extent = live_extent
        self.start = extent.address
        self.end = extent.address + capacity * self.stride
        self.memory = extent.memory[: capacity * self.stride]
        self.live = live_extent.memory[:capacity]
        self.unused_from = 0
        self.free_list = FreeList()
        self.used = 0
        self._fields: dict[FieldPath, Values] = {}

    @property
    def room(self) -> int:
        return self.capacity - self.used

    def field(self, path: FieldPath) -> Values:
        """The field of every slot, live or not: a view of the region's memory."""
        found = self._fields.get(path)
        if found is None:
            found = self.layout.field_view(self.memory, self.cls, path.name)
            for component in path.components:
                found = found[component]
            self._fields[path] = found
        return found

    def take(self, count: int) -> list[Slots]:
        """Make ``count`` objects, zero, whose headers are still to be set; at most ``room``."""
        taken: list[Slots] = []
        reused = min(count, len(self.free_list))
        if reused:
            slots = as_slots(self.free_list.pop(reused))
            self._records()[slots] = np.zeros((), f"V{self.stride}")
            taken.append(slots)
        fresh = count - reused
        if fresh:
            taken.append(slice(self.unused_from, self.unused_from + fresh, 1))
            self.unused_from += fresh
        for slots in taken:
            self.live[slots] = 1
        self.used += count
        return taken

    def set_header(self, slots: Slots, header: bytes) -> None:
        if header:
            self._records(len(header))[slots] = np.frombuffer(header, f"V{len(header)}")[0]

    def give_back(self, slots: Slots, poison: bool) -> None:
        """Put the slots of objects that are marked as not live on the free list."""
        numbers = slot_numbers(slots)
        if poison:
            dead = np.full(self.stride, POISON, np.uint8).view(f"V{self.stride}")[0]
            self._records()[slots] = dead
        self.free_list.push(numbers)
        self.used -= len(numbers)

    def live_slots(self) -> Slots:
        if self.used == self.unused_from:
            return slice(0, self.used, 1)
        return as_slots(np.flatnonzero(self.live[: self.unused_from]))

    def addresses(self, slots: Slots) -> np.ndarray[Any, np.dtype[np.uint64]]:
        if isinstance(slots, slice):
            first, stop, step = slots.indices(self.capacity)
            low, high = self.start + first * self.stride, self.start + stop * self.stride
            return np.arange(low, high, step * self.stride).view(np.uint64)
        addresses = slots.astype(np.uint64)
        addresses *= np.uint64(self.stride)
        addresses += np.uint64(self.start)
        return addresses

    def absorb(self, low: Region, high: Region) -> None:
        """Take over the objects of two regions whose memory this one covers."""
        offset = (high.start - self.start) // self.stride
        self.live[: low.capacity] = low.live
        self.live[offset : offset + high.capacity] = high.live
        self.used = low.used + high.used
        self.unused_from = offset + high.unused_from
        self.free_list.push(low.free_list.all())
        self.free_list.push(np.arange(low.unused_from, offset))
        self.free_list.push(high.free_list.all() + offset)

    def _records(self, size: int | None = None) -> np.ndarray[Any, Any]:
        """The first ``size`` bytes of every slot as one opaque item."""
        item = np.dtype(f"V{size or self.stride}")
        return np.ndarray((self.capacity,), item, self.memory.data, 0, (self.stride,))


def slot_numbers(slots: Slots) -> np.ndarray[Any, np.dtype[np.int64]]:
    if isinstance(slots, slice):
        return np.arange(slots.start, -1 if slots.stop is None else slots.stop, slots.step)
    return slots


def has_repeated(slots: Slots) -> bool:
    if isinstance(slots, slice):
        return False
    ordered = np.sort(slots)
    return bool((ordered[1:] == ordered[:-1]).any())


def as_slots(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> Slots:
    """A slice if the numbers follow one another."""
    count = len(numbers)
    if count and numbers[-1] - numbers[0] == count - 1 and np.all(np.diff(numbers) == 1):
        return slice(int(numbers[0]), int(numbers[0]) + count, 1)
    return numbers
