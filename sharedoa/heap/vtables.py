"""Vtable records in heap memory.

Only kernels read them: code on the host knows the class of a proxy. So one copy stays on the
device's side.
"""

from __future__ import annotations

import numpy as np

from dispatch.vtable_record import POINTER_OFFSET, record_words

from ..model.classes import ClassType
from .extents import Extent, Extents
from .residency import Residency

_BLOCK_SIZE = 1 << 14
_RECORD_ALIGNMENT = 8


class VtableRecords:
    """Addresses of word 0 of the records, made at their first use, in blocks that are filled from
    front to back and never freed."""

    def __init__(self, extents: Extents, residency: Residency) -> None:
        self._extents = extents
        self._residency = residency
        self._block: Extent | None = None
        self._filled = 0
        self._addresses: dict[ClassType, int] = {}

    def address(self, cls: ClassType) -> int:
        """The vtable pointer of ``cls``. Raises NoRoom."""
        found = self._addresses.get(cls)
        if found is None:
            found = self._addresses[cls] = self._make(cls) + POINTER_OFFSET
        return found

    def _make(self, cls: ClassType) -> int:
        words = record_words(cls.type_index, cls.entry_base, len(cls.slots))
        size = -(-words.nbytes // _RECORD_ALIGNMENT) * _RECORD_ALIGNMENT
        if self._block is None or self._filled + size > self._block.size:
            self._block = self._extents.allocate(max(_BLOCK_SIZE, size), from_top=True)
            self._filled = 0
        start = self._block.address + self._filled
        self._residency.host_uses(start, start, start + words.nbytes)
        self._block.memory[self._filled : self._filled + words.nbytes] = words.view(np.uint8)
        self._filled += size
        return start
