"""Stable radix sort on a GPU: by eight bits of a key at a time, the lowest first.

A block has a tile of keys in shared memory and sorts it by four bits and then by the next four.
Each of its threads counts the digits of keys that lie side by side in one register, four bits a
digit; sums of what lies before, of 16 bits and four to a word, by digit and then by thread, are
the places of the keys. The digits of all tiles, of eight bits, by digit and then by tile, summed
up, say where each tile's run of a digit belongs; neighbouring threads write a run side by side
(Satish, Harris and Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs", 2009). So
each pass reads keys twice and writes them once; the first one makes keys of numbers, the last one
numbers of keys (``Keys``).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..heap.arrays import Array
from ..model.functions import func
from ..model.intrinsics import atomic_add, grid, shared, syncthreads
from ..model.scalars import ScalarType, i32, i64, u16, u64
from ..runtime.kernel import Kernel, kernel
from .block_scan import scanning
from .operators import operator
from .scratch import scratches

if TYPE_CHECKING:
    from .sorting import Keys

BITS, DIGITS = 8, 256
"""Of a digit of a pass; a tile is sorted by half of them at a time."""
THREADS = 256
_HALF, _HALF_DIGITS = 4, 16
_WORDS = 4
"""Of 64 bits, for the sums of one thread's digits."""
_GROUP, _GROUPS = 16, 16
"""Threads whose words one thread adds up."""
_PADDED = _WORDS * THREADS + _WORDS * _GROUPS
"""Of each group one word more: else threads that read theirs side by side would all use the same
bank of shared memory."""
_SUMS = _WORDS * _GROUPS + _WORDS
_ONES, _FIELD, _TOP = 0x0001000100010001, (1 << 16) - 1, 48


def keys_each(type: ScalarType) -> int:
    """Keys of a thread. Odd, so that threads whose keys lie so far apart use other banks of shared
    memory; at most 15, which four bits hold; and so that a tile of them needs no more than 48 KiB
    with what else there is."""
    return 11 if type.bits == 64 else 15


def sort_blocks(values: Array, keys: Keys, has_numbers: bool) -> Array:
    """The ``values``, of the type of ``keys``, in the order of the keys that ``Keys`` makes of
    them: they themselves or, of 8 bits, another array. With ``has_numbers``, which leaves them as
    they are, an array of i64: the numbers of the values in this order."""
    heap, type, length = values._heap, keys.type, len(values)
    tiles = -(-length // (THREADS * keys_each(type)))
    of_numbers = length if has_numbers else 1
    of_others = length if has_numbers and type.bits > BITS else 1
    of_tiles = (i32, DIGITS * tiles), (i64, DIGITS * tiles)
    of_keys = (type, length), (type, of_others), (i64, of_numbers), (i64, of_others)
    counts, ends, to, spare, numbers_to, numbers = scratches(heap, *of_tiles, *of_keys)
    add = operator("sum", i32)
    add_up = scanning(counts, i64, add.lift, add.combine, ends)
    count, move = (each[tiles * THREADS, THREADS] for each in _kernels(keys, has_numbers))
    for shift in range(0, type.bits, BITS):
        place = i64(length), shift, int(shift == 0), int(shift + BITS == type.bits)
        count(values, *place[:3], counts)
        add_up()
        move(values, numbers, *place, counts, ends, to, numbers_to)
        values, to = to, spare if has_numbers and shift == 0 else values
        numbers, numbers_to = numbers_to, numbers
    return numbers if has_numbers else values


@func
def _padded(place: i32) -> i32:
    return place + place // _GROUP


@cache
def _kernels(keys: Keys, has_numbers: bool) -> tuple[Kernel, Kernel]:
    U = keys.type
    to_key, from_key = keys.conversions(tells_zeros=not has_numbers)
    last = (1 << U.bits) - 1
    EACH = keys_each(U)
    TILE = THREADS * EACH

    @kernel
    def kernel_count_digits(
        values: Array[U], length: i64, shift: i32, is_first: i32, counts: Array[i32]
    ) -> None:
        tallies = shared(i32, DIGITS)
        thread = grid(1)
        tile = thread // THREADS
        lane = i32(thread % THREADS)
        for digit in range(lane, DIGITS, THREADS):
            tallies[digit] = 0
        syncthreads()
        first = i64(tile * TILE)
        # Elements of a list are read one after another without waiting.
        loaded = [values[min(first + row * THREADS + lane, length - 1)] for row in range(EACH)]
        for row in range(EACH):
            if first + row * THREADS + lane < length:
                key = loaded[row]
                if is_first > 0:
                    key = to_key(key)
                atomic_add(tallies, i32((key >> U(shift)) & U(DIGITS - 1)), 1)
        syncthreads()
        for digit in range(lane, DIGITS, THREADS):
            counts[digit * (len(counts) // DIGITS) + tile] = tallies[digit]

    @kernel
    def kernel_move_digits(
        values: Array[U],
        numbers: Array[i64],
        length: i64,
        shift: i32,
        is_first: i32,
        is_last: i32,
        counts: Array[i32],
        ends: Array[i64],
        to: Array[U],
        numbers_to: Array[i64],
    ) -> None:
        staged = shared(U, TILE)
        tallies = shared(u64, _PADDED)
        own_tallies = shared(u64, THREADS)
        sums = shared(u64, _SUMS)
        begins = shared(i64, DIGITS)  # of a digit's run in the result, less its begin in the tile
        origins = shared(u16, TILE)
        thread = grid(1)
        tile = thread // THREADS
        lane = i32(thread % THREADS)
        first = i64(tile * TILE)
        count = i32(min(length - first, TILE))
        loaded = [values[first + min(row * THREADS + lane, count - 1)] for row in range(EACH)]
        for row in range(EACH):
            place = row * THREADS + lane
            key = U(last)  # behind the last key nothing is written
            if place < count:
                key = loaded[row]
                if is_first > 0:
                    key = to_key(key)
            staged[place] = key
            if has_numbers:
                origins[place] = u16(place)
        for digit in range(lane, DIGITS, THREADS):
            at = digit * (len(counts) // DIGITS) + tile
            begins[digit] = ends[at] - counts[at]
        own = lane * EACH
        for half in range(BITS // _HALF):
            low = U(shift + half * _HALF)
            syncthreads()
            mine = [staged[own + k] for k in range(EACH)]
            came = [u16(0)] * EACH
            if has_numbers:
                for k in range(EACH):
                    came[k] = origins[own + k]
            tally = u64(0)
            for k in range(EACH):
                tally += u64(1) << (u64((mine[k] >> low) & U(_HALF_DIGITS - 1)) * u64(_HALF))
            own_tallies[lane] = tally
            for word in range(_WORDS):
                digits = tally >> u64(word * 16)
                digits = (
                    (digits & u64(0xF))
                    | ((digits & u64(0xF0)) << u64(12))
                    | ((digits & u64(0xF00)) << u64(24))
                    | ((digits & u64(0xF000)) << u64(36))
                )
                place = word * THREADS + lane
                tallies[_padded(place)] = digits
            syncthreads()
            # Sums of what lies before: in groups of threads, of groups, of digits.
            if lane < _WORDS * _GROUPS:
                start = lane * (_GROUP + 1)
                words = [tallies[start + k] for k in range(_GROUP)]
                total = u64(0)
                for k in range(_GROUP):
                    tallies[start + k] = total
                    total += words[k]
                sums[lane] = total
            syncthreads()
            if lane < _WORDS:
                words = [sums[lane * _GROUPS + k] for k in range(_GROUPS)]
                total = u64(0)
                for k in range(_GROUPS):
                    sums[lane * _GROUPS + k] = total
                    total += words[k]
                sums[_WORDS * _GROUPS + lane] = total
            syncthreads()
            before = u64(0)
            for word in range(_WORDS):
                total = sums[_WORDS * _GROUPS + word]
                place = word * THREADS + lane
                tallies[_padded(place)] += (
                    sums[word * _GROUPS + lane // _GROUP]
                    + before * u64(_ONES)
                    + (total << u64(16)) * u64(_ONES)
                )
                before += (total * u64(_ONES)) >> u64(_TOP)
            # Read again, or compilers would keep what it was after each key, in 30 registers.
            tally = own_tallies[lane]
            for k in reversed(range(EACH)):
                digit = i32((mine[k] >> low) & U(_HALF_DIGITS - 1))
                tally -= u64(1) << u64(digit * _HALF)
                four = tallies[_padded(digit // 4 * THREADS + lane)] >> u64(digit % 4 * 16)
                rank = i32((four & u64(_FIELD)) + ((tally >> u64(digit * _HALF)) & u64(0xF)))
                staged[rank] = mine[k]
                if has_numbers:
                    origins[rank] = came[k]
        syncthreads()
        for row in range(EACH):
            place = row * THREADS + lane
            digit = i32((staged[place] >> U(shift)) & U(DIGITS - 1))
            if place > 0 and i32((staged[place - 1] >> U(shift)) & U(DIGITS - 1)) != digit:
                begins[digit] -= place
        moved = [i64(0)] * EACH
        if has_numbers:
            for row in range(EACH):
                moved[row] = first + i64(min(i32(origins[row * THREADS + lane]), count - 1))
            if is_first == 0:
                for row in range(EACH):
                    moved[row] = numbers[moved[row]]
        syncthreads()
        for row in range(EACH):
            place = row * THREADS + lane
            if place < count:
                key = staged[place]
                rank_of_all = begins[i32((key >> U(shift)) & U(DIGITS - 1))] + place
                if has_numbers:
                    numbers_to[rank_of_all] = moved[row]
                    if is_last == 0:
                        to[rank_of_all] = key
                elif is_last > 0:
                    to[rank_of_all] = from_key(key)
                else:
                    to[rank_of_all] = key

    return kernel_count_digits, kernel_move_digits
