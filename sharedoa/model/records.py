"""Records one after another (AoS)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .arrangement import Addresses, Memory, Slots, SlotValues
from .field_address import RECORDS, Addressing
from .record import Component, Record, row_strides

_WIDEST_PART = 8


class Records:
    """An array of structures (``model.arrangement.Arrangement``). What it gives of all slots are
    NumPy views, without a copy."""

    is_tiled = False
    lanes = 1

    def __init__(self, record: Record) -> None:
        self.record = record
        self.block_bytes = record.size

    def addresses(self, start: int, slots: Slots) -> Addresses:
        size = self.record.size
        if isinstance(slots, slice):
            stop = -1 if slots.stop is None else slots.stop
            low, high = start + slots.start * size, start + stop * size
            return np.arange(low, high, slots.step * size).view(np.uint64)
        addresses = slots.astype(np.uint64)
        addresses *= np.uint64(size)
        addresses += np.uint64(start)
        return addresses

    def slot(self, offset: int) -> int | None:
        slot, rest = divmod(offset, self.record.size)
        return None if rest else slot

    def slots(self, offsets: Addresses) -> tuple[Any, Any]:
        slots, rest = np.divmod(offsets, np.uint64(self.record.size))
        return slots.astype(np.int64), rest != 0

    def span(self, first: int, last: int) -> tuple[int, int]:
        return first * self.record.size, (last + 1) * self.record.size

    def addressing(self, offset: int) -> Addressing:
        return RECORDS

    def field(
        self, memory: Memory, name: str, components: tuple[Component, ...] = ()
    ) -> SlotValues:
        return self._strided(memory, *self.record.part(name, components))

    def header(self, memory: Memory, size: int) -> SlotValues:
        return self._strided(memory, 0, np.dtype(f"V{size}"))

    def records(self, memory: Memory) -> SlotValues:
        return self.header(memory, self.record.size)

    def parts(self) -> Iterator[tuple[int, int, int]]:
        size = math.gcd(self.record.size, _WIDEST_PART)
        for first in range(0, self.record.size, size):
            yield size, first, 0

    def _strided(self, memory: Memory, offset: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        steps = row_strides(dtype)
        return RECORDS.view(memory, self.record.size, dtype.base, offset, dtype.shape, steps)
