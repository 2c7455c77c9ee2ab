"""The module-level functions of ``sharedoa``: each acts on the current heap."""

from __future__ import annotations

from os import PathLike
from typing import Any

from .arrays import Array, ObjectArray
from .heap import Heap, current_heap
from .population import Population


def new(python_class: type, n: int | None = None, **fields: Any) -> Any:
    """``n`` new objects as an ObjectArray, or one object without ``n``; see ``Heap.new``."""
    return current_heap().new(python_class, n, **fields)


def array(element: Any, data: Any) -> Array:
    """An array of scalars, values or references made from host data; see ``Heap.array``."""
    return current_heap().array(element, data)


def zeros(n: int, element: Any) -> Array:
    """An array of ``n`` zeros or nulls."""
    return current_heap().zeros(n, element)


def concat(*arrays: Any) -> ObjectArray | Array:
    """One array after another; references get the common base class of all."""
    return current_heap().concat(*arrays)


def all(python_class: type) -> Population:
    """Every live object of a class and its subclasses."""
    return current_heap().all(python_class)


def delete(objects: Any) -> None:
    """Free one object or all objects of an array; see ``Heap.delete``."""
    current_heap().delete(objects)


def synchronize() -> None:
    """Wait for every launch; raises what went wrong in one."""
    current_heap().synchronize()


def dump(path: str | PathLike[str], **roots: Any) -> None:
    """Write all objects of the current heap to a file; ``roots`` are found again by name."""
    current_heap().dump(path, **roots)


def load(path: str | PathLike[str]) -> Any:
    """Read a dump into the current heap; see ``Heap.load``."""
    return current_heap().load(path)


__all__ = ["Heap", "all", "array", "concat", "delete", "dump", "load", "new", "synchronize", "zeros"]
