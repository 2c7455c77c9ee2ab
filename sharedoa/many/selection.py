"""``oa.where``: elements of one array or the other, and where an array is not 0."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..heap.arrays import Array
from ..model.functions import DeviceFunction
from ..model.intrinsics import grid
from ..model.scalars import ScalarType, from_dtype, i64
from ..runtime.kernel import Kernel, kernel
from .operators import operator
from .scan import scan
from .scratch import first_of, scratch


def choose(condition: Any, left: Any, right: Any, type: ScalarType) -> Array:
    """Element i of ``left`` where that of ``condition`` is not 0, else of ``right``, as ``type``.
    Each is an array, all as long, or one of NumPy's numbers for all; at least one is an array."""
    given = condition, left, right
    first = next(each for each in given if isinstance(each, Array))
    result = scratch(first._heap, type, len(first))
    operands: list[Any] = []
    of: list[Any] = []
    for each in given:
        array, number = (each, _NOTHING) if isinstance(each, Array) else (first, each)
        operands += [array, number]
        of += [array.__sharedoa_element__, from_dtype(number.dtype), array is each]
    _choose(*of, type)[len(first)](*operands, result)
    return result


_NOTHING = np.int64(0)


@cache
def _choose(
    C: ScalarType, D: ScalarType, has_condition: bool,
    L: ScalarType, M: ScalarType, has_left: bool,
    R: ScalarType, N: ScalarType, has_right: bool,
    T: ScalarType,
) -> Kernel:  # fmt: skip
    """Of arrays and numbers, of each of which it has one. Elements of both arrays are read,
    whichever is chosen, so that processors read several at once."""

    @kernel
    def kernel_choose(
        condition: Array[C],
        test: D,
        left: Array[L],
        one: M,
        right: Array[R],
        other: N,
        result: Array[T],
    ) -> None:
        i = grid(1)
        is_left = condition[i] != C(0) if has_condition else test != D(0)
        of_left = T(left[i]) if has_left else T(one)
        of_right = T(right[i]) if has_right else T(other)
        result[i] = of_left if is_left else of_right

    return kernel_choose


def indices(values: Array) -> Array:
    """An array of i64: the indices of the elements that are not 0, in order."""
    element = values.__sharedoa_element__
    count = operator("count", element)
    before = scan(values, i64, count.lift, count.combine)
    found = scratch(values._heap, i64, int(first_of(before[-1:])))
    _list(element, count.lift)[len(values)](values, before, found)
    return found


@cache
def _list(E: ScalarType, tested: DeviceFunction) -> Kernel:
    @kernel
    def kernel_list(values: Array[E], before: Array[i64], found: Array[i64]) -> None:
        i = grid(1)
        if tested(values[i]) > 0:
            found[before[i] - 1] = i

    return kernel_list
