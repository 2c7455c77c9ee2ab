"""Some values of a field of many objects: where they are, and copies that write through.

Where a field is read as a copy (objects in tiles, several pieces, objects placed one by one), what
NumPy's indexing gives is not the objects' memory. ``FieldValues`` behaves as if it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch.dataclass import dataclass, replace

from .placement import FieldPath, References, Values

if TYPE_CHECKING:
    from .heap import Heap

_Numbers = np.ndarray[Any, np.dtype[np.int64]]


def position_of(index: int, count: int, among: str = "{} objects") -> int:
    """The position that an index means, which may count from the end. Raises IndexError; ``among``:
    what it is outside of, with the count in braces."""
    position = index + count if index < 0 else index
    if not 0 <= position < count:
        raise IndexError(f"index {index} is outside {among.format(count)}")
    return position


def choose(references: References, key: tuple[Any, ...]) -> tuple[References, Any] | None:
    """The objects that the first index of ``key`` chooses, and the first index of an array of their
    values that means the same, so that few among many objects cost little. None where the
    first index does not choose objects."""
    first = key[0] if key else None
    if isinstance(first, (int, np.integer)) and not isinstance(first, bool):
        position = position_of(int(first), len(references))
        return references[position : position + 1], 0
    if isinstance(first, slice):
        return references[first], slice(None)
    if isinstance(first, list) or hasattr(first, "__array__"):
        numbers = np.asarray(first)
        if numbers.ndim == 1 and numbers.dtype.kind in "biu":
            chosen = references[numbers]
            return chosen, np.arange(len(chosen))
    return None


@dataclass(frozen=True, eq=False)
class Lvalues:
    """What ``keys``, one after the other, choose of an array of a field's values."""

    heap: Heap
    path: FieldPath
    references: Callable[[], References]
    """The objects; asked for when something is written."""
    inner: tuple[int, ...]
    """The shape of an inline array or a vector."""
    keys: tuple[Any, ...]
    components: tuple[str, ...] = ()
    """What of each value struct."""

    def at(self, key: Any) -> Lvalues:
        """Some of them, or a component of each."""
        if isinstance(key, str):
            return replace(self, components=(*self.components, key))
        return replace(self, keys=(*self.keys, key))

    @cached_property
    def _indices(self) -> tuple[_Numbers, _Numbers | None]:
        """Which object each is of, and which item of an inline array."""
        objects = np.arange(len(self.references()))
        if not self.inner:
            return self._chosen(objects), None
        items = np.arange(math.prod(self.inner)).reshape(self.inner)
        shape = (len(objects), *self.inner)
        of = np.broadcast_to(objects.reshape(-1, *[1] * len(self.inner)), shape)
        return self._chosen(of), self._chosen(np.broadcast_to(items, shape))

    def _chosen(self, numbers: _Numbers) -> _Numbers:
        for key in self.keys:
            numbers = numbers[key]
        return np.asarray(numbers)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._indices[0].shape
        return shape

    def write(self, values: Values) -> None:
        """Write values that broadcast to the shape, and nothing else."""
        objects, items = (None if n is None else n.reshape(-1) for n in self._indices)
        assert objects is not None
        # A copy, as one column that is written may be another one's values.
        given = np.broadcast_to(values, self.shape).flatten()
        self.heap.before_change()
        if items is None:
            self._write(self.path.inside(*self.components), objects, given)
            return
        for item in np.flatnonzero(np.bincount(items)):
            mine, path = items == item, self.path.inside(int(item), *self.components)
            self._write(path, objects[mine], given[mine])

    def _write(self, path: FieldPath, objects: _Numbers, values: Values) -> None:
        if len(objects):
            self.heap.placement.select(self.references()[objects]).write(path, values)


class FieldValues(np.ndarray[Any, Any]):
    """A copy of some values of a field that does not let a change be lost: assigning to elements
    and operators in place (``values += 1``) change the copy and the objects.

    The same goes for parts of it, ``values[1:]``, that share its memory. Everything else that would
    change it NumPy refuses, as the array is read-only; ``.copy()`` may be changed by itself.
    """

    _lvalues: Lvalues | None = None
    #: The same memory, to write to.
    _own: Values | None = None

    @classmethod
    def of(cls, own: Values, lvalues: Lvalues) -> FieldValues:
        values = own.view(cls)
        values.flags.writeable = False
        values._lvalues, values._own = lvalues, own
        return values

    def __getitem__(self, key: Any) -> Any:
        found = np.asarray(self)[key]
        is_part = isinstance(found, np.ndarray) and not found.flags.writeable
        if not is_part or self._lvalues is None or self._own is None or isinstance(key, list):
            return found
        return FieldValues.of(self._own[key], self._lvalues.at(key))

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> None:
        is_components = isinstance(key, list) and bool(key) and isinstance(key[0], str)
        if self._lvalues is None or self._own is None or is_components:
            super().__setitem__(key, value)
            return
        self._own[key] = value
        self._lvalues.at(key).write(self._own[key])

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> Any:
        operands = [_plain(value) for value in inputs]
        options = {name: _plain(value) for name, value in options.items()}
        if not out:
            return getattr(ufunc, method)(*operands, **options)
        targets = tuple(
            item._own if isinstance(item, FieldValues) and item._own is not None else _plain(item)
            for item in out
        )
        result = getattr(ufunc, method)(*operands, out=targets, **options)
        for item in out:
            if isinstance(item, FieldValues) and item._lvalues is not None:
                item._lvalues.write(np.asarray(item))
        return out[0] if len(out) == 1 else result

    def __repr__(self) -> str:
        return repr(np.asarray(self))


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, FieldValues) else value
