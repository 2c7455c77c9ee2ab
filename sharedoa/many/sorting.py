"""Stable radix sort: keys, in whose order numbers of all types lie, and how processors sort them.

A thread has a piece of the keys. It counts how many of them have each digit of eight bits, the
lowest first; prefix sums of the counts, by digit and then by piece, say where each piece puts its
keys of a digit. What comes out is the one order in which equal keys stay as they were, however the
pieces are cut. GPUs sort in blocks (``block_sort``).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..heap.arrays import Array, make_array
from ..model.functions import DeviceFunction, func
from ..model.intrinsics import grid
from ..model.scalars import ScalarType, i32, i64, u8, u16, u32, u64
from ..runtime.kernel import Kernel, kernel
from .block_sort import argsort_blocks, sort_blocks
from .operators import operator
from .scan import scan
from .scratch import scratch

DIGITS, _BITS = 256, 8
_PIECE, _MOST_PIECES = 1 << 14, 256
_UNSIGNED = {8: u8, 16: u16, 32: u32, 64: u64}


class Keys(NamedTuple):
    """Unsigned numbers in place of others, in the same order, and back: the sign bit changes, of
    negative floats all others, too; every NaN is the largest."""

    type: ScalarType
    sign: int
    #: Bits of infinity, 0 of integers.
    infinity: int

    @classmethod
    def of(cls, type: ScalarType) -> Keys:
        unsigned = _UNSIGNED[type.dtype.itemsize * 8]
        bits = unsigned.bits
        infinity = int(np.array(np.inf, type.dtype).view(unsigned.dtype)) if type.is_float else 0
        return cls(unsigned, 0 if type.kind in ("uint", "bool") else 1 << (bits - 1), infinity)

    def conversions(self, tells_zeros: bool) -> tuple[DeviceFunction, DeviceFunction]:
        """What makes a key, and a number of a key, of the bits of a number and back. A key of
        argsort does not tell zeros of both signs apart, nor is it turned back."""
        return _conversions(self, tells_zeros)


@cache
def _conversions(keys: Keys, tells_zeros: bool) -> tuple[DeviceFunction, DeviceFunction]:
    U, sign, infinity = keys
    rest, negative_zero = sign - 1, sign if infinity and not tells_zeros else 0

    @func
    def to_key(bits: U) -> U:
        if infinity == 0:
            return bits ^ U(sign)
        if (bits & U(rest)) > U(infinity) or bits == U(negative_zero) or (bits & U(sign)) == U(0):
            return bits | U(sign)
        return ~bits

    @func
    def from_key(key: U) -> U:
        if infinity > 0 and (key & U(sign)) == U(0):
            return ~key
        return key ^ U(sign)

    return to_key, from_key


def sort_by_numpy(values: Any, type: ScalarType) -> Any:
    """``values`` as ``sort`` leaves them."""
    found = np.sort(values)
    if type.is_float:
        # In what order NumPy has zeros of both signs, and NaNs, depends on the processor; it may
        # even change the sign of zeros.
        first, stop = (np.searchsorted(found, 0.0, side) for side in ("left", "right"))
        if first < stop:
            negative = np.count_nonzero(np.signbit(values) & (values == 0))
            found[first : first + negative], found[first + negative : stop] = -0.0, 0.0
        nans = found[np.searchsorted(found, np.inf, "right") :]
        if len(nans):
            bits = np.abs(values[np.isnan(values)]).view(Keys.of(type).type.dtype)
            nans[:] = np.sort(bits).view(type.dtype)
    return found


def sort(values: Array, type: ScalarType) -> None:
    """Sort in place, on a GPU. -0.0 comes before 0.0, and NaN is without sign."""
    keys = Keys.of(type)
    sort_blocks(_as(values, keys.type), keys)


def argsort(values: Array, type: ScalarType) -> Array:
    """An array of i64: the order in which ``values`` are sorted, equal ones as they are."""
    keys, heap = Keys.of(type), values._heap
    bits = _as(values, keys.type)
    if heap.backend.target.is_device:
        return argsort_blocks(bits, keys)
    found, order = scratch(heap, keys.type, len(values)), scratch(heap, i64, len(values))
    _to_keys(keys)[len(bits)](bits, found)
    kernel_count_up[len(order)](order)
    return _order(found, order)


def _as(values: Array, type: ScalarType) -> Array:
    """The same memory as numbers of another type of as many bits."""
    return make_array(values._heap, type, values._storage, values._address, len(values))


@kernel
def kernel_count_up(numbers: Array[i64]) -> None:
    i = grid(1)
    numbers[i] = i


@cache
def _to_keys(keys: Keys) -> Kernel:
    U, (to_key, _) = keys.type, keys.conversions(tells_zeros=False)

    @kernel
    def kernel_to_keys(bits: Array[U], found: Array[U]) -> None:
        i = grid(1)
        found[i] = to_key(bits[i])

    return kernel_to_keys


def _order(keys: Array, order: Array) -> Array:
    """The numbers in ``order``, sorted by the keys."""
    heap, type, length = keys._heap, keys.__sharedoa_element__, len(keys)
    pieces = min(-(-length // _PIECE), _MOST_PIECES)
    size = -(-length // pieces)
    assert isinstance(type, ScalarType)
    counts, starts, by_digit = (heap.blank(i64, DIGITS * pieces) for _ in range(3))
    other, others = heap.blank(type, length), heap.blank(i64, length)
    add = operator("sum", i64)
    for shift in range(0, type.bits, _BITS):
        _count(type)[pieces](keys, size, shift, counts)
        kernel_by_digit[len(counts)](counts, by_digit)
        ends = scan(by_digit, i64, add.lift, add.combine)
        kernel_by_piece[len(counts)](ends, counts, starts)
        _move(type)[pieces](keys, order, size, shift, starts, other, others)
        keys, other, order, others = other, keys, others, order
    return order


@kernel
def kernel_by_digit(counts: Array[i64], by_digit: Array[i64]) -> None:
    i = grid(1)
    by_digit[i % DIGITS * (len(counts) // DIGITS) + i // DIGITS] = counts[i]


@kernel
def kernel_by_piece(ends: Array[i64], counts: Array[i64], starts: Array[i64]) -> None:
    i = grid(1)
    starts[i] = ends[i % DIGITS * (len(counts) // DIGITS) + i // DIGITS] - counts[i]


@cache
def _count(U: ScalarType) -> Kernel:
    @kernel
    def kernel_count_digits(keys: Array[U], size: i64, shift: i32, counts: Array[i64]) -> None:
        piece = grid(1)
        row = piece * DIGITS
        for digit in range(DIGITS):
            counts[row + digit] = 0
        for k in range(piece * size, min((piece + 1) * size, len(keys))):
            digit = i32((keys[u64(k)] >> U(shift)) & U(DIGITS - 1))
            counts[u64(row) + u64(digit)] += 1

    return kernel_count_digits


@cache
def _move(U: ScalarType) -> Kernel:
    @kernel
    def kernel_move(
        keys: Array[U],
        order: Array[i64],
        size: i64,
        shift: i32,
        starts: Array[i64],
        to: Array[U],
        order_to: Array[i64],
    ) -> None:
        piece = grid(1)
        for k in range(piece * size, min((piece + 1) * size, len(keys))):
            key = keys[u64(k)]
            digit = piece * DIGITS + i32((key >> U(shift)) & U(DIGITS - 1))
            place = starts[digit]
            starts[digit] = place + 1
            to[place] = key
            order_to[place] = order[u64(k)]

    return kernel_move
