"""What kernels compute for other kernels, and numbers that they compute for the host.

The host clears little memory, which takes its pages away from a GPU, and they come back at the next
launch; this takes as long as a launch over a million elements. Nobody needs zeros that are
overwritten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..heap.array_memory import ArrayStorage, elements_in
from ..heap.arrays import Array
from ..heap.heap import Heap
from ..model.scalars import ScalarType, u8
from ..model.types import Type


def scratch(heap: Heap, element: Type, length: int) -> Array:
    """A new array of numbers of which none is read before it was written, so that they may have any
    value. Of anything else but numbers all are zero. The host waits before it writes to it: other
    threads' launches that use the memory may be under way."""
    return heap.blank(element, length, zeros=not isinstance(element, ScalarType))


def scratch_storage(heap: Heap, size: int) -> ArrayStorage:
    """Memory of so many bytes, at least one, for such arrays."""
    storage = heap.new_storage(u8, size, zeros=False)
    assert storage is not None
    return storage


def first_of(array: Array) -> Any:
    """Its first element, for the host; the array stays where it is."""
    heap, dtype = array._heap, array._dtype
    heap.wait()
    if not heap.backend.target.is_device:
        return array._raw(0, 1)[0]
    words = heap.backend.slot_lists.read(array._address, -(-dtype.itemsize // 4))
    return elements_in(words.view(np.uint8)[: dtype.itemsize], dtype)[0]
