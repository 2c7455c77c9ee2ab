"""What a heap asks of a device that keeps copies of its memory, so that they do not go through the
host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol
from weakref import finalize

import numpy as np

from ..errors import HeapError
from ..model.types import Type
from .array_memory import ArrayStorage
from .arrays import Array, make_array

if TYPE_CHECKING:
    from .heap import Heap


class DeviceCopies(Protocol):
    """Memory that the device alone reaches. Copies happen in the order of launches, and nobody
    waits for them."""

    def reserve(self, size: int) -> int | None:
        """The address of so many bytes; None where that is more than half of what is free, as what
        runs between copies needs memory, too."""
        ...

    def has_room(self, size: int) -> bool:
        """Whether this program leaves at least twice as much. The driver, which takes long, is not
        asked what others have."""
        ...

    def release(self, address: int, size: int) -> None:
        """Give back what ``reserve`` gave, after everything that was launched."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy between memory that ``reserve`` gave and the provider's."""
        ...

    def clear(self, start: int, size: int) -> None:
        """Make memory of the provider's zero."""
        ...

    def write(self, target: int, values: np.ndarray[Any, Any]) -> None:
        """Copy what the host has side by side to the provider's memory. It must stay as it is until
        somebody has waited."""
        ...


class DeviceStorage(ArrayStorage):
    """Memory of the device alone, for what kernels leave for each other."""

    is_foreign = True

    def __init__(self, copies: DeviceCopies, address: int, size: int, element: Type) -> None:
        super().__init__(address, size, element)
        finalize(self, copies.release, address, size).atexit = False

    @property
    def __array_interface__(self) -> dict[str, Any]:
        raise HeapError("the host does not read what is the device's alone", "read it in a kernel")


def device_array(heap: Heap, element: Type, length: int) -> Array | None:
    """An array of numbers, of which each may be anything, that only kernels use; None where the
    device has no room, or there is none."""
    copies, size = heap.backend.copies, length * heap.layout.dtype(element).itemsize
    address = None if copies is None or not size else copies.reserve(size)
    if copies is None or address is None:
        return None
    storage = DeviceStorage(copies, address, size, element)
    return make_array(heap, element, storage, address, length)
