"""Which objects of a heap live: what ``oa.delete`` and ``oa.is_alive`` are asked about, and what a
launch has made and ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, HeapError
from ..model.classes import ClassType
from ..model.deleted import DeletedReference
from ..model.object import Object, require_concrete, shared_type
from ..model.values import describe
from .birth_order import put_in_order
from .births import Births, Places
from .births_by_class import BirthsByClass
from .construction import count_of
from .objects import ManyObjects
from .placement import References, null_reference
from .quarantine import user_line
from .recording import require_executing

if TYPE_CHECKING:
    from .heap import Heap


def references_of(heap: Heap, objects: Any) -> References:
    """The references of an object, of an array, population or list of objects. Raises ArgumentError
    for anything else, HeapError for null and for objects that are not the heap's or were deleted.
    """
    if isinstance(objects, Object):
        objects = [objects]
    if isinstance(objects, ManyObjects):
        if objects._heap is not heap:
            raise _of_other_heap()
        return objects._references()
    if not isinstance(objects, (list, tuple)):
        raise ArgumentError(
            f"oa.delete takes objects, not {describe(objects)}",
            "pass an object, an array of objects, oa.all(C) or a list; arrays go by themselves",
        )
    for place, item in enumerate(objects):
        if item is None:
            raise null_reference()
        if not isinstance(item, Object) or item._heap is not heap:
            raise _of_other_heap()
        if isinstance(item._reference, DeletedReference):
            raise item._reference.error(f"element {place}: ")
    return np.array([item._reference for item in objects], np.uint64)


def _of_other_heap() -> HeapError:
    return HeapError("something to delete is no object of this heap", "delete it in its own heap")


def is_alive(heap: Heap, obj: Any) -> bool:
    """Whether an object lives; None does not."""
    if obj is None:
        return False
    if not isinstance(obj, Object) or obj._heap is not heap:
        raise ArgumentError(
            f"oa.is_alive takes one object, not {describe(obj)}", "pass an object of a shared class"
        )
    if isinstance(obj._reference, DeletedReference):
        return False
    heap.wait()
    lives: bool = heap.placement.lives(heap.encoding.address(obj._reference))
    return lives


def births_of(heap: Heap) -> Births[Any]:
    """What places objects that kernels make."""
    return heap.memory.births


def births_by_class(heap: Heap) -> BirthsByClass:
    """The same, of a heap in which classes have regions."""
    births = heap.memory.births
    assert isinstance(births, BirthsByClass)
    return births


def reserve(heap: Heap, python_class: type, n: int) -> None:
    """Room for ``n`` more objects of a class: kernels of which the compiler does not know how many
    they make take it from there, in each launch. Raises HeapError if it does not fit."""
    require_executing(heap, "reserving room")
    cls = shared_type(python_class)
    require_concrete(cls)
    count = count_of(n, f"the number of {cls.name} objects")
    with heap.lock:
        heap.settle()  # a region that grows takes what lives there along
        births_of(heap).reserve(cls, count)


def settle(heap: Heap, places: Sequence[Places], ended: Iterable[ClassType]) -> None:
    """Note what a launch that has ended made in ``places``, and free what it ended of exactly the
    classes ``ended``. The caller has held the lock since ``Births.lend``. Raises HeapError, having
    noted all, without memory to put new objects in order."""
    births, ended = births_of(heap), [*ended]
    try:
        put_in_order(heap, places)
    finally:
        _settle(heap, births, places, ended)


def _settle(
    heap: Heap, births: Births[Any], places: Sequence[Places], ended: list[ClassType]
) -> None:
    gone = births.settle(places, ended)
    if gone.to_free is not None and gone.to_free.count:
        references = gone.to_free.references
        births.free(gone.to_free, ended, user_line() if heap.debug else "")
        heap.bury(references)
    elif gone.are_freed:
        heap.bury_dead()
