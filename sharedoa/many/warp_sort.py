"""A pass of ``block_sort`` on GPUs whose threads run in step, 32 to a warp.

A warp has a row of counters of its own, one for each digit, and goes over its keys 32 at a time, as
they lie side by side in memory: who of its threads have the same digit they find out together, so
that each key gets its number among those of its digit in the warp (``count_in_warp``). What the
warps before have of the digit, and all smaller digits, is added once; that is the key's place in
the tile (Adinets and Merrill, "Onesweep", 2022).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..heap.arrays import Array
from ..model.intrinsics import atomic_add, atomic_exch, count_in_warp, grid, shared, syncthreads
from ..model.scalars import ScalarType, i32, i64, u16, u32
from ..runtime.kernel import Kernel, general, kernel
from . import block_sort
from .block_sort import BITS, DIGITS

if TYPE_CHECKING:
    from .sorting import Keys

WARP = 32
FEW, MANY, MANY_NUMBERED, MANY_WIDE = 4, 14, 12, 7
"""Keys of a thread where one tile has all; else as many as 64 registers hold, with numbers, and of
64 bits."""
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
    last = (1 << U.bits) - 1
    TILE, OF_WARP = THREADS * EACH, WARP * EACH
    WARPS = THREADS // WARP
    TALLIES = WARPS * DIGITS
    NUMBERS = TILE if has_numbers else 1
    GROUPS = DIGITS // _GROUP
    PADDED = DIGITS + GROUPS  # else threads that read far apart would use the same bank
    # What a tile says: nothing, its own count, or that of all tiles to itself.
    OWN, ALL = 1 << (S.bits - 2), 1 << (S.bits - 1)

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
        begins = shared(i64, DIGITS)  # of a digit's run in the result, less its begin in the tile
        ticket = shared(i32, 1)
        shifts = shared(i32, 1)
        thread = grid(1)
        lane = i32(thread % THREADS)
        row = lane // WARP * DIGITS  # of the warp's counters
        own = lane // WARP * OF_WARP + lane % WARP
        tile = 0
        if not is_alone:
            if lane == 0:
                ticket[0] = atomic_add(tickets, first_turn, 1)
            syncthreads()
            tile = ticket[0]
        first = i64(tile) * TILE
        count = i32(min(length - first, TILE))
        loaded = [values[first + min(own + k * WARP, count - 1)] for k in range(EACH)]
        mine = [U(last)] * EACH  # behind the last key nothing is written
        for k in range(EACH):
            if own + k * WARP < count:
                mine[k] = loaded[k]
                if first_turn == 0:
                    mine[k] = to_key(loaded[k])
        stop = first_turn + 1
        if is_alone:
            stop = turns
        for turn in range(first_turn, stop):
            shift = U(turn * BITS)
            for k in range(TALLIES // THREADS):
                tallies[k * THREADS + lane] = u32(0)
            if lane == 0:
                shifts[0] = turn * BITS
            syncthreads()
            ranks = [u32(0)] * EACH
            for k in range(EACH):
                place = row + i32((mine[k] >> shift) & U(DIGITS - 1))
                ranks[k] = count_in_warp(tallies, place, u32(1))
            syncthreads()
            for some in range(DIGITS // THREADS):
                digit = some * THREADS + lane
                total = u32(0)
                for warp in range(WARPS):
                    before = total
                    total += tallies[warp * DIGITS + digit]
                    tallies[warp * DIGITS + digit] = before
                counts[digit + digit // _GROUP] = total
                if not is_alone:
                    if tile > 0:
                        atomic_exch(said, tile * DIGITS + digit, S(OWN) + S(total))
                    cleared[tile * DIGITS + digit] = S(0)
            syncthreads()
            if lane < GROUPS:
                of_group = u32(0)
                for k in range(_GROUP):
                    of_group += counts[lane * (_GROUP + 1) + k]
                groups[lane] = of_group
            syncthreads()
            for some in range(DIGITS // THREADS):
                digit = some * THREADS + lane
                place_of_digit = u32(0)
                group = digit // _GROUP
                for k in range(GROUPS):
                    place_of_digit += groups[k] * u32(k < group)
                for k in range(_GROUP):
                    place_of_digit += counts[group * (_GROUP + 1) + k] * u32(k < digit % _GROUP)
                for warp in range(WARPS):
                    tallies[warp * DIGITS + digit] += place_of_digit
                begins[digit] = -i64(place_of_digit)
            came = [u16(0)] * EACH
            if has_numbers:
                for k in range(EACH):
                    came[k] = u16(own + k * WARP)
                    if is_alone and turn > 0:
                        came[k] = origins[own + k * WARP]
            syncthreads()
            # Read again, or compilers would keep all places in as many registers.
            shift = U(shifts[0])
            for k in range(EACH):
                place = row + i32((mine[k] >> shift) & U(DIGITS - 1))
                rank = ranks[k] + tallies[place]
                staged[rank] = mine[k]
                if has_numbers:
                    origins[rank] = came[k]
            syncthreads()
            if turn + 1 < stop:
                for k in range(EACH):
                    mine[k] = staged[own + k * WARP]
        if not is_alone:
            # The first tile begins with all keys of smaller digits.
            if tile == 0 and lane < GROUPS:
                sum_of_group = S(0)
                for k in range(_GROUP):
                    sum_of_group += totals[first_turn * DIGITS + lane * _GROUP + k]
                groups_of_all[lane] = sum_of_group
            syncthreads()
            for some in range(DIGITS // THREADS):
                digit = some * THREADS + lane
                earlier = S(0)
                if tile == 0:
                    group = digit // _GROUP
                    for k in range(GROUPS):
                        earlier += groups_of_all[k] * S(k < group)
                    for k in range(_GROUP):
                        of_digit = totals[first_turn * DIGITS + group * _GROUP + k]
                        earlier += of_digit * S(k < digit % _GROUP)
                at = tile - 1
                while at >= 0:
                    heard = atomic_add(said, at * DIGITS + digit, S(0))
                    if heard >= S(ALL):
                        earlier += heard - S(ALL)
                        at = -1
                    elif heard >= S(OWN):
                        earlier += heard - S(OWN)
                        at -= 1
                atomic_exch(
                    said,
                    tile * DIGITS + digit,
                    S(ALL) + earlier + S(counts[digit + digit // _GROUP]),
                )
                begins[digit] += i64(earlier)
            syncthreads()
        moved = [S(0)] * EACH
        if has_numbers:
            for k in range(EACH):
                moved[k] = S(first) + S(min(i32(origins[k * THREADS + lane]), count - 1))
            if first_turn > 0:
                for k in range(EACH):
                    moved[k] = numbers[moved[k]]
        shift_of_last = U(first_turn * BITS)
        for k in range(EACH):
            place = k * THREADS + lane
            if place < count:
                key = staged[place]
                rank_of_all = i64(place)
                if not is_alone:
                    rank_of_all += begins[i32((key >> shift_of_last) & U(DIGITS - 1))]
                if has_numbers:
                    if is_last > 0:
                        order[rank_of_all] = i64(moved[k])
                    else:
                        numbers_to[rank_of_all] = moved[k]
                        to[rank_of_all] = key
                elif is_last > 0:
                    to[rank_of_all] = from_key(key)
                else:
                    to[rank_of_all] = key

    return kernel_move_digits
