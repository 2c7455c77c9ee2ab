"""``oa.where``, ``oa.count_nonzero``, ``oa.reduce`` and ``oa.scan``."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from ..errors import ArgumentError, EmptyError
from ..heap import hooks
from ..heap.array2 import Array2
from ..heap.arrays import Array, FieldView
from ..heap.heap import Heap
from ..heap.numpy_like import NumPyLike, is_traced, refuse_traced
from ..heap.recording import filling_new_memory, is_taped, not_recorded
from ..model.functions import DeviceFunction
from ..model.scalars import from_dtype
from ..model.types import Type
from ..model.values import describe, to_host
from . import calls, few, plans, selection
from . import scan as scans
from .operators import same
from .scratch import first_of

_NOTHING: Any = object()


def count_nonzero(values: Any) -> int:
    """How many elements of an array or a view are not 0, as ``np.count_nonzero``."""
    if not isinstance(values, NumPyLike):
        return int(np.count_nonzero(values))
    given = few.at_hand(values)
    if given is not None:
        return int(np.count_nonzero(given))
    type = calls.number_type(values, "count_nonzero")
    # No float, and so constant to a tape.
    with not_recorded() if is_taped(values._heap) else nullcontext():
        return int(calls.reduce(values, "count", type))


def where(condition: Any, left: Any = _NOTHING, right: Any = _NOTHING) -> Any:
    """A new array of the elements of ``left`` where ``condition`` is not 0, else of ``right``; of
    one dimension, or numbers. Without these, as in NumPy, a tuple of one array, of the indices
    where ``condition`` is not 0. What has no array or view in it is left to NumPy.

    Raises ArgumentError for different lengths, or for what are no numbers.
    """
    operands = [condition] if left is _NOTHING and right is _NOTHING else [condition, left, right]
    if any(each is _NOTHING for each in operands):
        raise ArgumentError(
            "oa.where is given one of two choices", "write oa.where(condition, left, right)"
        )
    found = few.where(operands)
    if found is NotImplemented:
        found = selection.again(operands)
    return found if found is not NotImplemented else _where(operands)


@filling_new_memory
def _where(operands: list[Any]) -> Any:
    given = [each for each in operands if isinstance(each, NumPyLike)]
    if not given:
        return np.where(*operands)
    heap = given[0]._heap
    if len(operands) == 1 and is_taped(heap):
        with not_recorded():
            return _where(operands)
    if any(map(is_traced, given)):
        return hooks.traced_where(*operands)
    types = [_dtype(each) for each in operands]
    shapes = {_shape(each) for each in operands} - {()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise ArgumentError(
            f"oa.where is given arrays of shapes {', '.join(map(str, sorted(shapes)))}",
            "pass arrays of one length, or numbers",
        )
    if shapes == {(0,)} or all(map(calls.is_for_numpy, given)):
        return _by_numpy(heap, operands)
    chosen, *others = [_operand(heap, *pair) for pair in zip(operands, types, strict=True)]
    if not others:
        return (selection.indices(chosen),)
    result = from_dtype(np.result_type(*(_weak(each) for each in operands[1:])))
    assert result is not None
    choice = partial(selection.Choice, (chosen, *others), result)
    kind = selection.kind_of(operands)
    if kind is None:
        return choice()(chosen, *others)
    return plans.planned(*kind, choice, chosen, *others)


def _by_numpy(heap: Heap, operands: list[Any]) -> Any:
    found = np.where(*(np.asarray(o) if isinstance(o, NumPyLike) else o for o in operands))
    if isinstance(found, tuple):
        return tuple(heap.array(from_dtype(each.dtype), each) for each in found)
    return heap.array(from_dtype(found.dtype), found)


def _weak(operand: Any) -> Any:
    return operand if isinstance(operand, (bool, int, float)) else _dtype(operand)


def _dtype(operand: Any) -> np.dtype[Any]:
    if isinstance(operand, NumPyLike):
        return calls.number_type(operand, "where").dtype
    dtype = np.asarray(operand).dtype
    if from_dtype(dtype) is None:
        raise ArgumentError(
            f"oa.where does not take {describe(operand)}", "pass arrays and numbers"
        )
    return dtype


def _shape(operand: Any) -> tuple[int, ...]:
    return operand.shape if isinstance(operand, NumPyLike) else np.shape(operand)


def _operand(heap: Heap, operand: Any, dtype: np.dtype[Any]) -> Any:
    """An array of numbers, or a number for all elements."""
    type = from_dtype(dtype)
    assert type is not None
    if isinstance(operand, NumPyLike):
        if operand._heap is not heap:
            raise ArgumentError(
                "oa.where is given arrays of two heaps", "copy one over with oa.array(...)"
            )
        return calls.array_of(operand, type)
    given = np.asarray(operand, dtype)
    return heap.array_of(type, given) if given.ndim else dtype.type(operand)


@filling_new_memory
def reduce(function: DeviceFunction, values: Any, initial: Any = _NOTHING) -> Any:
    """All elements of an array or view combined: ``function(function(a[0], a[1]), ...)``, where
    ``function`` is an ``@oa.func`` of two elements that gives one. It must be associative, and
    need not be commutative: it is applied to neighbours, in a tree that depends on the length
    alone, so that the result is the same on every backend. ``initial`` comes before the first.

    Raises ArgumentError for another function, ValueError if there is nothing to combine.
    """
    if isinstance(values, NumPyLike):
        refuse_traced(values)
    array, element = _combined(function, values, "oa.reduce")
    if not len(array):
        if initial is _NOTHING:
            raise EmptyError("oa.reduce of no elements", "give it an initial value")
        return initial
    found = scans.combined(array, element, same(element), function)
    total = to_host(element, first_of(found), array._heap)
    return total if initial is _NOTHING else function(initial, total)


@filling_new_memory
def scan(function: DeviceFunction, values: Any) -> Array:
    """A new array whose element i is elements 0 to i combined (``reduce``).

    Raises ArgumentError for another function.
    """
    array, element = _combined(function, values, "oa.scan")
    if not len(array):
        return array._heap.blank(element, 0)
    return scans.scan(array, element, same(element), function)


def _combined(function: Any, values: Any, what: str) -> tuple[Array, Type]:
    """The elements as an array, and their type, which is that of what is combined."""
    if not isinstance(function, DeviceFunction):
        raise ArgumentError(
            f"{what} takes a function first, not {describe(function)}",
            "decorate a function of two elements with @oa.func",
        )
    if not isinstance(values, (Array, FieldView)):
        raise ArgumentError(
            f"{what} takes an array or a view of a field, not {describe(values)}",
            "make an array of it: oa.array(f32, data)",
        )
    if isinstance(values, FieldView):
        values = calls.array_of(values, calls.number_type(values, what))
    elif isinstance(values, Array2):  # row by row, as of a field that has several numbers
        values = values._flat
    element: Type = values.__sharedoa_element__
    signature = function.signature
    if [*signature.types, signature.result] != [element] * 3:
        types = ", ".join(map(repr, signature.types))
        raise ArgumentError(
            f"{what}: {function.name}({types}) -> {signature.result!r} does not combine elements "
            f"of {values._description()}",
            f"it must take two {element!r} and return one",
        )
    return values, element
