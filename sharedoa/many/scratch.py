"""What kernels compute for other kernels, and numbers that they compute for the host.

The host clears little memory, which takes its pages away from a GPU, and they come back at the next
launch; this takes as long as a launch over a million elements. Nobody needs zeros that are
overwritten.
"""

from __future__ import annotations

from typing import Any

from ..heap.array_memory import ArrayStorage
from ..heap.arrays import Array, make_array
from ..heap.heap import Heap
from ..model.scalars import ScalarType, u8
from ..model.types import Type

_ALIGNMENT = 64


def scratch(heap: Heap, element: Type, length: int) -> Array:
    """A new array of numbers of which none is read before it was written; on a GPU they have any
    value. Of anything else but numbers all are zero."""
    has_any = isinstance(element, ScalarType) and heap.backend.target.is_device
    return heap.blank(element, length, zeros=not has_any)


def scratch_storage(heap: Heap, size: int) -> ArrayStorage:
    """Memory of so many bytes, at least one, for such arrays."""
    storage = heap.new_storage(u8, size, zeros=not heap.backend.target.is_device)
    assert storage is not None
    return storage


def scratches(heap: Heap, *wanted: tuple[ScalarType, int]) -> list[Array]:
    """Several such arrays of these elements and lengths in the memory of one, as to find memory
    takes longer than to launch."""
    begins, end = [], 0
    for element, length in wanted:
        begins.append(end)
        end += -(-length * element.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
    all = scratch(heap, u8, end)
    return [
        make_array(heap, element, all._storage, all._address + begin, length)
        for begin, (element, length) in zip(begins, wanted, strict=True)
    ]


def first_of(array: Array) -> Any:
    """Its first element, for the host; the array stays where it is."""
    heap, dtype = array._heap, array._dtype
    heap.wait()
    if not heap.backend.target.is_device:
        return array._raw(0, 1)[0]
    words = heap.backend.slot_lists.read(array._address, -(-dtype.itemsize // 4))
    return words.view(dtype)[0]
