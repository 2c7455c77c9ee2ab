"""What is computed at once of few numbers that lie in memory of the host, by NumPy.

Whoever asks for a sum of a thousand numbers waits longer for what decides where it is computed than
for the sum. All that has to be asked where the numbers are at hand (``NumPyLike._at_hand``) and
nobody records what the thread does is asked here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..heap.arrays import Array
from ..heap.heap import Heap
from ..heap.numpy_like import MOST_AT_HAND, NumPyLike
from ..heap.placement import Values
from ..heap.recording import recording, refuse_change
from ..model.scalars import ScalarType, from_dtype, i64
from . import on_host
from .operators import operator
from .scratch import scratch

_WORDS = range(-(1 << 63), 1 << 64)
"""Integers that there is a type for."""


def at_hand(values: NumPyLike) -> Values | None:
    """The numbers; None where more has to be looked at."""
    return None if recording.get() is not None else values._at_hand()


def computed(values: NumPyLike, given: Values, name: str) -> Any:
    """``values.name()`` without options, of ``given``, which is at hand; NotImplemented where more
    has to be looked at."""
    make = _NO_NUMBER.get(name)
    if make is None:
        return on_host.of_few(name, given.dtype.char)(given)
    return make(values, given)


def where(operands: list[Any]) -> Any:
    """``np.where(*operands)`` in a new array, or new arrays; NotImplemented where more has to be
    looked at."""
    given: list[Any] = []
    heap: Heap | None = None
    for each in operands:
        if isinstance(each, NumPyLike):
            found = at_hand(each)
            if (
                found is None
                or len(found) > MOST_AT_HAND
                or (given and found.shape != given[0].shape)
            ):
                return NotImplemented
            heap = heap or each._heap
            given.append(found)
        elif given and (isinstance(each, float) or (isinstance(each, int) and each in _WORDS)):
            given.append(each)
        else:
            return NotImplemented
    assert heap is not None
    chosen = np.where(*given)
    if isinstance(chosen, tuple):
        return tuple(_new(heap, each) for each in chosen)
    return _new(heap, chosen)


def _new(heap: Heap, values: Values) -> Array:
    if not len(values):
        return heap.blank(_type_of(values.dtype), 0)
    array, memory = _blank(heap, _type_of(values.dtype), len(values))
    memory[:] = values
    return array


def _blank(heap: Heap, type: ScalarType, length: int) -> tuple[Array, Values]:
    """A new array, and its memory."""
    array = scratch(heap, type, length)
    memory = array._at_hand()
    assert memory is not None
    return array, memory


@cache
def _type_of(dtype: np.dtype[Any]) -> ScalarType:
    found = from_dtype(dtype)
    assert found is not None
    return found


def _cumsum(values: NumPyLike, given: Values) -> Any:
    total = operator("sum", _type_of(given.dtype)).total
    if total.is_float or len(given) > MOST_AT_HAND:
        return NotImplemented  # by a kernel, of floats as a tree of another kind
    array, memory = _blank(values._heap, total, len(given))
    np.add.accumulate(given, dtype=memory.dtype, out=memory)
    return array


def _sort(values: NumPyLike, given: Values) -> Any:
    # Of a field, ``given`` may be a copy.
    return sort(values, given) if isinstance(values, Array) else NotImplemented


def sort(array: Array, memory: Values) -> None:
    """Sort an array of one dimension, whose memory is that of the host."""
    refuse_change(array._heap)
    if memory.dtype.kind == "f":
        on_host.sort_floats(memory)
    else:
        on_host.sort(memory)
    array._note_change()


def _argsort(values: NumPyLike, given: Values) -> Any:
    array, memory = _blank(values._heap, i64, len(given))
    on_host.argsort(given, memory)
    return array


_NO_NUMBER: dict[str, Callable[[NumPyLike, Values], Any]] = {
    "cumsum": _cumsum,
    "sort": _sort,
    "argsort": _argsort,
}
"""What gives no number, or changes the elements."""
