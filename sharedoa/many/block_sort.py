"""Stable radix sort on a GPU: by four bits of a key at a time, the lowest first.

A block has a tile of TILE keys in shared memory. Each of its threads counts the digits of EACH keys
that lie side by side; prefix sums of the counts, by digit and then by thread, are the places of the
keys in a sorted tile. The digits of all tiles, by digit and then by tile, summed up, say where each
tile's run of a digit belongs; neighbouring threads write a run side by side (Satish, Harris and
Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs", 2009).
"""

from __future__ import annotations

from functools import cache

from ..heap.arrays import Array
from ..model.intrinsics import grid, shared, syncthreads
from ..model.scalars import ScalarType, i32, i64, u16
from ..runtime.kernel import Kernel, kernel
from .block_scan import scanning
from .operators import operator
from .scratch import scratches

BITS, DIGITS = 4, 16
THREADS, EACH = 256, 8
TILE = THREADS * EACH
_PADDED = TILE + THREADS
"""As in ``block_scan``: threads whose keys lie EACH apart use other banks of shared memory."""
_COUNTS = DIGITS * THREADS
_PADDED_COUNTS = _COUNTS + THREADS


def sort_blocks(keys: Array, order: Array | None) -> tuple[Array, Array | None]:
    """The keys sorted, and their numbers with them, in the same arrays."""
    heap, type, length = keys._heap, keys.__sharedoa_element__, len(keys)
    assert isinstance(type, ScalarType)
    tiles = -(-length // TILE)
    of_tiles, of_numbers = DIGITS * tiles, 1 if order is None else length
    wanted = (i64, of_tiles), (i64, of_tiles), (type, length), (i64, of_numbers), (i64, 1)
    counts, ends, other, others, none = scratches(heap, *wanted)
    numbers = none if order is None else order
    add = operator("sum", i64)
    add_up = scanning(counts, i64, add.lift, add.combine, ends)
    count, move = (each[tiles * THREADS, THREADS] for each in _kernels(type, order is not None))
    for shift in range(0, type.bits, BITS):
        count(keys, i64(length), shift, counts)
        add_up()
        move(keys, numbers, i64(length), shift, counts, ends, other, others)
        keys, other, numbers, others = other, keys, others, numbers
    # As often as that is even, so that both are where they were.
    return keys, None if order is None else numbers


@cache
def _kernels(U: ScalarType, has_numbers: bool) -> tuple[Kernel, Kernel]:
    last = (1 << U.bits) - 1

    @kernel
    def kernel_count_digits(keys: Array[U], length: i64, shift: i32, counts: Array[i64]) -> None:
        tallies = shared(i32, _COUNTS)
        thread = grid(1)
        tile = thread // THREADS
        lane = i32(thread % THREADS)
        for digit in range(DIGITS):
            tallies[digit * THREADS + lane] = 0
        first = tile * TILE
        for row in range(EACH):
            place = first + row * THREADS + lane
            if place < length:
                digit = i32((keys[place] >> U(shift)) & U(DIGITS - 1))
                tallies[digit * THREADS + lane] += 1
        syncthreads()
        # Thread n adds up 16 counts of digit n // 16; then one thread a digit the 16 sums.
        start = lane // DIGITS * THREADS + lane % DIGITS
        total = tallies[start]
        for k in range(1, DIGITS):
            total += tallies[start + k * DIGITS]
        syncthreads()
        tallies[lane] = total
        syncthreads()
        if lane < DIGITS:
            total = tallies[lane * DIGITS]
            for k in range(1, DIGITS):
                total += tallies[lane * DIGITS + k]
            counts[lane * (len(counts) // DIGITS) + tile] = total

    @kernel
    def kernel_move_digits(
        keys: Array[U],
        numbers: Array[i64],
        length: i64,
        shift: i32,
        counts: Array[i64],
        ends: Array[i64],
        to: Array[U],
        numbers_to: Array[i64],
    ) -> None:
        staged = shared(U, _PADDED)
        tallies = shared(i32, _PADDED_COUNTS)
        sums = shared(i32, THREADS)
        begins = shared(i64, DIGITS)  # of a digit's run in the result, less its begin in the tile
        origins = shared(u16, TILE)
        thread = grid(1)
        tile = thread // THREADS
        lane = i32(thread % THREADS)
        first = tile * TILE
        count = i32(min(length - first, TILE))
        for row in range(EACH):
            place = row * THREADS + lane
            key = U(last)  # behind the last key nothing is written
            if place < count:
                key = keys[first + place]
            staged[place + place // EACH] = key
        for digit in range(DIGITS):
            place = digit * THREADS + lane
            tallies[place + place // DIGITS] = 0
        syncthreads()
        own = lane * (EACH + 1)
        for k in range(EACH):
            place = i32((staged[own + k] >> U(shift)) & U(DIGITS - 1)) * THREADS + lane
            tallies[place + place // DIGITS] += 1
        syncthreads()
        # Sums of what lies before: each thread of 16 counts, all threads of their sums.
        start = lane * (DIGITS + 1)
        total = 0
        for k in range(DIGITS):
            tally = tallies[start + k]
            tallies[start + k] = total
            total += tally
        sums[lane] = total
        step = 1
        while step < THREADS:
            syncthreads()
            below = 0
            if lane >= step:
                below = sums[lane - step]
            syncthreads()
            sums[lane] += below
            step = step * 2
        syncthreads()
        before = sums[lane] - total
        for k in range(DIGITS):
            tallies[start + k] += before
        syncthreads()
        if lane < DIGITS:
            place = lane * THREADS
            row = lane * (len(counts) // DIGITS) + tile
            begins[lane] = ends[row] - counts[row] - tallies[place + place // DIGITS]
        mine = [staged[own + k] for k in range(EACH)]
        syncthreads()
        for k in range(EACH):
            place = i32((mine[k] >> U(shift)) & U(DIGITS - 1)) * THREADS + lane
            rank = tallies[place + place // DIGITS]
            tallies[place + place // DIGITS] = rank + 1
            staged[rank + rank // EACH] = mine[k]
            if has_numbers:
                origins[rank] = u16(lane * EACH + k)
        syncthreads()
        for row in range(EACH):
            place = row * THREADS + lane
            if place < count:
                key = staged[place + place // EACH]
                at = begins[i32((key >> U(shift)) & U(DIGITS - 1))] + place
                to[at] = key
                if has_numbers:
                    numbers_to[at] = numbers[first + i64(origins[place])]

    return kernel_count_digits, kernel_move_digits
