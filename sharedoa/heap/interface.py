"""The functions of ``sharedoa`` that act on the current heap."""

from __future__ import annotations

import os
from typing import Any

from .arrays import Array
from .heap import Heap, current_heap
from .population import Population
from .split_array import SplitArray, split_array


def new(python_class: type, n: int | None = None, /, **fields: Any) -> Any:
    """``n`` objects of a class, or without ``n`` one (``Heap.new``)."""
    return current_heap().new(python_class, n, **fields)


def array(element: Any, data: Any) -> Array:
    """An array that kernels can reach (``Heap.array``)."""
    return current_heap().array(element, data)


def zeros(n: int, element: Any) -> Array:
    """An array of zeros or null references (``Heap.zeros``)."""
    return current_heap().zeros(n, element)


def concat(*parts: Any) -> Array:
    """Arrays one after another (``Heap.concat``), in the heap that they lie in."""
    heap = _heap_of(parts[0]) if parts else current_heap()
    return heap.concat(*parts)


def split(array: Array, lengths: Any) -> SplitArray:
    """The array cut into consecutive pieces, which share its memory; ``lengths`` are the numbers of
    elements of each, ints of shape (pieces,), 0 for an empty one.

    An ``oa.Array`` field of many objects is set with it: ``oa.new(Vertex, n, edges=oa.split(edges,
    degrees))`` or ``vertices.edges = oa.split(edges, degrees)``.

    Raises ArgumentError unless the pieces make up the whole array.
    """
    return split_array(array, lengths)


def all(python_class: type) -> Population:
    """Every live object of a class and its subclasses (``Heap.all``)."""
    return current_heap().all(python_class)


def delete(objects: Any) -> None:
    """Free objects (``Heap.delete``), in the heap that they lie in."""
    _heap_of(objects).delete(objects)


def _heap_of(thing: Any) -> Heap:
    """Where an object or array lies; for anything else, a shared class among them, the current
    heap, which will say that it is none."""
    heap = getattr(thing, "_heap", None)
    return heap if isinstance(heap, Heap) else current_heap()


def synchronize() -> None:
    """Wait for all launches of the current heap. Raises DeviceError if a kernel failed."""
    current_heap().synchronize()


def dump(path: str | os.PathLike[str], **roots: Any) -> None:
    """Write the current heap to a file (``Heap.dump``)."""
    current_heap().dump(path, **roots)


def load(path: str | os.PathLike[str], heap: Heap | None = None) -> dict[str, Any]:
    """Read a file that ``oa.dump`` wrote into ``heap``, by default the current one
    (``Heap.load``)."""
    return (heap or current_heap()).load(path)
