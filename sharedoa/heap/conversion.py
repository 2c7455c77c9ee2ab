"""Values for many fields or elements at once: from what users pass to what memory holds.

The rules are those of one assignment (``model.values``): NumPy's same_kind casting, Python numbers
are weak, references must be of the declared class and of this heap.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..model.classes import ClassType
from ..model.layout import ARRAY_DTYPE, REFERENCE_DTYPE
from ..model.object import Object
from ..model.scalars import (
    ScalarType,
    can_store,
    f64,
    from_dtype,
    i64,
    u64,
    weak_float,
    weak_int,
)
from ..model.types import ArrayType, InlineType, ReferenceType, Type, ValueType, array_form
from ..model.values import accepts_elements, convert, describe, from_host, holds_many, mismatch
from .split_array import SplitArray

Column = np.ndarray[Any, Any]

#: What NumPy makes of a list of Python's own numbers, which are weak.
_PYTHON_NUMBERS = {i64: weak_int, u64: weak_int, f64: weak_float}


def raw_value(type: Type, value: Any, what: str, heap: Any) -> Any:
    """One value as memory holds it. Raises ArgumentError."""
    raw = from_host(type, value, what, heap)
    if isinstance(type, ArrayType) and value._heap is not heap:
        raise other_heap(what)
    if isinstance(type, ArrayType):
        _refuse_foreign(value, what)
    return raw


def _refuse_foreign(array: Any, what: str) -> None:
    """Nobody knows how long memory of others lasts that an object holds."""
    storage = getattr(array, "_storage", None)
    if storage is not None and storage.is_foreign:
        raise ArgumentError(
            f"{what} cannot hold an array in memory of another library",
            "copy it: oa.array(f32, array)",
        )


def column(type: Type, value: Any, count: int, what: str, heap: Any) -> Column:
    """``value`` for ``count`` places: one value for all of them, or a sequence with one for each.

    The result broadcasts to (count,), or (count, N) for inline arrays and vectors. Raises
    ArgumentError.
    """
    if isinstance(type, InlineType) or array_form(type)[1]:
        return _inline_column(type, value, count, what, heap)
    found = _elements(type, value, what, heap)
    _check_count(found, count, what)
    return found


def _check_count(found: Column, count: int, what: str) -> None:
    if found.shape not in ((), (count,)):
        shape = f"{len(found)} values" if found.ndim == 1 else f"an array of shape {found.shape}"
        raise ArgumentError(
            f"{what}: {shape} for {count} places", "pass one value, or one for each place"
        )


def block(type: Type, value: Any, shape: tuple[int, ...], what: str, heap: Any) -> Column:
    """``value`` for places that form an array of ``shape``, to which it is broadcast by NumPy's
    rules of assignment. Raises ArgumentError."""
    found = _elements(type, value, what, heap)
    while found.ndim > len(shape) and found.shape[0] == 1:
        found = found[0]
    try:
        return np.broadcast_to(found, shape)
    except ValueError:
        given = f"{len(found)} values" if found.ndim == 1 else f"an array of shape {found.shape}"
        places = f"{shape[0]} places" if len(shape) == 1 else f"places of shape {shape}"
        raise ArgumentError(
            f"{what}: {given} for {places}", "pass one value, or an array that broadcasts to them"
        ) from None


def _elements(type: Type, value: Any, what: str, heap: Any) -> Column:
    """``value`` as it is shaped, converted to what memory holds."""
    if isinstance(type, ScalarType):
        return _scalar_column(type, value, what)
    if isinstance(type, ArrayType):
        return _array_column(type, value, what, heap)
    # A tuple may be a value struct.
    nested = (list, tuple) if isinstance(type, ReferenceType) else list
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], nested):
        rows = [_elements(type, row, what, heap) for row in value]
        if len({row.shape for row in rows}) > 1:
            raise ArgumentError(f"{what}: rows of different lengths", "pass rows of one length")
        return np.stack(rows)
    if isinstance(type, ReferenceType):
        return _reference_column(type, value, what, heap)
    assert isinstance(type, ValueType)
    return _struct_column(type, value, what, heap)


def other_heap(what: str) -> ArgumentError:
    return ArgumentError(
        f"{what} is given something that lies in another heap",
        "create both in one heap, or copy the data over with oa.array(...)",
    )


def _scalar_column(type: ScalarType, value: Any, what: str) -> Column:
    if isinstance(value, (bool, int, float, np.generic)):
        return np.asarray(convert(type, value, what), type.dtype)
    if isinstance(value, Iterator):
        value = list(value)
    found = as_numpy(value, what)
    if found.dtype == type.dtype:
        return found
    if found.ndim == 0:
        return np.asarray(convert(type, found[()], what), type.dtype)
    given_in_python = not hasattr(value, "dtype")
    if given_in_python and type.is_integer and found.dtype.kind in "fO":
        # Of ints that no one type of 64 bits holds NumPy makes floats, which would be rounded.
        exact = np.array(list(value), object)
        if exact.size and all(isinstance(each, (int, np.integer)) for each in exact.flat):
            _check_range(type, exact, what)
            return exact.astype(type.dtype)
    as_given = found.dtype
    if as_given.kind in "iuf":
        native = as_given.newbyteorder("=")
        found = found.astype(np.float32 if native == np.float16 else native, copy=False)
    source = from_dtype(found.dtype)
    if given_in_python and source in _PYTHON_NUMBERS:
        source = _PYTHON_NUMBERS[source]
    if source is not None and source.is_integer and type.is_integer:
        if source.weak or not can_store(source, type):
            _check_range(type, found, what)  # np.arange(n) may be given for u64
    elif source is None or not can_store(source, type):
        if found.size == 0 and given_in_python:
            return np.zeros(found.shape, type.dtype)
        raise ArgumentError(
            f"{what} takes {type}, and an array of {as_given} does not convert to it by itself",
            f"convert it first: values.astype(np.{type.dtype})",
        )
    return found.astype(type.dtype)


def _check_range(type: ScalarType, values: Column, what: str) -> None:
    """Python's own ints, and signed ones given for unsigned, do not wrap silently."""
    low, high = type.range
    ends = (values.min(), values.max()) if values.size else ()
    outside = [int(v) for v in ends if not low <= int(v) <= high]
    if outside:
        raise ArgumentError(
            f"{what} takes {type}, and {outside[0]} does not fit it ({low} to {high})",
            f"use smaller numbers, or np.array(values).astype(np.{type.dtype}) to wrap them",
        )


def as_numpy(value: Any, what: str) -> Column:
    """Anything that holds numbers as a NumPy array; no copy where it is one."""
    if not hasattr(value, "__array__") and isinstance(value, Iterable):
        value = list(value)
    refuse_masked(value, what)
    if isinstance(getattr(value, "__sharedoa_element__", None), ReferenceType):
        raise ArgumentError(
            f"{what} takes numbers, not {describe(value)}", "use a field of the objects"
        )
    try:
        return np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise ArgumentError(
            f"{what} is given values that are no array: {error}", "pass numbers, all at one depth"
        ) from error


def refuse_masked(value: Any, what: str) -> None:
    """Raise ArgumentError for an array some of whose elements are masked."""
    # To name it would import it: 10 ms. Who has a masked array has done so.
    ma = sys.modules.get("numpy.ma")
    if ma is not None and isinstance(value, ma.MaskedArray) and ma.is_masked(value):
        raise ArgumentError(
            f"{what} is given an array with masked elements, which have no value",
            "fill them: values.filled(0)",
        )


def holds_references(type: Type) -> bool:
    """Whether values of ``type``, as memory holds them, contain references or addresses: numbers
    that nobody may make up."""
    if isinstance(type, InlineType):
        return holds_references(type.element)
    if isinstance(type, ValueType):
        return any(map(holds_references, type.fields.values()))
    return isinstance(type, (ReferenceType, ArrayType))


def _check_references(type: Type, values: Column, what: str, heap: Any) -> None:
    """Raise ArgumentError or HeapError for references in ``values`` of value structs that are not
    to live objects of the declared class."""
    if isinstance(type, ValueType):
        for name, component in type.fields.items():
            if holds_references(component):
                _check_references(component, values[name], f"{what}.{name}", heap)
    elif isinstance(type, ReferenceType):
        references = np.unique(values)
        for reference in references[references != 0].tolist():
            found = heap.wrap(reference)
            if not isinstance(found, type.cls.python_class):
                raise ArgumentError(
                    f"{what} takes {type!r}, not a reference to {describe(found)}",
                    f"pass objects of {type!r} or a subclass",
                )


def _reference_column(type: ReferenceType, value: Any, what: str, heap: Any) -> Column:
    if value is None:
        return np.zeros((), REFERENCE_DTYPE)
    if isinstance(value, Object):
        return np.asarray(raw_value(type, value, what, heap), REFERENCE_DTYPE)
    if hasattr(value, "_references") or hasattr(value, "__sharedoa_element__"):
        many = getattr(value, "_cls", None)
        if not isinstance(many, ClassType) or not many.is_subclass_of(type.cls):
            raise mismatch(type, value, what, f"pass objects of {type!r} or a subclass")
        if value._heap is not heap:
            raise other_heap(what)
        references: Column = value._references()
        return references
    if isinstance(value, np.ndarray) and value.dtype != object:
        raise ArgumentError(
            f"{what} takes {type!r}, not {describe(value)}",
            "pass objects, an array of objects, or None; addresses are not references",
        )
    if not isinstance(value, Iterable):
        raise ArgumentError(
            f"{what} takes {type!r}, not {describe(value)}", f"pass objects of {type!r} or None"
        )
    found = [raw_value(type, item, what, heap) for item in value]
    return np.array(found, REFERENCE_DTYPE)


def _array_column(type: ArrayType, value: Any, what: str, heap: Any) -> Column:
    """Fields that are themselves ``oa.Array``: one array, a list of arrays, what ``oa.split`` made
    of one, or such a field of other objects."""
    if isinstance(value, SplitArray):
        array = value.array
        return _stored_arrays(
            type, array.__sharedoa_element__, array._heap, value.stored, what, heap, array
        )
    given = getattr(value, "type", None)
    if isinstance(given, ArrayType):  # of a FieldView
        return _stored_arrays(type, given.element, value._heap, value.numpy, what, heap)
    if isinstance(value, (list, tuple)):
        return np.array([raw_value(type, item, what, heap) for item in value], ARRAY_DTYPE)
    return np.array(raw_value(type, value, what, heap), ARRAY_DTYPE)


def _stored_arrays(
    type: ArrayType,
    element: Type,
    owner: Any,
    stored: Callable[[], Column],
    what: str,
    heap: Any,
    array: Any = None,
) -> Column:
    """What ``stored`` gives: arrays of ``element`` that lie in the heap ``owner``, pieces of
    ``array`` or held by objects."""
    if not accepts_elements(type, element):
        raise ArgumentError(
            f"{what} takes {type!r}, not arrays of {element!r}",
            f"pass arrays whose elements are {type.element!r}",
        )
    if owner is not heap:
        raise other_heap(what)
    _refuse_foreign(array, what)
    found = stored()
    if array is not None:
        heap.held_arrays.note(type, array)
    elif element != type.element:
        heap.held_arrays.note_all(type, np.atleast_1d(found))
    return found


def _struct_column(type: ValueType, value: Any, what: str, heap: Any) -> Column:
    """Value structs."""
    dtype = heap.layout.dtype(type)
    single = not isinstance(value, Iterable) or isinstance(value, type.python_class)
    single |= type.dtype is not None and isinstance(value, (tuple, np.void))
    if not single and getattr(value, "dtype", None) == dtype:
        return _structs(type, value, what, heap)
    if single:
        return np.array(raw_value(type, value, what, heap), dtype)
    return np.array([raw_value(type, item, what, heap) for item in value], dtype)


def _structs(type: ValueType, value: Any, what: str, heap: Any) -> Column:
    """Value structs that are laid out already."""
    refuse_masked(value, what)
    owner = getattr(value, "_heap", None)
    if holds_references(type):
        if owner not in (None, heap):
            raise other_heap(what)
        if owner is None:
            _check_references(type, np.asarray(value), what, heap)
    return np.asarray(value)


def _inline_column(type: Type, value: Any, count: int, what: str, heap: Any) -> Column:
    """Of inline arrays, vectors and matrices. Broadcasts to (count, N): one item for all, N for
    each object, or N of every object."""
    item, shape = array_form(type)
    if isinstance(item, ScalarType):
        found = _scalar_column(item, _components(value), what)
    elif len(shape) > 1:
        found = _elements(item, value, what, heap)
    elif isinstance(value, (list, tuple)) and value and holds_many(value[0]):
        rows = [column(item, row, shape[0], what, heap) for row in value]
        found = np.stack([np.broadcast_to(row, shape[:1]) for row in rows])
    else:
        found = _elements(item, value, what, heap)
        if found.ndim < 2:
            _check_count(found, shape[0], what)
    is_vector = isinstance(type, InlineType) and found.shape == array_form(type.element)[1]
    if found.shape not in ((), shape, (count, *shape)) and not is_vector:
        raise ArgumentError(
            f"{what}: an array of shape {found.shape} for {count} objects with "
            + (f"{shape[0]} elements" if len(shape) == 1 else f"elements of shape {shape}"),
            f"pass one value, an array of shape {shape} or of shape {(count, *shape)}",
        )
    return found


def _components(value: Any) -> Any:
    """Vectors and matrices, or sequences of them, as NumPy sees them."""
    struct = getattr(builtins.type(value), "__sharedoa_value__", None)
    if isinstance(struct, ValueType) and struct.shape:
        return np.asarray(value)
    if isinstance(value, (list, tuple)):
        return builtins.type(value)(map(_components, value))
    return value
