"""Arrays of objects that objects hold as arrays of a class above theirs.

``pool.vehicles = cars`` lets kernels store any vehicle to an array of cars. From the first program
that may do so on, the array is one of vehicles, whoever has it as one of cars.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..model.classes import ClassType
from ..model.types import ArrayType, ReferenceType, Type
from .array_memory import ArrayStorage

if TYPE_CHECKING:
    from .memory import HeapMemory


class HeldArrays:
    """What is known of one heap's arrays."""

    def __init__(self, memory: HeapMemory) -> None:
        self._memory = memory
        #: Classes as whose arrays objects hold arrays of subclasses.
        self._wide: set[ClassType] = set()
        #: Those of ``_wide`` as whose arrays objects hold what others hold as arrays of a subclass.
        self._ambiguous: set[ClassType] = set()
        #: Those of ``_wide`` of which objects may have been stored to arrays that objects hold.
        self._stored: set[ClassType] = set()

    def note(self, type: ArrayType, array: Any) -> None:
        """An object is going to hold ``array`` as one of ``type``."""
        if isinstance(type.element, ReferenceType) and array._storage is not None:
            self._note(type.element.cls, array._storage)

    def note_all(self, type: ArrayType, arrays: np.ndarray[Any, Any]) -> None:
        """The same of ``arrays`` (``ARRAY_DTYPE``)."""
        if isinstance(type.element, ReferenceType):
            addresses = np.unique(arrays["address"])
            for storage in self._memory.arrays.all_at(addresses[addresses > 0]):
                self._note(type.element.cls, storage)

    def _note(self, cls: ClassType, storage: ArrayStorage) -> None:
        assert isinstance(storage.element, ReferenceType)
        if cls in storage.held_as:
            return
        storage.held_as.add(cls)
        wide = {each for each in storage.held_as if each is not storage.element.cls}
        several = {a for a in wide for b in storage.held_as if b is not a and b.is_subclass_of(a)}
        if wide <= self._wide and several <= self._ambiguous:
            return
        self._wide |= wide
        self._ambiguous |= several
        self._memory.placement.change_layout()

    def note_stores(self, classes: AbstractSet[ClassType], who: str) -> None:
        """``who`` stores objects of ``classes`` to arrays that objects hold as arrays of these.

        Raises ArgumentError where others hold the same arrays as arrays of a subclass.
        """
        for cls in classes & self._ambiguous:
            raise ArgumentError(
                f"{who} stores objects of {cls.name} to arrays that objects hold, and some of "
                "these are held as arrays of a subclass, too",
                f"let the others hold an array of their own: oa.array({cls.name}, objects)",
            )
        if not classes & self._wide <= self._stored:
            self._stored |= classes & self._wide
            self._memory.placement.change_layout()

    def note_store_to(self, type: Type, array: Any, who: str) -> None:
        """``who`` stores objects of ``type`` to ``array``, which may have been taken from an object
        that holds it as an array of them."""
        storage = array._storage
        if isinstance(type, ReferenceType) and storage is not None and storage.element != type:
            self.note_stores({type.cls}, who)

    def element_of(self, storage: ArrayStorage) -> Type:
        """Of which type the elements may be by now."""
        cls = storage.element.cls if isinstance(storage.element, ReferenceType) else None
        if cls is None:
            return storage.element
        for above in storage.held_as & self._stored:
            cls = above if cls.is_subclass_of(above) else cls
        return ReferenceType(cls)

    def concern(self, type: Type) -> bool:
        """Whether an array that is given as one of ``type`` may hold other objects."""
        cls = _element_class(type)
        return cls is not None and any(map(partial(_is_above, cls), self._stored))

    def refuse(self, type: Type, array: Any, what: str) -> None:
        """Raise ArgumentError if ``array``, given as one of ``type``, may hold other objects."""
        cls, storage = _element_class(type), getattr(array, "_storage", None)
        if cls is None or storage is None:
            return
        for above in storage.held_as & self._stored:
            if _is_above(cls, above):
                raise ArgumentError(
                    f"{what} takes {type!r}, and any {above.name} may have been stored to this "
                    "array, as objects hold it as an array of these",
                    f"let the objects hold an array of their own: oa.array({above.name}, objects)",
                )


def _element_class(type: Type) -> ClassType | None:
    element = type.element if isinstance(type, ArrayType) else None
    return element.cls if isinstance(element, ReferenceType) else None


def _is_above(cls: ClassType, other: ClassType) -> bool:
    return other is not cls and cls.is_subclass_of(other)
