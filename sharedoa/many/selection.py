"""``oa.where``: elements of one array or the other, and where an array is not 0."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any

from ..heap.arrays import Array
from ..heap.heap import Heap
from ..model.functions import DeviceFunction
from ..model.intrinsics import grid
from ..model.scalars import ScalarType, from_dtype, i64
from ..runtime.kernel import Kernel, kernel
from . import plans
from .operators import operator
from .scan import scan
from .scratch import first_of, scratch


class Choice:
    """Element i of a second operand where that of the first one is not 0, else of a third one, as
    ``type``. Each is an array, all as long, or a number for all; at least one is an array."""

    size = 0

    def __init__(self, given: Sequence[Any], type: ScalarType) -> None:
        """``given`` are such arrays, and NumPy's numbers."""
        first = next(each for each in given if isinstance(each, Array))
        self._type, self._length = type, len(first)
        self._are_arrays = [isinstance(each, Array) for each in given]
        of: list[Any] = []
        for each, is_array in zip(given, self._are_arrays, strict=True):
            element = (each if is_array else first).__sharedoa_element__
            of += [element, i64 if is_array else from_dtype(each.dtype), is_array]
        self._run = _choose(*of, type)[self._length]

    def __call__(self, *given: Any) -> Array:
        first = next(each for each in given if isinstance(each, Array))
        result = scratch(first._heap, self._type, self._length)
        operands: list[Any] = []
        for each, is_array in zip(given, self._are_arrays, strict=True):
            operands += (each, 0) if is_array else (first, each)
        self._run(*operands, result)
        return result


def kind_of(operands: Sequence[Any]) -> tuple[Heap, Hashable] | None:
    """The heap, and the key of the plan for ``oa.where`` of these operands; None where more has to
    be looked at than what key they have."""
    heap: Heap | None = None
    key: list[Any] = ["where"]
    for each in operands:
        if type(each) is Array:
            element = each.__sharedoa_element__
            if not isinstance(element, ScalarType) or (heap or each._heap) is not each._heap:
                return None
            heap = each._heap
            key += element.name, each._length
        elif type(each) in (float, bool) or (type(each) is int and each in _OF_I64):
            key.append(type(each))
        else:
            return None
    return None if heap is None else (heap, tuple(key))


_OF_I64 = range(-(1 << 63), 1 << 63)


def again(operands: Sequence[Any]) -> Any:
    """``oa.where`` by what an earlier call has left, as ``plans.again``."""
    kind = kind_of(operands)
    return NotImplemented if kind is None else plans.by_ready(*kind, *operands)


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
