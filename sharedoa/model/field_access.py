"""Fields of one object on the host: descriptors that read and write them in the heap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, ClassError
from .classes import ClassType
from .scalars import ScalarType
from .types import InlineType

if TYPE_CHECKING:
    from .object import Object


class FieldAccess:
    """The descriptor of one field: reads and writes it in the heap."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Object | None, owner: type) -> Any:
        if instance is None:
            return self
        heap = instance._heap
        try:
            read = heap.readers[owner, self.name]
        except KeyError:
            read = heap.readers[owner, self.name] = self._reader(heap, owner)
        return read(instance)

    def __set__(self, instance: Object, value: Any) -> None:
        heap, cls = instance._heap, instance.__class__
        try:
            write = heap.writers[cls, self.name]
        except KeyError:
            write = heap.writers[cls, self.name] = self._writer(heap, cls)
        write(instance, value)

    def _reader(self, heap: Any, owner: Any) -> Callable[[Any], Any]:
        cls, name = owner.__sharedoa__, self.name
        type = cls.fields[name]
        if isinstance(type, InlineType):
            return lambda instance: InlineField(instance, cls, name, type)
        read: Callable[[Any], Any] = heap.reader(cls, name)
        return read

    def _writer(self, heap: Any, owner: Any) -> Callable[[Any, Any], None]:
        cls = owner.__sharedoa__
        type = cls.fields[self.name]
        if isinstance(type, InlineType):
            return lambda instance, value: self._write_all(instance, cls, type, value)
        write: Callable[[Any, Any], None] = heap.writer(cls, self.name)
        return write

    def _write_all(self, instance: Object, cls: ClassType, type: InlineType, value: Any) -> None:
        place = InlineField(instance, cls, self.name, type)
        if not hasattr(value, "__len__"):
            raise ArgumentError(
                f"{cls.name}.{self.name} holds {len(place)} elements, and is given {value!r}",
                "assign a sequence of that length, or one element: object.field[0] = value",
            )
        if len(value) != len(place):
            raise ArgumentError(
                f"{cls.name}.{self.name} holds {len(place)} elements, not {len(value)}",
                "assign a sequence of the same length",
            )
        for index, element in enumerate(value):
            place[index] = element

    def __delete__(self, instance: Object) -> None:
        raise ClassError(
            f"{instance.__sharedoa__.name}.{self.name} cannot be deleted: every object of the "
            "class has the field",
            "assign 0 or None to it; oa.delete(object) frees the whole object",
        )


class InlineField:
    """An inline array of one object. ``field[1:]``, or any other index of several elements, is
    assigned to as in NumPy; reading it gives what ``objects.field[0, 1:]`` is for scalars, whose
    changes reach the object, and a list of anything else."""

    def __init__(self, owner: Object, cls: ClassType, name: str, type: InlineType) -> None:
        self._object, self._cls, self._name, self._length = owner, cls, name, type.length
        self.element_type = type.element

    def __len__(self) -> int:
        return self._length

    def _place(self, index: Any) -> int:
        place = int(index)
        if place < 0:
            place += self._length
        if not 0 <= place < self._length:
            raise IndexError(
                f"index {index} is outside {self._cls.name}.{self._name}, "
                f"which holds {self._length} elements"
            )
        return place

    def _field(self) -> Any:
        """The field of the object as one of many."""
        owner = self._object
        return owner._heap.field_of_one(owner._reference, self._cls, self._name)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, _MANY):
            if isinstance(self.element_type, ScalarType):
                return self._field()[_inside(index)]
            return [self[place] for place in np.arange(self._length)[index].flat]
        place, owner = self._place(index), self._object
        return owner._heap.read_element(owner._reference, self._cls, self._name, place)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, _MANY):
            self._field()[_inside(index)] = value
            return
        place, owner = self._place(index), self._object
        owner._heap.write_element(owner._reference, self._cls, self._name, place, value)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self._length))

    def __repr__(self) -> str:
        return repr(list(self))


#: Indices that choose several elements.
_MANY = (slice, list, tuple, EllipsisType, np.ndarray)


def _inside(index: Any) -> tuple[Any, ...]:
    """``index`` for the first row of an array."""
    return (0, *index) if isinstance(index, tuple) else (0, index)
