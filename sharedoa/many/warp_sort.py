"""A pass of ``block_sort`` on GPUs whose threads run in step, 32 to a warp.

A warp has a row of counters of its own, one for each digit. First it counts its keys, so that the
tile can say how many it has before any key is ranked, and a counter becomes the place in the tile
of the warp's first key of this digit. Then it goes over its keys 32 at a time, as they lie side by
side in memory: who of its threads have the same digit they find out together, and each key gets the
next place (``count_in_warp``; Adinets and Merrill, "Onesweep", 2022).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..heap.arrays import Array
from ..model.intrinsics import atomic_add, count_in_warp, grid, shared, syncthreads
from ..model.scalars import ScalarType, i32, i64, u16, u32, u64
from ..runtime.kernel import Kernel, general, kernel
from . import block_sort
from .sort_parts import BITS, DIGITS, telling, written

if TYPE_CHECKING:
    from .sorting import Keys

WARP = 32
FEW, MANY, MANY_NUMBERED, MANY_WIDE = 4, 20, 14, 10
"""Keys of a thread where one tile has all; else as many as 64 registers hold (of 20 keys of 32 bits
``ptxas`` makes 48), with numbers, and of 64 bits."""
_GROUP = 16
"""Digits that one thread adds up."""


def keys_each(type: ScalarType, length: int, has_numbers: bool) -> int:
    if length <= FEW * block_sort.THREADS:
        return FEW
    return MANY_WIDE if type.bits == 64 else MANY_NUMBERED if has_numbers else MANY


@cache
def kernel_of_moves(
    keys: Keys, S: ScalarType, has_numbers: bool, is_alone: bool, EACH: int
) -> Kernel:
    """One pass, or all of them in a tile that is alone."""
    U, THREADS = keys.type, block_sort.THREADS
    to_key, from_key = keys.conversions(tells_zeros=not has_numbers)
    KEY_BITS = U.bits
    last = (1 << KEY_BITS) - 1
    TILE, OF_WARP = THREADS * EACH, WARP * EACH
    WARPS = THREADS // WARP
    TALLIES, ROUNDS = WARPS * DIGITS, DIGITS // THREADS
    NUMBERS = TILE if has_numbers else 1
    GROUPS = DIGITS // _GROUP
    PADDED = DIGITS + GROUPS  # else threads that read far apart would use the same bank
    say, keys_before = telling(S)
    write = written(keys, S, has_numbers)

    @general
    @kernel
    def kernel_move_digits(
        values: Array[U],
        numbers: Array[S],
        length: i64,
        first_turn: i32,
        is_last: i32,
        turns: i32,
        totals: Array[S],
        tickets: Array[i32],
        said: Array[S],
        cleared: Array[S],
        to: Array[U],
        numbers_to: Array[S],
        order: Array[i64],
    ) -> None:
        staged = shared(U, TILE)
        origins = shared(u16, NUMBERS)
        tallies = shared(u32, TALLIES)
        counts = shared(u32, PADDED)
        groups = shared(u32, GROUPS)
        groups_of_all = shared(S, GROUPS)
        starts = shared(u32, GROUPS)
        begins = shared(S, DIGITS)  # of a digit's run in the result, less its begin in the tile
        ticket = shared(i32, 1)
        shifts = shared(i32, 1)
        lane = i32(grid(1) % THREADS)
        row = lane // WARP * DIGITS  # of the warp's counters
        own = lane // WARP * OF_WARP + lane % WARP
        tile = u32(0)
        if not is_alone:
            if lane == 0:
                ticket[0] = atomic_add(tickets, first_turn, 1)
            syncthreads()
            tile = u32(ticket[0])
        first = u64(tile) * u64(TILE)
        count = i32(min(u64(length) - first, u64(TILE)))
        begin = first + u64(own)
        mine = [U(last)] * EACH  # behind the last key nothing is written
        if count == TILE:
            for k in range(EACH):
                mine[k] = values[begin + u64(k * WARP)]
        else:
            for k in range(EACH):
                if own < count - k * WARP:
                    mine[k] = values[begin + u64(k * WARP)]
        if first_turn == 0:
            for k in range(EACH):
                mine[k] = to_key(mine[k])
            if count < TILE:
                for k in range(EACH):
                    if own >= count - k * WARP:
                        mine[k] = U(last)
        own_counts = [u32(0)] * ROUNDS
        places = [u32(0)] * ROUNDS
        stop = first_turn + 1
        if is_alone:
            stop = turns
        for turn in range(first_turn, stop):
            shift = U((turn * BITS) % KEY_BITS)
            for k in range(TALLIES // THREADS):
                tallies[k * THREADS + lane] = u32(0)
            if lane == 0:
                shifts[0] = turn * BITS
            syncthreads()
            for k in range(EACH):
                place = row + i32((mine[k] >> shift) & U(DIGITS - 1))
                atomic_add(tallies, place, u32(1))
            syncthreads()
            # Of a digit all warps before, then all digits before: sums in groups, then of groups.
            before = [u32(0)] * (ROUNDS * WARPS)
            for some in range(ROUNDS):
                digit = some * THREADS + lane
                total = u32(0)
                for warp in range(WARPS):
                    before[some * WARPS + warp] = total
                    total += tallies[warp * DIGITS + digit]
                own_counts[some] = total
                counts[digit + digit // _GROUP] = total
                if not is_alone:
                    say(said, tile, digit, total)
                    cleared[tile * u32(DIGITS) + u32(digit)] = S(0)
            syncthreads()
            if lane < GROUPS:
                of_group = u32(0)
                for k in range(_GROUP):
                    of_digit = counts[lane * (_GROUP + 1) + k]
                    counts[lane * (_GROUP + 1) + k] = of_group
                    of_group += of_digit
                groups[lane] = of_group
            syncthreads()
            if lane < GROUPS:
                before_group = u32(0)
                for k in range(GROUPS):
                    before_group += groups[k] * u32(k < lane)
                starts[lane] = before_group
            syncthreads()
            for some in range(ROUNDS):
                digit = some * THREADS + lane
                place_of_digit = counts[digit + digit // _GROUP] + starts[digit // _GROUP]
                for warp in range(WARPS):
                    tallies[warp * DIGITS + digit] = before[some * WARPS + warp] + place_of_digit
                places[some] = place_of_digit
            came = [u16(0)] * EACH
            if has_numbers:
                for k in range(EACH):
                    came[k] = u16(own + k * WARP)
                    if is_alone and turn > 0:
                        came[k] = origins[own + k * WARP]
            syncthreads()
            # Read again, or compilers would keep all places in as many registers.
            shift = U(shifts[0] % KEY_BITS)
            for k in range(EACH):
                place = row + i32((mine[k] >> shift) & U(DIGITS - 1))
                rank = count_in_warp(tallies, place, u32(1))
                staged[rank] = mine[k]
                if has_numbers:
                    origins[rank] = came[k]
            syncthreads()
            if turn + 1 < stop:
                for k in range(EACH):
                    mine[k] = staged[own + k * WARP]
        if not is_alone:
            # The first tile begins with all keys of smaller digits.
            if tile == u32(0) and lane < GROUPS:
                sum_of_group = S(0)
                for k in range(_GROUP):
                    sum_of_group += totals[first_turn * DIGITS + lane * _GROUP + k]
                groups_of_all[lane] = sum_of_group
            syncthreads()
            for some in range(ROUNDS):
                digit = some * THREADS + lane
                smaller = S(0)
                if tile == u32(0):
                    group = digit // _GROUP
                    for k in range(GROUPS):
                        smaller += groups_of_all[k] * S(k < group)
                    for k in range(_GROUP):
                        of_digit = totals[first_turn * DIGITS + group * _GROUP + k]
                        smaller += of_digit * S(k < digit % _GROUP)
                earlier = keys_before(said, tile, digit, own_counts[some], smaller)
                begins[digit] = earlier - S(places[some])
            syncthreads()
            if tile == u32(0):
                for some in range(ROUNDS):
                    totals[first_turn * DIGITS + some * THREADS + lane] = S(0)
        keys = [staged[k * THREADS + lane] for k in range(EACH)]
        targets = [S(lane)] * EACH  # less what the first thread of the row has
        if not is_alone:
            shift_of_last = U((first_turn * BITS) % KEY_BITS)
            for k in range(EACH):
                targets[k] += begins[i32((keys[k] >> shift_of_last) & U(DIGITS - 1))]
        moved = [S(0)] * EACH
        if has_numbers:
            for k in range(EACH):
                moved[k] = S(first) + S(min(i32(origins[k * THREADS + lane]), count - 1))
            if first_turn > 0:
                for k in range(EACH):
                    moved[k] = numbers[moved[k]]
        elif is_last > 0:
            for k in range(EACH):
                keys[k] = from_key(keys[k])
        if count == TILE:
            for k in range(EACH):
                at = targets[k] + S(k * THREADS)
                write(at, keys[k], moved[k], is_last, to, numbers_to, order)
        else:
            for k in range(EACH):
                if lane < count - k * THREADS:
                    at = targets[k] + S(k * THREADS)
                    write(at, keys[k], moved[k], is_last, to, numbers_to, order)

    return kernel_move_digits
