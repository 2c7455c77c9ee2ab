"""Fields of one object on the host: descriptors that read and write them in the heap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, ClassError
from .classes import ClassType
from .frozen import refuse_frozen
from .scalars import ScalarType
from .shown import shown
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
        if cls.frozen:
            return lambda instance, value: refuse_frozen(cls, self.name)
        if isinstance(type, InlineType):
            return lambda instance, value: self._write_all(instance, cls, type, value)
        write: Callable[[Any, Any], None] = heap.writer(cls, self.name)
        return write

    def _write_all(self, instance: Object, cls: ClassType, type: InlineType, value: Any) -> None:
        field = InlineField(instance, cls, self.name, type)
        # All before the first is written: they may be elements of the same array.
        for place, element in [*_elements(field, value, type.shape, ())]:
            field[place] = element

    def __delete__(self, instance: Object) -> None:
        raise ClassError(
            f"{instance.__sharedoa__.name}.{self.name} cannot be deleted: every object of the "
            "class has the field",
            "assign 0 or None to it; oa.delete(object) frees the whole object",
        )


def _elements(
    field: InlineField, value: Any, shape: tuple[int, ...], place: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """What a sequence gives all elements, or those of the row at ``place``."""
    what = f"{field.where()}{list(place) if place else ''} holds {shape[0]} elements"
    if not hasattr(value, "__len__"):
        raise ArgumentError(
            f"{what}, and is given {value!r}",
            "assign a sequence of that length, or one element: object.field[0] = value",
        )
    if len(value) != shape[0]:
        raise ArgumentError(f"{what}, not {len(value)}", "assign a sequence of the same length")
    for index, element in enumerate(value):
        if len(shape) > 1:
            yield from _elements(field, element, shape[1:], (*place, index))
        else:
            yield (*place, index), element


class InlineField:
    """An inline array of one object. ``field[1:]``, or any other index of several elements, is
    assigned to as in NumPy; reading it gives what ``objects.field[0, 1:]`` is for scalars, whose
    changes reach the object, and a list of anything else."""

    def __init__(self, owner: Object, cls: ClassType, name: str, type: InlineType) -> None:
        self._object, self._cls, self._name, self._shape = owner, cls, name, type.shape
        self.element_type = type.element

    def __len__(self) -> int:
        return self._shape[0]

    def _place(self, index: tuple[Any, ...]) -> tuple[int, ...]:
        """The element at an index that has a number for each axis. Raises IndexError."""
        found = []
        for number, length in zip(index, self._shape, strict=True):
            place = int(number)
            if place < 0:
                place += length
            if not 0 <= place < length:
                raise IndexError(
                    f"index {number} is outside {self.where()}, which holds {length} elements"
                )
            found.append(place)
        return tuple(found)

    def _field(self) -> Any:
        """The field of the object as one of many."""
        owner = self._object
        return owner._heap.field_of_one(owner, self._cls, self._name)

    def __getitem__(self, index: Any) -> Any:
        if not self._is_one(index):
            if isinstance(self.element_type, ScalarType):
                return self._field()[_inside(index)]
            places = np.arange(math.prod(self._shape)).reshape(self._shape)[index].flat
            return [self[np.unravel_index(place, self._shape)] for place in places]
        place, owner = self._place(_axes(index)), self._object
        return owner._heap.read_element(owner, self._cls, self._name, place)

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._cls.frozen:
            refuse_frozen(self._cls, self._name)
        if not self._is_one(index):
            self._field()[_inside(index)] = value
            return
        place, owner = self._place(_axes(index)), self._object
        owner._heap.write_element(owner, self._cls, self._name, place, value)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def _is_one(self, index: Any) -> bool:
        """Whether an index chooses one element."""
        axes = _axes(index)
        return len(axes) == len(self._shape) and not any(isinstance(each, _MANY) for each in axes)

    def where(self) -> str:
        """What complaints call it."""
        return f"{self._cls.name}.{self._name}"

    def __repr__(self) -> str:
        return f"[{', '.join(map(shown, self))}]"


#: Parts of an index that choose several elements.
_MANY = (slice, list, tuple, EllipsisType, np.ndarray, type(None))


def _axes(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _inside(index: Any) -> tuple[Any, ...]:
    """``index`` for the first row of an array."""
    return (0, *index) if isinstance(index, tuple) else (0, index)
