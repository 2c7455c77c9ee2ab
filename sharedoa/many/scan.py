"""Prefix sums, with any associative function in place of the sum.

CHUNK elements are combined one after another; so are the results of CHUNK chunks, and so on: a tree
of partial results that depends on the length alone. Then each chunk goes on from what lies before
it (Blelloch, "Prefix Sums and Their Applications", 1990). Elements are always combined with what
came before on the left, so the function need not be commutative.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..heap.arrays import Array
from ..heap.recording import is_taped
from ..model.functions import DeviceFunction
from ..model.intrinsics import grid
from ..model.scalars import i64
from ..model.types import Type
from ..runtime.kernel import Kernel, kernel
from .block_scan import CHUNK, combine_blocks, is_for_blocks, scan_blocks
from .operators import annotation, same
from .scratch import scratch

_ALONE = 1 << 17
"""Elements that one thread of a processor scans before it would be worth to wake others."""
_LEVELS = 16
"""Of a tree of any length."""


def scan(values: Array, total: Type, lift: DeviceFunction, combine: DeviceFunction) -> Array:
    """A new array: element i is elements 0 to i of ``values`` combined. ``lift`` makes a ``total``
    of an element. On a device a tape takes chunk by chunk what blocks do otherwise: no way back
    leads through memory that threads share."""
    heap = values._heap
    is_in_tape = is_taped(heap)
    if not is_in_tape and is_for_blocks(total, values):
        return scan_blocks(values, total, lift, combine)
    if 0 < len(values) <= _ALONE and not (is_in_tape and heap.backend.target.is_device):
        result = scratch(values._heap, total, len(values))
        run = _kernel_of_alone(values.__sharedoa_element__, total, lift, combine)
        run[1](values, len(values), result)
        return result
    levels = _chunks_of(values, total, lift, combine)
    before = levels[-1]
    for lower in (*levels[-2::-1], values):
        first = lower is values
        element = values.__sharedoa_element__ if first else total
        result = values._heap.blank(total, len(values)) if first else lower
        run = _kernel_of_scan(element, total, lift if first else same(total), combine)
        run[-(-len(lower) // CHUNK)](lower, len(lower), before, result)
        before = result
    return before


def combined(values: Array, total: Type, lift: DeviceFunction, combine: DeviceFunction) -> Array:
    """An array of one element: all of ``values`` combined, of which there is at least one."""
    if is_for_blocks(total, values):
        return combine_blocks(values, total, lift, combine)
    return _chunks_of(values, total, lift, combine)[-1]


def _chunks_of(
    values: Array, total: Type, lift: DeviceFunction, combine: DeviceFunction
) -> list[Array]:
    """The chunks of ``values`` combined, the chunks of these, and so on until there is one."""
    heap = values._heap
    levels: list[Array] = []
    element = values.__sharedoa_element__
    while not levels or len(values) > 1:
        count = -(-len(values) // CHUNK)
        totals = heap.blank(total, count)
        _kernel_of_chunks(element, total, lift, combine)[count](values, len(values), totals)
        levels.append(totals)
        values, element, lift = totals, total, same(total)
    return levels


@cache
def _kernel_of_chunks(
    element: Type, total: Type, lift: DeviceFunction, combine: DeviceFunction
) -> Kernel:
    E, T = annotation(element), annotation(total)

    @kernel
    def kernel_combine_chunks(values: Array[E], length: i64, totals: Array[T]) -> None:
        chunk = grid(1)
        start = chunk * CHUNK
        total = lift(values[start])
        for k in range(start + 1, min(start + CHUNK, length)):
            total = combine(total, lift(values[k]))
        totals[chunk] = total

    return kernel_combine_chunks


@cache
def _kernel_of_scan(
    element: Type, total: Type, lift: DeviceFunction, combine: DeviceFunction
) -> Kernel:
    E, T = annotation(element), annotation(total)

    @kernel
    def kernel_scan_chunks(
        values: Array[E], length: i64, before: Array[T], result: Array[T]
    ) -> None:
        chunk = grid(1)
        start = chunk * CHUNK
        total = lift(values[start])
        if chunk > 0:
            total = combine(before[chunk - 1], total)
        result[start] = total
        for k in range(start + 1, min(start + CHUNK, length)):
            total = combine(total, lift(values[k]))
            result[k] = total

    return kernel_scan_chunks


@cache
def _kernel_of_alone(
    element: Type, total: Type, lift: DeviceFunction, combine: DeviceFunction
) -> Kernel:
    """One thread scans all levels of the tree at once."""
    E, T = annotation(element), annotation(total)

    @kernel
    def kernel_scan_alone(values: Array[E], length: i64, result: Array[T]) -> None:
        first = lift(values[0])
        before = [first] * _LEVELS  # all up to the last element of a level
        totals = [first] * _LEVELS  # the elements of its last chunk
        for start in range(0, length, CHUNK):
            total = lift(values[start])
            sum = total
            if start > 0:
                sum = combine(before[0], total)
            result[start] = sum
            for k in range(start + 1, min(start + CHUNK, length)):
                value = lift(values[k])
                total = combine(total, value)
                sum = combine(sum, value)
                result[k] = sum
            # The chunk is an element of the level above, which may end a chunk of that, and so on.
            level = 0
            number = start // CHUNK
            while True:
                if number % CHUNK > 0:
                    totals[level] = combine(totals[level], total)
                    before[level] = combine(before[level], total)
                else:
                    totals[level] = total
                    before[level] = total
                    if number > 0:
                        before[level] = combine(before[level + 1], total)
                if number % CHUNK < CHUNK - 1:
                    break
                total = totals[level]
                number = number // CHUNK
                level += 1

    return kernel_scan_alone


def sums_in_cpython(values: Any) -> Any:
    """What ``scan`` makes of the sum of floats."""
    if len(values) <= CHUNK:
        return np.add.accumulate(values)
    chunks = -(-len(values) // CHUNK)
    padded = np.zeros(chunks * CHUNK, values.dtype)
    padded[: len(values)] = values
    columns = padded.reshape(chunks, CHUNK).T
    totals = columns[0].copy()
    for column in columns[1:]:
        totals += column
    total = columns[0].copy()
    total[1:] = sums_in_cpython(totals)[:-1] + total[1:]
    result = np.empty_like(columns)
    result[0] = total
    for place, column in enumerate(columns[1:], 1):
        result[place] = total = total + column
    return result.T.reshape(-1)[: len(values)]
