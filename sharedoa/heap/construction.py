"""From what users pass to ``oa.new``, ``oa.array`` and ``oa.concat`` to fields and elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ..errors import ArgumentError, HeapError
from ..model.annotations import Scope, resolve
from ..model.classes import ClassType, common_base
from ..model.deleted import DeletedReference
from ..model.scalars import ScalarType, from_dtype
from ..model.types import ArrayType, ReferenceType, Type, ValueType, array_form
from ..model.values import REDEFINED, holds_many, older_definition
from .conversion import Column, as_numpy, block, column, raw_value
from .numpy_like import NumPyLike, refuse_traced
from .objects import ManyObjects

if TYPE_CHECKING:
    from .arrays import ObjectArray
    from .heap import Heap

Many = Union[Sequence[Any], "ObjectArray"]

_ELEMENTS = (ScalarType, ReferenceType, ValueType)


def count_of(given: Any, what: str) -> int:
    """A number of objects or elements. Raises ArgumentError."""
    try:
        count = given.__index__()
    except (AttributeError, TypeError):  # an array of several numbers has one that raises
        count = -1
    if isinstance(given, bool) or count < 0:
        raise ArgumentError(f"{what} is {given!r}", "give an int that is not negative")
    return int(count)


def declared_fields(cls: ClassType, given: Iterable[str]) -> dict[str, Type]:
    """The fields of those names. Raises ArgumentError for names that are none."""
    declared = cls.fields
    unknown = [name for name in given if name not in declared]
    if unknown:
        raise ArgumentError(
            f"{cls.name} has no field {', '.join(unknown)}",
            f"its fields are {', '.join(declared) or 'none'}",
        )
    return {name: declared[name] for name in given}


def arguments_of_each(cls: ClassType, count: int, given: dict[str, Any]) -> list[dict[str, Any]]:
    """What the ``__init__`` of each of ``count`` new objects is called with: of what holds many
    values, each its own. Raises ArgumentError if they are not as many."""
    for name, value in given.items():
        if holds_many(value) and len(value) != count:
            raise ArgumentError(
                f"{cls.name}.__init__: {name} has {len(value)} values for {count} objects",
                "pass one value, or one for each object",
            )
    many = {name for name, value in given.items() if holds_many(value)}
    return [
        {name: value[place] if name in many else value for name, value in given.items()}
        for place in range(count)
    ]


def initialise(
    heap: Heap, made: Many, arguments: Iterable[tuple[tuple[Any, ...], dict[str, Any]]]
) -> None:
    """Call ``__init__`` of each new object with its own arguments. If one raises, all are deleted,
    and what it raised goes on."""
    try:
        for one, (given, named) in zip(made, arguments, strict=True):
            one.__init__(*given, **named)
    except BaseException:
        _undo(heap, made)
        raise


def initialise_one(heap: Heap, made: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    """The same of one object."""
    try:
        made.__init__(*given, **named)
    except BaseException:
        _undo(heap, [made])
        raise


def _undo(heap: Heap, made: Many) -> None:
    try:
        heap.wait()  # it may have launched, and what fails there is said, too
    finally:
        heap.delete(_still_there(made))


def _still_there(made: Many) -> list[Any]:
    """Of new objects those that their ``__init__`` has not deleted."""
    found = []
    for place in range(len(made)):
        try:
            one = made[place]
        except HeapError:
            continue
        if not isinstance(one._reference, DeletedReference):
            found.append(one)
    return found


def field_columns(
    heap: Heap, cls: ClassType, count: int, fields: dict[str, Any]
) -> dict[str, Column]:
    """The values of ``fields`` for ``count`` new objects. Raises ArgumentError."""
    fields = {**cls.defaults, **fields}
    return {
        name: column(type, fields[name], count, f"{cls.name}.{name}", heap)
        for name, type in declared_fields(cls, fields).items()
    }


def field_values(heap: Heap, cls: ClassType, fields: dict[str, Any]) -> dict[str, Any]:
    """The values of ``fields`` for one new object. Raises ArgumentError."""
    fields = {**cls.defaults, **fields}
    declared = declared_fields(cls, fields)
    try:
        return {
            name: column(type, fields[name], 1, f"{cls.name}.{name}", heap)
            if array_form(type)[1]
            else raw_value(type, fields[name], f"{cls.name}.{name}", heap)
            for name, type in declared.items()
        }
    except ArgumentError:
        for name, type in declared.items():
            if _is_meant_for_many(type, fields[name]):
                raise _number_is_missing(cls, name, len(fields[name])) from None
        raise


def _is_meant_for_many(type: Type, value: Any) -> bool:
    """Whether ``value`` can only be one value for each of several objects."""
    if not holds_many(value) or isinstance(type, ArrayType):
        return False
    shape = array_form(type)[1]
    if shape:
        return getattr(value, "ndim", 1) > len(shape) and len(value) != 1
    return not (isinstance(type, ValueType) and isinstance(value, (tuple, type.python_class)))


def _number_is_missing(cls: ClassType, name: str, given: int) -> ArgumentError:
    return ArgumentError(
        f"{cls.name}.{name}: {given} values for one object",
        f"give the number of objects: oa.new({cls.name}, {given}, {name}=...)",
    )


def element_type(heap: Heap, annotation: Any) -> Type:
    """The type of elements that ``annotation`` means: f32, a shared class, a value class.

    Raises ClassError for what is no type, ArgumentError for one that arrays do not hold.
    """
    found: Type | None = annotation
    if not isinstance(annotation, _ELEMENTS):
        found = _numpy_type(annotation)
    if found is None:
        found = resolve(annotation, Scope({}, ""), "the element type")
    if isinstance(found, ReferenceType):
        return heap.reference_type(found.cls)
    if isinstance(found, _ELEMENTS):
        return found
    raise ArgumentError(
        f"an array cannot hold {found!r}",
        "elements are scalars, references to shared classes, or value structs",
    )


def _numpy_type(given: Any) -> ScalarType | None:
    """A number type as NumPy takes it: np.float32, np.dtype("f4"), Python's float and int."""
    is_type = isinstance(given, type) and issubclass(given, (np.generic, int, float))
    return from_dtype(np.dtype(given)) if is_type or isinstance(given, np.dtype) else None


def element_column(heap: Heap, element: Type, data: Any) -> Column:
    """``data`` as elements, of shape (elements,) or (rows, columns). Raises ArgumentError."""
    what = f"Array[{element!r}]"
    if not hasattr(data, "__len__") or getattr(data, "shape", None) == ():
        if not isinstance(data, Iterable) or hasattr(data, "shape"):
            raise ArgumentError(
                f"{what} is made from a sequence, not {data!r}",
                "pass a NumPy array, a list or another iterable; oa.zeros(n, T) makes an empty one",
            )
        data = list(data)
    if isinstance(element, ScalarType):
        data = as_numpy(data, what) if hasattr(data, "__array__") else data
    shape = _shape(element, data)
    if len(shape) > 2:
        raise ArgumentError(
            f"{what} has one or two dimensions, and the data have {len(shape)}",
            "pass data.reshape(len(data), -1) and compute the second index",
        )
    item, inner = array_form(element)
    if len(shape) == 2:
        return block(item, data, (*shape, *inner), what, heap)
    found = column(element, data, len(data), what, heap)
    shape = (len(data), *inner)
    if found.shape != shape and inner:
        raise ArgumentError(
            f"{what} is made from data of shape {found.shape}",
            f"pass one row an element: an array of shape {shape}",
        )
    return found


def _shape(element: Type, data: Any) -> tuple[int, ...]:
    """Of two dimensions where the data are rows of elements. Numbers in rows may each be a value,
    and so may a tuple."""
    inner = array_form(element)[1]
    if inner:
        return tuple(np.shape(data)[: max(1, np.ndim(data) - len(inner))])
    if isinstance(element, ValueType):
        is_table = getattr(getattr(data, "dtype", None), "names", None) is not None
        if is_table and data.ndim > 1:
            return tuple(data.shape)
        is_nested = isinstance(data, (list, tuple)) and len(data) and isinstance(data[0], list)
        is_nested = is_nested and len(data[0]) and isinstance(data[0][0], element.python_class)
        return (len(data), len(data[0])) if is_nested else (len(data),)
    if getattr(data, "ndim", 1) > 1:
        return tuple(data.shape)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], (list, tuple)):
        return len(data), len(data[0])
    return (len(data),)


def shape_of_new(given: Any) -> tuple[int, ...]:
    """Of an array of so many elements, or of rows and columns. Raises ArgumentError."""
    lengths = given if isinstance(given, tuple) else (given,)
    if len(lengths) not in (1, 2):
        raise ArgumentError(
            f"oa.zeros is given {len(lengths)} lengths", "arrays have one or two dimensions"
        )
    return tuple(count_of(each, "the length of an array") for each in lengths)


def concatenated(heap: Heap, parts: tuple[Any, ...]) -> tuple[Type, Column]:
    """The common element type of arrays and populations, and all their elements."""
    if not parts:
        raise ArgumentError("oa.concat is given nothing", "pass one array or more")
    for part in parts:
        if isinstance(part, NumPyLike):
            refuse_traced(part)
        # Asked of an array of objects, it would write a long message.
        if hasattr(type(part), "_kernel_type"):
            raise ArgumentError(
                f"oa.concat is given {part._description()}",
                "pass all elements of it, a.flat, or use np.concatenate and oa.array",
            )
        if getattr(part, "_heap", heap) is not heap:
            raise ArgumentError(
                "oa.concat is given arrays of different heaps", "create them in one heap"
            )
    many = [part._cls for part in parts if isinstance(part, ManyObjects)]
    if len(many) == len(parts):
        base = common_base(many)
        if base is None:
            names = ", ".join(dict.fromkeys(cls.name for cls in many))
            roots = [list(cls.ancestry())[-1] for cls in many]
            again = any(older_definition(a, b) for a in roots for b in roots)
            raise ArgumentError(
                f"oa.concat: {names} have no common base class"
                + (", as one was defined again" if again else ""),
                REDEFINED if again else "derive them from one class: class Base(oa.Object)",
            )
        assert all(isinstance(part, ManyObjects) for part in parts)
        return heap.reference_type(base), np.concatenate([part._references() for part in parts])
    elements = [getattr(part, "__sharedoa_element__", None) for part in parts]
    if elements[0] is None or any(element != elements[0] for element in elements):
        kinds = ", ".join(
            repr(e) if e is not None else type(p).__name__
            for e, p in zip(elements, parts, strict=True)
        )
        raise ArgumentError(
            f"oa.concat is given elements of different types: {kinds}",
            "convert them to one type first: oa.array(T, data)",
        )
    return elements[0], np.concatenate([part.numpy() for part in parts])
