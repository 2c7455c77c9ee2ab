"""Sums, minima and the like of arrays: a tree of partial results that depends on the length alone.

A *piece* of an array is ROWS rows of LANES elements, read row by row. What is in a column is
combined from top to bottom; then the right half of the columns with the left one, until one is
left. So neighbours in memory are read by neighbouring threads of a GPU, or by one vector
instruction of a processor. The results of pieces are an array that is reduced likewise.

Devices have plans of it (``reduction_plan``); this is the tree, and how processors go over it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..heap.arrays import Array
from ..model.functions import DeviceFunction
from ..model.intrinsics import atomic_max, grid
from ..model.scalars import ScalarType, i64
from ..runtime.kernel import Kernel, kernel
from .operators import Operator, converted

LANES, ROWS = 256, 32
PIECE = LANES * ROWS


def piece_counts(length: int) -> list[int]:
    """How many pieces a positive number of elements has, how many their results have, and so on
    until there is one."""
    counts = [-(-length // PIECE)]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // PIECE))
    return counts


def reduce_pieces(values: Array, operator: Operator) -> list[Array]:
    """The results of the pieces of ``values``, of which there is at least one element; of the
    pieces of these; and so on until there is one. On a processor."""
    heap = values._heap
    levels: list[Array] = []
    element, lift = values.__sharedoa_element__, operator.lift
    for count in piece_counts(len(values)):
        totals, columns = (heap.blank(operator.total, each) for each in (count, count * LANES))
        run = _kernel_of_pieces(element, operator.total, lift, operator.combine)[count]
        run(values, len(values), columns, totals)
        levels.append(totals)
        values, element = totals, operator.total
        lift = converted(element, element)
    return levels


@cache
def _kernel_of_pieces(
    E: ScalarType, T: ScalarType, lift: DeviceFunction, combine: DeviceFunction
) -> Kernel:
    @kernel
    def kernel_reduce_pieces(
        values: Array[E], length: i64, columns: Array[T], totals: Array[T]
    ) -> None:
        piece = grid(1)
        start = piece * PIECE
        own = piece * LANES
        count = min(length - start, PIECE)
        lanes = min(count, LANES)
        for lane in range(lanes):
            columns[own + lane] = lift(values[start + lane])
        for first in range(LANES, count, LANES):
            row = start + first
            for lane in range(min(count - first, LANES)):
                columns[own + lane] = combine(columns[own + lane], lift(values[row + lane]))
        half = LANES // 2
        while half > 0:
            for lane in range(min(lanes - half, half)):
                left, right = columns[own + lane], columns[own + half + lane]
                columns[own + lane] = combine(left, right)
            lanes = min(lanes, half)
            half = half // 2
        totals[piece] = columns[own]

    return kernel_reduce_pieces


def sum_in_cpython(values: Any) -> Any:
    """What ``reduce_pieces`` makes of the sum of floats, of which there is at least one."""
    while True:
        pieces = -(-len(values) // PIECE)
        padded = np.full(pieces * PIECE, -0.0, values.dtype)  # which changes no number, -0.0 too
        padded[: len(values)] = values
        rows = padded.reshape(pieces, ROWS, LANES)
        columns = rows[:, 0].copy()
        for row in range(1, ROWS):
            columns += rows[:, row]
        while columns.shape[1] > 1:
            half = columns.shape[1] // 2
            columns = columns[:, :half] + columns[:, half:]
        values = columns[:, 0]
        if pieces == 1:
            return values[0]


_LAST = 2**63 - 1


def index_of_extreme(values: Array, operator: Operator) -> Array:
    """Array of one i64: how far before ``_LAST`` the index of the first of the smallest (largest)
    elements of ``values`` is, or of the first NaN, given the operator of ``min`` (``max``)."""
    levels = reduce_pieces(values, operator)
    # The first piece that has it, then the first element of that.
    none, piece, found = (values._heap.blank(i64, 1) for _ in range(3))
    search = _kernel_of_search(operator.total)
    search[len(levels[0])](levels[0], levels[-1], none, 0, piece)
    search[min(PIECE, len(values))](values, levels[-1], piece, PIECE, found)
    return found


@cache
def _kernel_of_search(T: ScalarType) -> Kernel:
    @kernel
    def kernel_search(
        values: Array[T], wanted: Array[T], block: Array[i64], size: i64, found: Array[i64]
    ) -> None:
        i = (_LAST - block[0]) * size + grid(1)
        if i < len(values):
            value = values[i]
            if value == wanted[0] or (value != value and wanted[0] != wanted[0]):
                atomic_max(found, 0, _LAST - i)

    return kernel_search


def index_from(found: int) -> int:
    """The index that ``index_of_extreme`` has found."""
    return _LAST - found
