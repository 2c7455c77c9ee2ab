"""What operations compute in all sampled threads at once, by kind; None where nobody knows it in
any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.core import Operation, element_of, type_of
from ..model.layout import member_part
from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType, TupleType, Type, ValueType
from .lanes import ALL, Arrays, Flags, Lvalue, Scalars, Value, joined
from .memory import simplest
from .operators import binary, compare, converted, mathematics, unary

if TYPE_CHECKING:
    from .threads import Threads

_NO_OFFSET = np.uint64(0)


def zero(type: Type) -> Value:
    """0, false, null, an empty array, or a compound of these."""
    if isinstance(type, ScalarType):
        return Scalars(type.dtype.type(0))
    if isinstance(type, ReferenceType):
        return Scalars(np.uint64(0))
    if isinstance(type, ArrayType):
        return Arrays(np.uint64(0), np.int64(0))
    if isinstance(type, ValueType):
        return {name: zero(each) for name, each in type.fields.items()}
    return dict(enumerate(map(zero, type.items))) if isinstance(type, TupleType) else None


def _constant(threads: Threads, operation: Operation) -> Value:
    type = operation.result.type
    assert isinstance(type, ScalarType)
    return Scalars(type.dtype.type(operation["value"]))


def _convert(threads: Threads, operation: Operation, value: Any) -> Value:
    type = operation.result.type
    if isinstance(type, ScalarType):
        return Scalars(converted(value.values, type.dtype), value.known)
    found: Value = value
    return found


def _truth(threads: Threads, operation: Operation, value: Any) -> Value:
    return Scalars((value.length if isinstance(value, Arrays) else value.values) != 0, value.known)


def _binary(threads: Threads, operation: Operation, left: Scalars, right: Scalars) -> Value:
    combine = binary if operation.kind == "binary" else compare
    found = combine(operation["operator"], left.values, right.values)
    return None if found is None else Scalars(found, left.known & right.known)


def _math(threads: Threads, operation: Operation, *given: Scalars) -> Value:
    found = mathematics(operation["name"], given[0].values) if len(given) == 1 else None
    return None if found is None else Scalars(found, given[0].known)


def _select(threads: Threads, operation: Operation, test: Any, then: Any, other: Any) -> Value:
    if test is None:
        return joined(then, other, ALL, ALL)
    return joined(then, other, ~(test.values & test.known), ~test.known)


def _make_value(threads: Threads, operation: Operation, *given: Value) -> Value:
    type = operation.result.type
    assert isinstance(type, ValueType)
    return dict(zip(type.fields, given, strict=True))


def _value_field(threads: Threads, operation: Operation, value: Any) -> Value:
    if isinstance(value, Lvalue):
        return threads.memory.load(_part(threads, operation, value, type_of(operation.result)))
    found: Value = value[operation["name"]]
    return found


def _member(threads: Threads, operation: Operation, base: Lvalue) -> Value:
    return _part(threads, operation, base, element_of(operation.result))


def _part(threads: Threads, operation: Operation, base: Lvalue, type: Type) -> Lvalue:
    assert isinstance(base.type, ValueType)
    inside, _ = member_part(base.type, threads.memory.dtype(base.type), operation["name"])
    return base.part(type, np.uint64(inside))


def _type_test(threads: Threads, operation: Operation, value: Scalars) -> Value:
    matching = operation["matching"]
    return Scalars(
        threads.memory.by_class(value, operation, lambda cls: cls in matching), value.known
    )


def _element(threads: Threads, operation: Operation, array: Arrays, index: Scalars) -> Value:
    type, neighbour = element_of(operation.result), operation.attributes.get("neighbour", 0)
    position, known = _inside(index, array.length, neighbour)
    known = known & array.known
    if array.run is None:
        offset = _bytes(threads, position, type)
        return Lvalue(type, array.address, offset, known)
    place, slots = array.run.place, array.run.slot + np.where(known, position, 0)
    addresses = place.arrangement.addresses(place.start, slots)
    return Lvalue(type, addresses, _NO_OFFSET, known, reference=Scalars(addresses, known))


def _row(
    threads: Threads, operation: Operation, array: Arrays, index: Scalars, rows: Scalars,
    columns: Scalars,
) -> Value:  # fmt: skip
    position, known = _inside(index, rows.values, 0)
    start = Scalars(position * columns.values, known & rows.known)
    return _slice(threads, operation, array, start, columns)


def _slice(
    threads: Threads, operation: Operation, array: Arrays, start: Scalars, count: Scalars
) -> Value:
    type = operation.result.type
    assert isinstance(type, ArrayType)
    address = array.address + _bytes(threads, start.values.astype(np.int64), type.element)
    return Arrays(address, count.values, array.known & start.known & count.known)


def _inline_element(threads: Threads, operation: Operation, base: Any, index: Scalars) -> Value:
    position, known = _inside(index, np.int64(base.type.shape[0]), 0)
    type = base.type.item
    found: Lvalue = base.part(type, _bytes(threads, position, type), known)
    return found


def _inside(index: Scalars, length: Any, neighbour: int) -> tuple[Any, Flags]:
    """The index counted from the front, and whether there is such an element."""
    values = index.values.astype(np.int64) + neighbour
    position = values + length * (values < 0)
    return position, simplest(index.known & (position >= 0) & (position < length))


def _table_element(threads: Threads, operation: Operation, *indices: Scalars) -> Value:
    table = operation["table"]
    flat, known = np.int64(0), ALL
    for index, length in zip(indices, table.shape, strict=True):
        position, inside = _inside(index, np.int64(length), 0)
        flat, known = flat * length + position, known & inside
    return Scalars(table.values[np.where(known, flat, 0)], simplest(known))


def _bytes(threads: Threads, position: Any, type: Type) -> Any:
    return (position * threads.memory.dtype(type).itemsize).astype(np.uint64)


EVALUATE: dict[str, Callable[..., Value]] = {
    "constant": _constant,
    "zero": lambda threads, operation: zero(type_of(operation.result)),
    "convert": _convert,
    "truth": _truth,
    "unary": lambda threads, op, v: Scalars(unary(op["operator"], v.values), v.known),
    "binary": _binary,
    "compare": _binary,
    "select": _select,
    "length": lambda threads, operation, array: Scalars(array.length, array.known),
    "slice": _slice,
    "row": _row,
    "math": _math,
    "table_element": _table_element,
    "make_value": _make_value,
    "value_field": _value_field,
    "make_tuple": lambda threads, operation, *given: dict(enumerate(given)),
    "tuple_item": lambda threads, operation, value: value[operation["index"]],
    "thread_index": lambda threads, operation: Scalars(threads.index[operation["axis"]]),
    "grid_size": lambda threads, op: Scalars(np.int64(threads.size[op["axis"]])),
    "type_test": _type_test,
    "field": lambda threads, op, value: threads.memory.field(value, op["owner"], op["name"]),
    "element": _element,
    "inline_element": _inline_element,
    "member": _member,
    "load": lambda threads, operation, lvalue: threads.memory.load(lvalue),
}
#: Of these something is known also if one of the operands is not known in any lane.
LENIENT = frozenset({"select", "make_value", "make_tuple"})
