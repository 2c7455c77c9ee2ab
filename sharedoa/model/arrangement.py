"""How the objects of one class lie in a region, as the host sees it.

A region is memory for *slots*, numbered by address, each with room for one object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from .field_address import Addressing
from .record import Component, Record

#: Slots of one region: a slice where they have a constant distance, else an array of numbers.
Slots = slice | np.ndarray[Any, np.dtype[np.int64]]
Addresses = np.ndarray[Any, np.dtype[np.uint64]]
Memory = np.ndarray[Any, np.dtype[np.uint8]]


class SlotValues(Protocol):
    """Something that every slot of a region has, read and written by slots: one number, a slice, an
    array of numbers, or (number, element of an inline array)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(slots,), or (slots, N) for an inline array."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __getitem__(self, slots: Any) -> Any: ...

    def __setitem__(self, slots: Any, values: Any) -> None: ...


class Arrangement(Protocol):
    """Where the slots of a region and their fields lie; a region is whole *blocks* of
    slots (``model.field_address``)."""

    record: Record
    is_tiled: bool
    """Whether fields of neighbours lie side by side, so that fields of many are read as copies."""
    lanes: int
    """Slots of a block."""
    block_bytes: int

    def addresses(self, start: int, slots: Slots) -> Addresses:
        """The addresses of slots in a region that begins at ``start``."""
        ...

    def slot(self, offset: int) -> int | None:
        """The slot whose object's address is ``offset`` bytes after the region's start; None if
        there is none, whatever the region's capacity."""
        ...

    def slots(self, offsets: Addresses) -> tuple[Any, Any]:
        """The same for many: numbers, and whether there is none, each of the shape of
        ``offsets``."""
        ...

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Bytes from the region's start between which the slots from first to last lie, and
        maybe others."""
        ...

    def addressing(self, offset: int) -> Addressing:
        """How the scalar at byte ``offset`` of the record lies in each block."""
        ...

    def field(
        self, memory: Memory, name: str, components: tuple[Component, ...] = ()
    ) -> SlotValues:
        """The field of every slot of a region, or what ``components`` lead to in it."""
        ...

    def header(self, memory: Memory, size: int) -> SlotValues:
        """The first ``size`` bytes of every slot's record, as one item."""
        ...

    def records(self, memory: Memory) -> SlotValues:
        """All that every slot holds, as one item."""
        ...

    def parts(self) -> Iterator[tuple[int, int, int]]:
        """What together is all that every slot holds: of each its bytes, a power of two that
        divides where it lies, where in a block it is in lane 0, and how many bytes the lanes are
        apart."""
        ...


def slot_numbers(slots: Slots) -> np.ndarray[Any, np.dtype[np.int64]]:
    if isinstance(slots, slice):
        return np.arange(slots.start, -1 if slots.stop is None else slots.stop, slots.step)
    return slots
