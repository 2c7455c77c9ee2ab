"""Expressions in all sampled threads at once, and the fields that they touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..frontend import tree
from ..model.record import part_of, scalar_parts
from ..model.scalars import ScalarType
from ..model.types import InlineType, ReferenceType, Type, ValueType
from .lanes import Arrays, Flags, Objects, Parts, Scalars, Stored, Value, Weights, merged
from .memory import Lvalue
from .operators import binary, compare, converted, mathematics, unary

if TYPE_CHECKING:
    from .threads import Threads

Evaluate = Callable[["Threads", Any, Weights], Value]
_EVALUATE: dict[type, Evaluate] = {}


def evaluates(kind: type) -> Callable[[Evaluate], Evaluate]:
    def note(function: Evaluate) -> Evaluate:
        _EVALUATE[kind] = function
        return function

    return note


def evaluate(threads: Threads, node: tree.Expression, weights: Weights) -> Value:
    """What ``node`` is in each thread that runs it."""
    threads.count()
    found = _EVALUATE.get(node.__class__)
    return None if found is None else found(threads, node, weights)


def scalars(threads: Threads, node: tree.Expression, weights: Weights) -> Scalars | None:
    value = evaluate(threads, node, weights)
    return value if isinstance(value, Scalars) else None


def flags(value: Scalars) -> Flags:
    found: Flags = value.values.astype(bool)
    return found


def split(test: Value, weights: Weights) -> tuple[Weights, Weights]:
    """How often lanes go either way; those of which nobody knows go both, half as often."""
    if not isinstance(test, Scalars):
        return weights / 2, weights / 2
    is_true = flags(test)
    then = np.where(test.known, np.where(is_true, weights, 0.0), weights / 2)
    return then, weights - then


# ------------------------------------------------------------------ values


@evaluates(tree.Constant)
def _constant(threads: Threads, node: tree.Constant, weights: Weights) -> Value:
    assert isinstance(node.type, ScalarType)
    return threads.all_lanes(np.full(threads.lanes, node.value, node.type.dtype))


@evaluates(tree.Null)
def _null(threads: Threads, node: tree.Null, weights: Weights) -> Value:
    return threads.all_lanes(np.zeros(threads.lanes, np.uint64))


@evaluates(tree.Local)
def _local(threads: Threads, node: tree.Local, weights: Weights) -> Value:
    return threads.variables.get(node.variable)


@evaluates(tree.Let)
def _let(threads: Threads, node: tree.Let, weights: Weights) -> Value:
    threads.variables[node.variable] = evaluate(threads, node.value, weights)
    return evaluate(threads, node.body, weights)


@evaluates(tree.Convert)
def _convert(threads: Threads, node: tree.Convert, weights: Weights) -> Value:
    value = evaluate(threads, node.value, weights)
    if isinstance(value, Scalars) and isinstance(node.type, ScalarType):
        return Scalars(converted(value.values, node.type.dtype), value.known)
    return value


@evaluates(tree.Truth)
def _truth(threads: Threads, node: tree.Truth, weights: Weights) -> Value:
    value = evaluate(threads, node.value, weights)
    if isinstance(value, Scalars):
        return Scalars(value.values != 0, value.known)
    return _is_positive(_length(threads, value))


def _is_positive(value: Value) -> Value:
    return Scalars(value.values > 0, value.known) if isinstance(value, Scalars) else None


@evaluates(tree.ArrayLength)
def _array_length(threads: Threads, node: tree.ArrayLength, weights: Weights) -> Value:
    return _length(threads, evaluate(threads, node.array, weights))


def _length(threads: Threads, array: Value) -> Value:
    if isinstance(array, Arrays):
        return Scalars(array.length.astype(np.int64), array.known)
    if isinstance(array, Objects):
        return Scalars(np.full(threads.lanes, array.length, np.int64), array.known)
    return None


@evaluates(tree.ThreadIndex)
def _thread_index(threads: Threads, node: tree.ThreadIndex, weights: Weights) -> Value:
    return threads.all_lanes(threads.index[node.axis])


@evaluates(tree.GridSize)
def _grid_size(threads: Threads, node: tree.GridSize, weights: Weights) -> Value:
    return threads.all_lanes(np.full(threads.lanes, threads.size[node.axis], np.int64))


# ------------------------------------------------------------------ operators


@evaluates(tree.Unary)
def _unary(threads: Threads, node: tree.Unary, weights: Weights) -> Value:
    value = scalars(threads, node.operand, weights)
    return None if value is None else Scalars(unary(node.operator, value.values), value.known)


@evaluates(tree.Binary)
@evaluates(tree.Compare)
def _binary(threads: Threads, node: tree.Binary | tree.Compare, weights: Weights) -> Value:
    left = scalars(threads, node.left, weights)
    right = scalars(threads, node.right, weights)
    if left is None or right is None:
        return None
    combine = binary if isinstance(node, tree.Binary) else compare
    found = combine(node.operator, left.values, right.values)
    return None if found is None else Scalars(found, left.known & right.known)


@evaluates(tree.Logical)
def _logical(threads: Threads, node: tree.Logical, weights: Weights) -> Value:
    left = evaluate(threads, node.left, weights)
    true, false = split(left, weights)
    right = scalars(threads, node.right, true if node.operator == "and" else false)
    if not isinstance(left, Scalars):
        return None
    decided = left.known & (flags(left) == (node.operator == "or"))
    if right is None:
        return Scalars(flags(left), decided)
    return Scalars(np.where(decided, flags(left), flags(right)), decided | left.known & right.known)


@evaluates(tree.Conditional)
def _conditional(threads: Threads, node: tree.Conditional, weights: Weights) -> Value:
    test = evaluate(threads, node.test, weights)
    then, otherwise = split(test, weights)
    first = evaluate(threads, node.then, then)
    second = evaluate(threads, node.otherwise, otherwise)
    if isinstance(test, Scalars):
        return merged(second, first, flags(test) & test.known)
    return second


@evaluates(tree.MathCall)
def _math(threads: Threads, node: tree.MathCall, weights: Weights) -> Value:
    values = [scalars(threads, argument, weights) for argument in node.arguments]
    if len(values) != 1 or values[0] is None:
        return None
    found = mathematics(node.name, values[0].values)
    return None if found is None else Scalars(found, values[0].known)


# ------------------------------------------------------------------ compounds


@evaluates(tree.MakeValue)
def _make_value(threads: Threads, node: tree.MakeValue, weights: Weights) -> Value:
    assert isinstance(node.type, ValueType)
    parts = [evaluate(threads, part, weights) for part in node.fields]
    return Parts(dict(zip(node.type.fields, parts, strict=True)))


@evaluates(tree.ValueField)
def _value_field(threads: Threads, node: tree.ValueField, weights: Weights) -> Value:
    value = evaluate(threads, node.value, weights)
    if isinstance(value, Parts):
        return value.parts.get(node.name)
    if isinstance(value, Stored):
        member = _member(threads, value.lvalue, node.name, node.type)
        return read(threads, member, weights)
    return None


@evaluates(tree.MakeTuple)
def _make_tuple(threads: Threads, node: tree.MakeTuple, weights: Weights) -> Value:
    return Parts(dict(enumerate(evaluate(threads, item, weights) for item in node.items)))


@evaluates(tree.TupleItem)
def _tuple_item(threads: Threads, node: tree.TupleItem, weights: Weights) -> Value:
    value = evaluate(threads, node.value, weights)
    return value.parts.get(node.index) if isinstance(value, Parts) else None


# ------------------------------------------------------------------ calls


@evaluates(tree.DirectCall)
def _direct_call(threads: Threads, node: tree.DirectCall, weights: Weights) -> Value:
    arguments = [evaluate(threads, argument, weights) for argument in node.arguments]
    return threads.call(node.symbol, arguments, weights)


@evaluates(tree.VirtualCall)
def _virtual_call(threads: Threads, node: tree.VirtualCall, weights: Weights) -> Value:
    receiver = evaluate(threads, node.receiver, weights)
    arguments = [receiver, *(evaluate(threads, each, weights) for each in node.arguments)]
    if not isinstance(receiver, Scalars):
        return None
    types = threads.memory.type_indices(receiver)
    result: Value = None
    symbols: dict[str, list[int]] = {}
    for candidate in node.candidates:
        symbols.setdefault(candidate.symbol, []).append(candidate.cls.type_index)
    for symbol, indices in symbols.items():
        mine = np.isin(types, indices)
        own = np.where(mine, weights, 0.0)
        if own.any():
            result = merged(result, threads.call(symbol, arguments, own), mine)
    return result


@evaluates(tree.TypeTest)
def _type_test(threads: Threads, node: tree.TypeTest, weights: Weights) -> Value:
    value = scalars(threads, node.value, weights)
    if value is None:
        return None
    types = threads.memory.type_indices(value)
    matching = [cls.type_index for cls in node.matching]
    return Scalars(np.isin(types, matching), value.known)


# ------------------------------------------------------------------ places


@evaluates(tree.Load)
def _load(threads: Threads, node: tree.Load, weights: Weights) -> Value:
    place = node.place
    if isinstance(place, tree.ElementPlace):
        array = evaluate(threads, place.array, weights)
        if isinstance(array, Objects):
            return _object_of_run(threads, place, array, weights)
        return read(threads, _element(threads, place, array, weights), weights)
    located = locate(threads, place, weights)
    touch(threads, located, weights, is_write=False)
    return read(threads, located, weights)


def read(threads: Threads, lvalue: Lvalue | None, weights: Weights) -> Value:
    """What lies at an lvalue; whoever asks has touched it."""
    if lvalue is None:
        return None
    if isinstance(lvalue.type, ValueType):
        return Stored(lvalue)
    return threads.memory.load(lvalue, weights > 0)


def touch(threads: Threads, lvalue: Lvalue | None, weights: Weights, is_write: bool) -> None:
    """Note that threads read or write what lies at an lvalue of an object."""
    if lvalue is None or lvalue.owner is None:
        return
    for distance, size in scalar_parts(threads.memory.layout.dtype(lvalue.type), 0):
        threads.count()
        threads.touches.add(
            lvalue.owner,
            lvalue.name,
            lvalue.base,
            (lvalue.offset + distance).astype(np.uint64),
            size,
            weights,
            lvalue.known,
            is_write,
        )


@evaluates(tree.Atomic)
def _atomic(threads: Threads, node: tree.Atomic, weights: Weights) -> Value:
    place = locate(threads, node.place, weights)
    for operand in (node.value, node.compare):
        if operand is not None:
            evaluate(threads, operand, weights)
    touch(threads, place, weights, is_write=True)
    return None


def locate(threads: Threads, node: tree.Place, weights: Weights) -> Lvalue | None:
    """What the lvalue is in each thread; None where nobody knows."""
    if isinstance(node, tree.FieldPlace):
        return _field(threads, node, weights)
    if isinstance(node, tree.ElementPlace):
        return _element(threads, node, evaluate(threads, node.array, weights), weights)
    base = locate(threads, node.base, weights)
    if isinstance(node, tree.MemberPlace):
        return None if base is None else _member(threads, base, node.name, node.type)
    index = scalars(threads, node.index, weights)
    if base is None or index is None:
        return None
    assert isinstance(base.type, InlineType)
    position, known = _inside(index, np.int64(base.type.length))
    size = threads.memory.layout.dtype(base.type.element).itemsize
    return base.part(node.type, position * size, known)


def _field(threads: Threads, node: tree.FieldPlace, weights: Weights) -> Lvalue | None:
    receiver = scalars(threads, node.object, weights)
    if receiver is None:
        return None
    owner = node.owner.field_owner(node.name)
    assert owner is not None
    known = threads.memory.are_of(receiver, owner)
    start = threads.memory.layout.record(owner).offsets[node.name]
    offset = np.full(threads.lanes, start, np.int64)
    return Lvalue(node.type, receiver.values, offset, known, owner, node.name)


def _element(
    threads: Threads, node: tree.ElementPlace, array: Value, weights: Weights
) -> Lvalue | None:
    index = _index(threads, node, weights)
    if not isinstance(array, Arrays) or index is None:
        return None
    position, known = _inside(index, array.length)
    size = threads.memory.layout.dtype(node.type).itemsize
    return Lvalue(node.type, array.address, position * size, known & array.known)


def _object_of_run(
    threads: Threads, node: tree.ElementPlace, array: Objects, weights: Weights
) -> Value:
    assert isinstance(node.type, ReferenceType)
    index = _index(threads, node, weights)
    if index is None:
        return None
    position, inside = _inside(index, np.int64(array.length))
    run, known = array.run, inside & array.known
    slots = run.slot + np.where(known, position, 0)
    return Scalars(run.place.arrangement.addresses(run.place.start, slots), known)


def _index(threads: Threads, node: tree.ElementPlace, weights: Weights) -> Scalars | None:
    index = scalars(threads, node.index, weights)
    if index is None or node.neighbour is None:
        return index
    return Scalars(index.values + node.neighbour, index.known)


def _inside(index: Scalars, length: Any) -> tuple[Any, Flags]:
    """The index counted from the front, and whether there is such an element."""
    values = index.values.astype(np.int64)
    position = np.where(values < 0, values + length, values)
    return position, index.known & (position >= 0) & (position < length)


def _member(threads: Threads, base: Lvalue, name: str, type: Type) -> Lvalue:
    inside, _ = part_of(threads.memory.layout.dtype(base.type), name)
    return base.part(type, inside)
