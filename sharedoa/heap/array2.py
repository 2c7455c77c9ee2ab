"""``oa.Array[T, 2]`` on the host: rows one after another in memory that kernels reach too."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..model.annotations import ArrayAnnotation
from ..model.array2_type import Array2Type, array2_type
from ..model.classes import ClassType
from ..model.type_names import T_co
from ..model.types import ReferenceType, array_form
from ..model.values import to_host
from . import hooks
from .arrays import Array, ObjectArray
from .conversion import block
from .numpy_like import is_traced
from .placement import Change, References, Values

if TYPE_CHECKING:
    from .heap import Heap


class Array2(Array[T_co]):
    """An array of two dimensions; made by ``oa.zeros((rows, columns), T)`` and by ``oa.array`` of
    data of two dimensions.

    ``a[y, x]`` is an element, ``a[y]`` a row, which is an array; rows and slices of rows share
    memory, every other selection is a copy. ``len(a)`` is the number of rows.
    """

    __slots__ = ("_columns", "_flat", "_kernel_type", "_packed_parts", "_rows")
    _kernel_type: Array2Type

    def __init__(self, flat: Array, rows: int, columns: int) -> None:
        # Without ``_packed``, by which kernels take an array of one dimension.
        self._heap: Heap = flat._heap
        self.__sharedoa_element__ = flat.__sharedoa_element__
        self._storage, self._address, self._length = flat._storage, flat._address, rows
        self._flat, self._rows, self._columns = flat, rows, columns
        self._few = None
        self._kernel_type = array2_type(self.__sharedoa_element__)
        self._packed_parts = flat._packed + struct.pack("<qq", rows, columns)

    if not TYPE_CHECKING:

        def __class_getitem__(cls, element: Any) -> Any:
            return ArrayAnnotation(element, 2)

    @property
    def flat(self) -> Array:
        """All elements, row by row, in the same memory."""
        return self._flat

    @property
    def shape(self) -> tuple[int, ...]:
        return self._rows, self._columns, *self._dtype.shape

    def _repr_html_(self) -> str | None:
        from .tables import table_of_rows

        return table_of_rows(self)

    def _shared(self) -> Values:
        return self._flat._shared().reshape(self.shape)

    def _numpy(self) -> Values:
        return self._flat._numpy().reshape(self.shape)

    def _values(self) -> Values:
        return self._flat._values().reshape(self.shape)

    @property
    def _cls(self) -> ClassType | None:
        element = self.__sharedoa_element__
        return element.cls if isinstance(element, ReferenceType) else None

    def _references(self) -> References:
        flat = self._flat
        assert isinstance(flat, ObjectArray)
        return flat._references().reshape(self._rows, self._columns)

    @overload  # type: ignore[override]
    def __getitem__(self, key: tuple[int, int]) -> T_co: ...
    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Array[T_co]: ...
    @overload
    def __getitem__(self, key: slice) -> Array2[T_co]: ...
    @overload
    def __getitem__(self, key: Any) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        """An element for two ints; a row for one; a slice of step 1 is a view of rows."""
        if isinstance(key, (int, np.integer)):
            row = key + self._rows if key < 0 else key
            if not 0 <= row < self._rows:
                raise IndexError(f"row {key} is outside an array of {self._rows} rows")
            return self._flat._view(int(row) * self._columns, self._columns)
        if isinstance(key, slice):
            start, stop, step = key.indices(self._rows)
            if step == 1:
                rows = max(0, stop - start)
                flat = self._flat._view(start * self._columns, rows * self._columns)
                return Array2(flat, rows, self._columns)
        if isinstance(key, str):
            found = self._flat[key]
            if isinstance(found, Array):
                return Array2(found, self._rows, self._columns)
            return found.reshape(self._rows, self._columns, *found.shape[1:])
        if _is_one(key):
            return self[key[0]][self._column(key[1])]
        if is_traced(self):
            return hooks.traced_element(self, key)
        found = self._values()[key]
        if not isinstance(found, np.ndarray):
            return to_host(self.__sharedoa_element__, found, self._heap)
        inner = self._dtype.shape
        shape = found.shape[: found.ndim - len(inner)]
        if found.shape[len(shape) :] != inner or len(shape) not in (1, 2):
            return found.copy()  # components of vectors
        flat = self._heap.array_of(self.__sharedoa_element__, found.reshape(-1, *inner))
        return array_of_shape(flat, shape)

    def _column(self, index: Any) -> int:
        if not -self._columns <= index < self._columns:
            raise IndexError(f"column {index} is outside an array of {self._columns} columns")
        return int(index)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            type, _ = self._flat._component(key)
            item, inner = array_form(type)
            shape = self._rows, self._columns, *inner
            given = block(item, value, shape, self._description(), self._heap)
            self._flat[key] = given.reshape(-1, *inner)
            return
        if _is_one(key):
            self[key[0]][self._column(key[1])] = value
            return
        element, what = self.__sharedoa_element__, self._description()
        self._heap.held_arrays.note_store_to(element, self._flat, what)
        values, (item, _) = self._values(), array_form(element)
        given = block(item, value, np.shape(values[key]), what, self._heap)
        self._note_change()
        values[key] = given
        self._note_change()

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(self._rows))

    def _change(self, change: Change) -> None:
        change(self._numpy(), slice(None))

    def _description(self) -> str:
        return repr(self._kernel_type)


def _is_one(key: Any) -> bool:
    """Whether it is the index of one element."""
    is_pair = isinstance(key, tuple) and len(key) == 2
    return is_pair and all(isinstance(each, (int, np.integer)) for each in key)


def array_of_shape(flat: Array, shape: tuple[int, ...]) -> Array:
    """The elements as an array of one or two dimensions."""
    return flat if len(shape) == 1 else Array2(flat, *shape)
