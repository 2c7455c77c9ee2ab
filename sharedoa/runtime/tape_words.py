"""Memory of tapes: what ways back read that their ways there have written, so it may begin as
anything. On a device it is none of the heap's (``heap.device_copies``): the host never looks at it,
and adjoints mirror no more than they must.
"""

from __future__ import annotations

from ..heap.arrays import Array, make_array
from ..heap.device_copies import device_array
from ..heap.heap import Heap
from ..model.scalars import u64
from ..model.types import Type

_FIRST, _MOST = 1 << 13, 1 << 20
"""Words of the first piece that launches share, and of the largest."""
_STEP = 32
"""Words that arrays begin at a multiple of."""


def new_words(heap: Heap, element: Type, length: int) -> Array:
    """So many numbers of a type of 8 bytes."""
    found = device_array(heap, element, length)
    return heap.blank(element, length, zeros=False) if found is None else found


class TapeWords:
    """Those of one tape: small launches share a piece, as asking for one takes longer than to
    launch."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._piece: Array | None = None
        self._used, self._next = 0, _FIRST

    def of_device(self, size: int) -> Array | None:
        """So many bytes of the device's own memory; None where it has no room, or there is none."""
        heap, length = self._heap, -(-size // 8)
        if heap.backend.copies is None or not size:
            return None
        if 2 * length > _MOST:
            return device_array(heap, u64, length)
        made = self(u64, length)
        assert made._storage is not None
        return made if made._storage.is_foreign else device_array(heap, u64, length)

    def __call__(self, element: Type, length: int) -> Array:
        """So many numbers of a type of 8 bytes."""
        if 2 * length > _MOST:
            return new_words(self._heap, element, length)
        piece = self._piece
        if piece is None or self._used + length > len(piece):
            size = max(self._next, 2 * length)
            piece = self._piece = new_words(self._heap, u64, size)
            self._used, self._next = 0, min(2 * size, _MOST)
        address = piece._address + 8 * self._used
        self._used += -(-length // _STEP) * _STEP
        return make_array(self._heap, element, piece._storage, address, length)
