"""``oa.where``: elements of one array or the other, and where an array is not 0."""

from __future__ import annotations

from functools import cache

from ..heap.arrays import Array
from ..model.functions import DeviceFunction
from ..model.intrinsics import grid
from ..model.scalars import ScalarType, i64, u64
from ..runtime.kernel import Kernel, kernel
from .operators import operator
from .scan import scan
from .scratch import first_of, scratch


def choose(condition: Array, left: Array, right: Array, type: ScalarType) -> Array:
    """Element i of ``left`` where that of ``condition`` is not 0, else of ``right``, as ``type``.
    Each has as many elements as the longest one, or one for all."""
    length = max(map(len, (condition, left, right)))
    result = scratch(condition._heap, type, length)
    of = [each.__sharedoa_element__ for each in (condition, left, right)]
    steps = (int(len(each) > 1) for each in (condition, left, right))
    _choose(*of, type)[length](condition, left, right, *steps, result)
    return result


@cache
def _choose(C: ScalarType, A: ScalarType, B: ScalarType, T: ScalarType) -> Kernel:
    @kernel
    def kernel_choose(
        condition: Array[C],
        left: Array[A],
        right: Array[B],
        of_condition: u64,
        of_left: u64,
        of_right: u64,
        result: Array[T],
    ) -> None:
        i = u64(grid(1))
        if condition[i * of_condition] != C(0):
            result[i] = T(left[i * of_left])
        else:
            result[i] = T(right[i * of_right])

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
