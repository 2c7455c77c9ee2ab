"""Vtable records in heap memory: one copy a class that the host reads, one that the device reads.

The two lie in blocks apart, so that reading one does not make the other travel with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch.vtable_record import POINTER_OFFSET, record_words

from ..model.classes import ClassType
from .extents import Extent, Extents
from .residency import Residency

_BLOCK_SIZE = 1 << 14
_RECORD_ALIGNMENT = 8


class VtableRecords:
    """Addresses of word 0 of the records, made at their first use."""

    def __init__(self, extents: Extents, residency: Residency) -> None:
        self._residency = residency
        self._host = _Blocks(extents)
        self._device = _Blocks(extents)
        self._addresses: dict[ClassType, tuple[int, int]] = {}

    def addresses(self, cls: ClassType) -> tuple[int, int]:
        """The vtable pointers for the host and for the device. Raises NoRoom."""
        found = self._addresses.get(cls)
        if found is None:
            words = record_words(cls.type_index, cls.entry_base, len(cls.slots))
            on_host, on_device = self._host.store(words), self._device.store(words)
            self._residency.host_uses(on_device, on_device, on_device + words.nbytes)
            found = on_host + POINTER_OFFSET, on_device + POINTER_OFFSET
            self._addresses[cls] = found
        return found


class _Blocks:
    """Extents that are filled from front to back and never freed."""

    def __init__(self, extents: Extents) -> None:
        self._extents = extents
        self._block: Extent | None = None
        self._filled = 0

    def store(self, words: np.ndarray[Any, Any]) -> int:
        """Copy ``words``; the result is their address."""
        size = -(-words.nbytes // _RECORD_ALIGNMENT) * _RECORD_ALIGNMENT
        if self._block is None or self._filled + size > self._block.size:
            self._block = self._extents.allocate(max(_BLOCK_SIZE, size), from_top=True)
            self._filled = 0
        place = self._filled
        self._block.memory[place : place + words.nbytes] = words.view(np.uint8)
        self._filled += size
        return self._block.address + place
