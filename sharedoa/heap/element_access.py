"""One element of an array, read and written where the array is."""

from __future__ import annotations

from ctypes import string_at
from typing import TYPE_CHECKING, Any

import numpy as np

from .array_memory import elements_in
from .placement import Values

if TYPE_CHECKING:
    from .arrays import Array


def element_at(array: Array, place: int) -> Values:
    """One element as an array of it, which may be a copy."""
    dtype, storage, residency = array._dtype, array._storage, array._heap.residency
    if storage is None or storage.is_foreign:
        return array._raw(place, place + 1)  # raises for what lies where the host does not read
    size = dtype.itemsize
    address = array._address + place * size
    if _is_left_there(array):
        found = array._heap.backend.read(address, size)
    else:
        if residency.moves:
            residency.host_uses(storage.address, address, address + size)
        found = string_at(address, size)  # a view takes four times as long
    return elements_in(np.frombuffer(found, np.uint8), dtype)


def put_element(array: Array, place: int, raw: Any) -> None:
    """Write one element, as memory holds it."""
    dtype = array._dtype
    if _is_left_there(array):
        one = np.zeros(1, dtype)
        one[0] = raw
        array._heap.backend.write(array._address + place * dtype.itemsize, one.tobytes())
    else:
        array._raw(place, place + 1)[0] = raw


def _is_left_there(array: Array) -> bool:
    """Whether one element had better be copied from or to where the array is."""
    storage, residency = array._storage, array._heap.residency
    if storage is None or storage.is_foreign or not residency.moves:
        return False
    return residency.copies_one(storage.address)
