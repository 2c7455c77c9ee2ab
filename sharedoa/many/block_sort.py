"""Stable radix sort on a GPU: by eight bits of a key at a time, the lowest first.

Keys are read once to count the digits of all passes. Then each pass reads them once and writes them
once, at their places by this digit: the first one makes keys of numbers, the last one numbers of
keys (``Keys``). A block has a tile of keys in shared memory and sorts it by four bits and then by
the next four. Each of its threads counts the digits of keys that lie side by side in one register,
four bits a digit; sums of what lies before, of 16 bits and four to a word, by digit and then by
thread, are the places of the keys (Satish, Harris and Garland, "Designing Efficient Sorting
Algorithms for Manycore GPUs", 2009). Where the tile's run of a digit belongs is what the tiles
before it have of this digit: a tile says how many it has itself as soon as it knows, looks back at
what those before have said, until one has said it for all before itself, and then says so, too
(Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022). Tiles
are numbered as their blocks begin, so that who is waited for runs. Keys of one tile are sorted by
all their bits at once, by one launch.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..heap.arrays import Array
from ..model.functions import func
from ..model.intrinsics import atomic_add, grid, gridsize, shared, syncthreads
from ..model.scalars import ScalarType, i32, i64, u16, u32, u64
from ..runtime.kernel import Kernel, general, kernel
from .sort_parts import BITS, DIGITS, telling, written

if TYPE_CHECKING:
    from .sorting import Keys

THREADS = 256
HALF, _HALF_DIGITS = 4, 16
"""Bits by which a tile is sorted at a time."""
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


@func
def _padded(place: i32) -> i32:
    return place + place // _GROUP


@cache
def kernel_of_counts(keys: Keys, S: ScalarType, has_numbers: bool) -> Kernel:
    """How often each digit of each pass occurs, pass by pass, added to what is there; and tickets
    begin anew."""
    U = keys.type
    to_key, _ = keys.conversions(tells_zeros=not has_numbers)
    PASSES = U.bits // BITS
    EACH = keys_each(U)
    TILE = THREADS * EACH
    COUNTS = PASSES * DIGITS

    @general
    @kernel
    def kernel_count_digits(
        values: Array[U], length: i64, totals: Array[S], tickets: Array[i32]
    ) -> None:
        tallies = shared(u32, COUNTS)
        thread = grid(1)
        lane = i32(thread % THREADS)
        for digit in range(lane, COUNTS, THREADS):
            tallies[digit] = u32(0)
        syncthreads()
        if thread < len(tickets):
            tickets[thread] = 0
        first = u64(thread // THREADS * TILE)
        while first < u64(length):
            begin = first + u64(lane)
            count = i32(min(u64(length) - first, u64(TILE)))
            if count == TILE:
                # Elements of a list are read one after another without waiting.
                loaded = [values[begin + u64(row * THREADS)] for row in range(EACH)]
                for row in range(EACH):
                    key = to_key(loaded[row])
                    for turn in range(PASSES):
                        digit = turn * DIGITS + i32((key >> U(turn * BITS)) & U(DIGITS - 1))
                        atomic_add(tallies, digit, u32(1))
            else:
                for row in range(lane, count, THREADS):
                    key = to_key(values[first + u64(row)])
                    for turn in range(PASSES):
                        digit = turn * DIGITS + i32((key >> U(turn * BITS)) & U(DIGITS - 1))
                        atomic_add(tallies, digit, u32(1))
            first += u64(gridsize(1) // THREADS * TILE)
        syncthreads()
        for digit in range(lane, COUNTS, THREADS):
            if tallies[digit] > u32(0):
                atomic_add(totals, digit, S(tallies[digit]))

    return kernel_count_digits


@cache
def kernel_of_moves(keys: Keys, S: ScalarType, has_numbers: bool, is_alone: bool) -> Kernel:
    """One pass, or all of them in a tile that is alone."""
    U = keys.type
    to_key, from_key = keys.conversions(tells_zeros=not has_numbers)
    last = (1 << U.bits) - 1
    EACH = keys_each(U)
    TILE = THREADS * EACH
    say, keys_before = telling(S)
    write = written(keys, S, has_numbers)

    @general
    @kernel
    def kernel_move_digits(
        values: Array[U],
        numbers: Array[S],
        length: i64,
        turn: i32,
        is_last: i32,
        halves: i32,
        totals: Array[S],
        tickets: Array[i32],
        said: Array[S],
        cleared: Array[S],
        to: Array[U],
        numbers_to: Array[S],
        order: Array[i64],
    ) -> None:
        staged = shared(U, TILE)
        tallies = shared(u64, _PADDED)
        own_tallies = shared(u64, THREADS)
        sums = shared(u64, _SUMS)
        counts = shared(u32, DIGITS)
        begins = shared(i64, DIGITS)  # of a digit's run in the result, less its begin in the tile
        origins = shared(u16, TILE)
        ticket = shared(i32, 1)
        thread = grid(1)
        lane = i32(thread % THREADS)
        shift = turn * BITS
        tile = 0
        if not is_alone:
            if lane == 0:
                ticket[0] = atomic_add(tickets, turn, 1)
            for digit in range(lane, DIGITS, THREADS):
                counts[digit] = u32(0)
            syncthreads()
            tile = ticket[0]
        first = i64(tile) * TILE
        count = i32(min(length - first, TILE))
        loaded = [values[first + min(row * THREADS + lane, count - 1)] for row in range(EACH)]
        for row in range(EACH):
            place = row * THREADS + lane
            key = U(last)  # behind the last key nothing is written
            if place < count:
                key = loaded[row]
                if turn == 0:
                    key = to_key(key)
                if not is_alone:
                    atomic_add(counts, i32((key >> U(shift)) & U(DIGITS - 1)), u32(1))
            staged[place] = key
            if has_numbers:
                origins[place] = u16(place)
        if not is_alone:
            syncthreads()
            for digit in range(lane, DIGITS, THREADS):
                say(said, u32(tile), digit, counts[digit])
                cleared[tile * DIGITS + digit] = S(0)
        own = lane * EACH
        for half in range(halves):
            low = U(shift + half * HALF)
            syncthreads()
            mine = [staged[own + k] for k in range(EACH)]
            came = [u16(0)] * EACH
            if has_numbers:
                for k in range(EACH):
                    came[k] = origins[own + k]
            tally = u64(0)
            for k in range(EACH):
                tally += u64(1) << (u64((mine[k] >> low) & U(_HALF_DIGITS - 1)) * u64(HALF))
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
                tally -= u64(1) << u64(digit * HALF)
                four = tallies[_padded(digit // 4 * THREADS + lane)] >> u64(digit % 4 * 16)
                rank = i32((four & u64(_FIELD)) + ((tally >> u64(digit * HALF)) & u64(0xF)))
                staged[rank] = mine[k]
                if has_numbers:
                    origins[rank] = came[k]
        syncthreads()
        if not is_alone:
            # The first tile begins with all keys of smaller digits: sums in groups, then of groups.
            if tile == 0:
                for group in range(lane, DIGITS // _GROUP, THREADS):
                    of_group = u64(0)
                    for k in range(_GROUP):
                        of_group += u64(totals[turn * DIGITS + group * _GROUP + k])
                    tallies[group] = of_group
            syncthreads()
            for digit in range(lane, DIGITS, THREADS):
                smaller = S(0)
                if tile == 0:
                    group = digit // _GROUP
                    for k in range(group):
                        smaller += S(tallies[k])
                    for k in range(group * _GROUP, digit):
                        smaller += totals[turn * DIGITS + k]
                begins[digit] = i64(keys_before(said, u32(tile), digit, counts[digit], smaller))
            syncthreads()
            if tile == 0:
                for digit in range(lane, DIGITS, THREADS):
                    totals[turn * DIGITS + digit] = S(0)
            for row in range(EACH):
                place = row * THREADS + lane
                digit = i32((staged[place] >> U(shift)) & U(DIGITS - 1))
                if place > 0 and i32((staged[place - 1] >> U(shift)) & U(DIGITS - 1)) != digit:
                    begins[digit] -= place
        moved = [S(0)] * EACH
        if has_numbers:
            for row in range(EACH):
                moved[row] = S(first) + S(min(i32(origins[row * THREADS + lane]), count - 1))
            if turn > 0:
                for row in range(EACH):
                    moved[row] = numbers[moved[row]]
        syncthreads()
        for row in range(EACH):
            place = row * THREADS + lane
            if place < count:
                key = staged[place]
                rank_of_all = i64(place)
                if not is_alone:
                    rank_of_all += begins[i32((key >> U(shift)) & U(DIGITS - 1))]
                if not has_numbers and is_last > 0:
                    key = from_key(key)
                write(S(rank_of_all), key, moved[row], is_last, to, numbers_to, order)

    return kernel_move_digits
