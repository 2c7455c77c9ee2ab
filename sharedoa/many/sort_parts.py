"""What kernels that move keys have in common, whoever ranks them (``block_sort``, ``warp_sort``):
what tiles say to each other, and where keys go."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..heap.arrays import Array
from ..model.functions import DeviceFunction, func
from ..model.intrinsics import atomic_add, atomic_exch
from ..model.scalars import ScalarType, i32, i64, u32

if TYPE_CHECKING:
    from .sorting import Keys

BITS, DIGITS = 8, 256
"""Of a digit of a pass."""
AT_ONCE = 4
"""Tiles that are heard at once: one after the other a tile would wait for each."""


class Telling(NamedTuple):
    """What a tile says of a digit: nothing, its own count, or that of all tiles to itself."""

    #: ``say(said, tile, digit, count)``: as soon as it knows its own; the first tile says nothing.
    say: DeviceFunction
    #: ``keys_before(said, tile, digit, count, smaller)``: how many keys of the digit and of smaller
    #: ones, of which there are ``smaller``, lie before those of a tile; and say so for the next.
    keys_before: DeviceFunction


@cache
def telling(S: ScalarType) -> Telling:
    """With counts of type ``S``, which has two bits more than they."""
    OWN, ALL = 1 << (S.bits - 2), 1 << (S.bits - 1)

    @func
    def say(said: Array[S], tile: u32, digit: i32, count: u32) -> None:
        if tile > u32(0):
            atomic_exch(said, tile * u32(DIGITS) + u32(digit), S(OWN) + S(count))

    @func
    def keys_before(said: Array[S], tile: u32, digit: i32, count: u32, smaller: S) -> S:
        earlier = smaller
        at = tile
        while at > u32(0):
            heard = [S(0)] * AT_ONCE
            for k in range(AT_ONCE):
                other = at - min(at, u32(k + 1))
                heard[k] = atomic_add(said, other * u32(DIGITS) + u32(digit), S(0))
            for k in range(AT_ONCE):
                # The first tile has said it for all, if anything.
                if heard[k] >= S(ALL):
                    earlier += heard[k] - S(ALL)
                    at = u32(0)
                    break
                if heard[k] < S(OWN):
                    break
                earlier += heard[k] - S(OWN)
                at -= u32(1)
        atomic_exch(said, tile * u32(DIGITS) + u32(digit), S(ALL) + earlier + S(count))
        return earlier

    return Telling(say, keys_before)


@cache
def written(keys: Keys, S: ScalarType, has_numbers: bool) -> DeviceFunction:
    """What writes a key, or its number, or both, to its place in the result of a pass."""
    U = keys.type

    @func
    def write(
        target: S,
        key: U,
        number: S,
        is_last: i32,
        to: Array[U],
        numbers_to: Array[S],
        order: Array[i64],
    ) -> None:
        if not has_numbers:
            to[target] = key
        elif is_last > 0:
            order[target] = i64(number)
        else:
            numbers_to[target] = number
            to[target] = key

    return write
