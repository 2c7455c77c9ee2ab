"""Host values of every type: what CPython sees when it reads or passes something compiled.

Scalars are NumPy scalars of the exact type (a Python bool for bool), so that arithmetic on the host
promotes and wraps as compiled arithmetic does; references are objects, values are instances.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .classes import ClassType
from .scalars import ScalarType, can_store, from_dtype, weak_float, weak_int
from .types import (
    ArrayType,
    InlineType,
    ListType,
    NullType,
    ReferenceType,
    TupleType,
    Type,
    ValueType,
    VoidType,
)


def scalar_type_of(value: Any) -> ScalarType | None:
    """The scalar type of a host number, weak for Python's own; None if it is not a number."""
    if isinstance(value, (bool, np.bool_)):
        return from_dtype(np.dtype(np.bool_))
    if isinstance(value, np.generic):
        return from_dtype(value.dtype)
    if isinstance(value, int):
        return weak_int
    if isinstance(value, float):
        return weak_float
    return None


def convert(type: Type, value: Any, what: str) -> Any:
    """``value`` as a host value of ``type``, as an assignment or argument converts it.

    Raises ArgumentError, naming ``what``, when NumPy's same_kind rule does not allow it.
    """
    if isinstance(type, ScalarType):
        return _convert_scalar(type, value, what)
    if isinstance(type, ReferenceType):
        if value is None or _may_be(type.cls, value):
            return value
    elif isinstance(type, ValueType):
        if not type.in_memory:
            return type.accept(value, what)
        if isinstance(value, type.python_class):
            return value
        # The class of a struct that another compiler laid out has no name in the user's program.
        given = value.item() if isinstance(value, np.void) else value
        kinds = (tuple, list) if type.shape else tuple
        if type.dtype is not None and isinstance(given, kinds) and len(given) == len(type.fields):
            return type.python_class(*given)
        if type.shape and isinstance(value, np.ndarray) and value.shape == type.shape:
            return from_components(type, value)
    elif isinstance(type, InlineType):
        return InlineValue(type, value, what)
    elif isinstance(type, ListType):
        if isinstance(value, list):
            return value
    elif isinstance(type, TupleType):
        if isinstance(value, tuple) and len(value) == len(type.items):
            return tuple(convert(t, v, what) for t, v in zip(type.items, value, strict=True))
    elif isinstance(type, ArrayType):
        if getattr(value, "__sharedoa_element__", None) is not None and accepts(type, value):
            return value
    elif isinstance(type, (VoidType, NullType)) and value is None:
        return None
    help = f"pass a value of type {type!r}"
    if isinstance(type, ArrayType) and hasattr(value, "_kernel_type"):
        help = two_dimensions(type)
    if isinstance(type, ArrayType) and isinstance(value, (np.ndarray, list, tuple)):
        help = f"make one that kernels can reach: oa.array({type.element!r}, data)"
    raise mismatch(type, value, what, help)


def _may_be(cls: ClassType, value: Any) -> bool:
    """Whether ``value`` is an object of ``cls``, or was one for all that is known: of a reference
    to what is gone kernels may still ask whether it lives."""
    of = type(value)
    return issubclass(of, cls.python_class) or getattr(of, "__sharedoa__", value) is None


def mismatch(type: Type, value: Any, what: str, help: str) -> ArgumentError:
    """``value`` is of no class that ``type`` takes. Says so where that is because a class was
    defined again, as in a notebook's cell."""
    message = f"{what} takes {type!r}, not {describe(value)}"
    element = type.element if isinstance(type, ArrayType) else type
    given = _class_of(value)
    if given is None or not isinstance(element, ReferenceType):
        return ArgumentError(message, help)
    older = older_definition(element.cls, given)
    if older is None:
        return ArgumentError(message, help)
    return ArgumentError(f"{message} of {older}", REDEFINED)


REDEFINED = "define classes that derive from it again, too, and make their objects anew"


def older_definition(expected: ClassType, given: ClassType) -> str | None:
    """That ``given`` is, or derives from, what ``expected`` was before it was defined again."""
    name = expected.python_class.__module__, expected.python_class.__qualname__
    for cls in given.ancestry():
        if cls is not expected and name == (
            cls.python_class.__module__,
            cls.python_class.__qualname__,
        ):
            again = f"{expected.name} that has been defined again since"
            return f"a {again}" if cls is given else f"a class below a {again}"
    return None


def _class_of(value: Any) -> ClassType | None:
    """The class of an object, or of the objects of an array or population."""
    element = getattr(value, "__sharedoa_element__", None)
    if isinstance(element, ReferenceType):
        return element.cls
    if hasattr(value, "_references"):
        found: ClassType = value._cls
        return found
    return getattr(value.__class__, "__sharedoa__", None)


def two_dimensions(type: ArrayType) -> str:
    """What to do with an array of two dimensions where one of ``type`` is wanted."""
    return f"annotate it with oa.Array[{type.element!r}, 2], or pass its a.flat, or a row of it"


def takes(type: Type, value: Any) -> bool:
    """Whether a scalar or value struct of ``type`` is made of a host value by ``convert``, but for
    its size."""
    if isinstance(type, ScalarType):
        source = scalar_type_of(value)
        return source is not None and can_store(source, type)
    return isinstance(type, ValueType) and isinstance(value, type.python_class)


def accepts(type: ArrayType, array: Any) -> bool:
    """Whether it is one of one dimension, whose elements are of the array type's: the same, or of
    a subclass."""
    if hasattr(array, "_kernel_type"):
        return False
    return accepts_elements(type, array.__sharedoa_element__)


def accepts_elements(type: ArrayType, element: Type) -> bool:
    """Whether arrays of ``element`` are arrays of the array type."""
    if isinstance(type.element, ReferenceType) and isinstance(element, ReferenceType):
        return element.cls.is_subclass_of(type.element.cls)
    return bool(element == type.element)


def _convert_scalar(type: ScalarType, value: Any, what: str) -> Any:
    source = scalar_type_of(value)
    if source is None:
        help = "pass one number of them" if holds_many(value) else f"pass {type}(...)"
        raise ArgumentError(f"{what} takes {type}, not {describe(value)}", help)
    if source == type:
        return value
    if not can_store(source, type):
        raise ArgumentError(
            f"{what} takes {type}, and {source} does not convert to it by itself",
            f"write {type}(...)",
        )
    if source == weak_int and type.is_integer:
        low, high = type.range
        if not low <= value <= high:
            raise ArgumentError(
                f"{what} takes {type}, and {value} does not fit it ({low} to {high})",
                f"use a smaller number, or {type}(...) to wrap it",
            )
    return type(value)


def zero_of(type: Type) -> Any:
    """0, False, None, or a value struct of these."""
    if isinstance(type, ScalarType):
        return type(0)
    if isinstance(type, ValueType):
        return type.python_class(*map(zero_of, type.fields.values()))
    return None


def holds_many(value: Any) -> bool:
    """Whether a host value is a sequence of values, such as a list, an array or a view of a field
    of many objects; text and NumPy's arrays without dimensions are one value."""
    # Asked of the class: what shared objects are asked for may be a field. Classes of enumerations
    # have a length themselves, and their members none.
    if not hasattr(type(value), "__len__") or isinstance(value, (str, bytes, enum.Enum)):
        return False
    return bool(getattr(value, "ndim", 1))


def describe(value: Any) -> str:
    """A host value in an error message: its type, and how to tell it from others."""
    if value is None:
        return "None"
    element = getattr(value, "__sharedoa_element__", None)
    if element is not None:
        return repr(getattr(value, "_kernel_type", f"Array[{element!r}]")).strip("'")
    if isinstance(value, np.ndarray):
        return f"a NumPy array of {value.dtype}"
    return f"{type(value).__name__} {value!r}" if np.isscalar(value) else type(value).__name__


def from_host(type: Type, value: Any, what: str, heap: Any) -> Any:
    """What to write to memory for ``value``: a number, a reference, or a tuple for a value struct.

    Raises ArgumentError when the value does not convert or belongs to another heap.
    """
    value = convert(type, value, what)
    if isinstance(type, ReferenceType):
        return heap.reference(value) if value is not None else 0
    if isinstance(type, ValueType):
        if type.shape:
            return np.asarray(value)
        fields = type.fields.items()
        return tuple(from_host(t, getattr(value, n), f"{what}.{n}", heap) for n, t in fields)
    if isinstance(type, InlineType):
        return value.memory(lambda each: from_host(type.element, each, what, heap), heap)
    if isinstance(type, ArrayType):
        heap.held_arrays.note(type, value)
        return (value._address, len(value))
    return value


def to_host(type: Type, raw: Any, heap: Any) -> Any:
    """The host value of what memory holds: ``raw`` is a NumPy scalar, or np.void for a struct."""
    if isinstance(type, ScalarType):
        return bool(raw) if type.kind == "bool" else raw
    if isinstance(type, ReferenceType):
        return heap.wrap(int(raw))
    if isinstance(type, ValueType):
        if type.shape:
            return from_components(type, raw)
        return type.python_class(*(to_host(t, raw[n], heap) for n, t in type.fields.items()))
    if isinstance(type, InlineType):
        places = np.ndindex(*type.shape)
        return InlineValue.of(type, [to_host(type.element, raw[place], heap) for place in places])
    if isinstance(type, ArrayType):
        return heap.array_at(type.element, int(raw["address"]), int(raw["length"]))
    raise ArgumentError(f"{type!r} cannot be read from memory", "read its elements instead")


def from_components(type: ValueType, components: np.ndarray[Any, Any]) -> Any:
    """A vector or a matrix from an array of its shape."""
    rows = zip(type.fields.values(), components, strict=True)
    parts = (from_components(t, row) if isinstance(t, ValueType) else row for t, row in rows)
    return type.python_class(*parts)


class InlineValue:
    """An inline array in a value struct: it does not change. ``a[i]``, of several lengths
    ``a[i, j]``; ``a[i]`` is a row then."""

    __slots__ = ("_items", "type")
    type: InlineType
    #: Row by row.
    _items: tuple[Any, ...]

    def __init__(self, type: InlineType, value: Any, what: str) -> None:
        """Raises ArgumentError unless ``value`` is as many elements as there are, in rows where
        the array has rows."""
        self.type = type
        length, *rest = type.shape
        if not holds_many(value) or len(value) != length:
            given = f"{len(value)} values" if holds_many(value) else describe(value)
            raise ArgumentError(
                f"{what} takes {length} {'rows' if rest else 'values'}, not {given}",
                f"pass a tuple, a list or an array of shape {type.shape}",
            )
        if rest:
            row = InlineType(type.element, tuple(rest))
            rows = (convert(row, each, f"{what}[{i}]")._items for i, each in enumerate(value))
            self._items = sum(rows, ())
        else:
            items = enumerate(value)
            self._items = tuple(convert(type.element, each, f"{what}[{i}]") for i, each in items)

    @classmethod
    def of(cls, type: InlineType, items: Iterable[Any]) -> InlineValue:
        """Of elements that are of its type."""
        made = cls.__new__(cls)
        made.type, made._items = type, tuple(items)
        return made

    def memory(self, element: Callable[[Any], Any], heap: Any) -> Any:
        """What memory holds, by what it holds for one element."""
        dtype = heap.layout.dtype(self.type)
        items = np.empty((len(self._items), *dtype.shape[len(self.type.shape) :]), dtype.base)
        for place, each in enumerate(self._items):
            items[place] = element(each)
        return items.reshape(dtype.shape)

    def __len__(self) -> int:
        return self.type.shape[0]

    def __getitem__(self, index: Any) -> Any:
        type, first, places = self.type, 0, index if isinstance(index, tuple) else (index,)
        if len(places) > len(type.shape):
            raise IndexError(f"{type!r} has {len(type.shape)} indices, not {len(places)}")
        for axis, place in enumerate(map(operator.index, places)):
            length = type.shape[axis]
            if not -length <= place < length:
                raise IndexError(f"index {place} is outside of {length} elements of {type!r}")
            first = first * length + place % length
        rest = type.shape[len(places) :]
        if not rest:
            return self._items[first]
        row = InlineType(type.element, rest)
        return InlineValue.of(row, self._items[first * row.length : (first + 1) * row.length])

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self._items, dtype).reshape(self.type.shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InlineValue) or other.type.shape != self.type.shape:
            return NotImplemented
        # Not as tuples: those call a NaN equal to itself when it is the same Python object.
        return all(bool(a == b) for a, b in zip(self._items, other._items, strict=True))

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return repr(tuple(self))
