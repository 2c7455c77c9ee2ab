"""Exclusive prefix sums of integer arrays, with ordinary kernels so that every backend has them.

Three algorithms with the same results. On a device a launch takes as long as adding up a million
numbers, and threads of a block can wait for each other: ``PrefixSumByPieces``; blocks that run at
the same time can, too: ``PrefixSumByTiles``. On a processor launches take little, waiting much:
``PrefixSumByChunks``. Why they are not scans of
``sharedoa.many``, whose trees are made for floats: docs/performance/many.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..heap.arrays import Array
from ..heap.heap import Heap
from ..model import scalars
from ..model.functions import func
from ..model.intrinsics import atomic_add, atomic_exch, grid, gridsize, shared, syncthreads
from ..model.type_names import i32, u32, u64
from .kernel import kernel

#: Called with a kernel, the threads of its launch and its arguments.
Launches = Callable[..., None]

#: Elements that one thread of ``PrefixSumByChunks`` adds up.
CHUNK = 32
#: Elements that a thread reads before it writes any: one after the other it would wait for each.
GROUP = 8
#: Sums that a thread reads at once, a *fan* of them.
FAN = 32
#: Threads of a block, of which each sums a group: together a piece.
BLOCK = 256
PIECE = BLOCK * GROUP
#: Sums of a level that a thread adds up: up to so many pieces, there is one level.
MOST = 128
_FANS_OF_A_PIECE, _FANS_OF_THE_MOST = BLOCK // FAN, MOST // FAN
_STAGED = PIECE + BLOCK
"""Words for a piece with one more behind each group: so threads that ask for the same element of
their groups ask different banks of the shared memory."""


class ExclusivePrefixSum(Protocol):
    """Prefix sums of the first ``length`` elements of arrays: each becomes the sum of those before
    it."""

    def launch(self, launches: Launches, values: Any, result: Any) -> None:
        """Queue the kernels that make ``result[k]`` the sum of ``values[:k]``."""
        ...


def exclusive_prefix_sum(heap: Heap, length: int) -> ExclusivePrefixSum:
    """The algorithm that suits the heap's backend."""
    backend = heap.backend
    if not backend.target.is_device:
        return PrefixSumByChunks(heap, length)
    if length <= PIECE * min(backend.blocks_at_once, BLOCK):
        return PrefixSumByTiles(heap, length)
    return PrefixSumByPieces(heap, length)


@func
def scan_group(values: Array[i32], k: u32, total: i32, result: Array[i32]) -> i32:
    """Prefix sums of the eight elements from ``k`` on, with ``total`` before them; the total after
    them."""
    a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
    e, f, g, h = values[k + 4], values[k + 5], values[k + 6], values[k + 7]
    result[k] = total
    result[k + 1] = total + a
    result[k + 2] = total + a + b
    result[k + 3] = total + a + b + c
    result[k + 4] = total + a + b + c + d
    result[k + 5] = total + a + b + c + d + e
    result[k + 6] = total + a + b + c + d + e + f
    result[k + 7] = total + a + b + c + d + e + f + g
    return total + a + b + c + d + e + f + g + h


# ---------------------------------------------------------------------- by chunks


@kernel
def kernel_sum_chunks(values: Array[i32], length: i32, sums: Array[i32]) -> None:
    """``sums[t]`` becomes the sum of chunk t of ``values[:length]``."""
    t = grid(1)
    total = i32(0)
    for k in range(t * CHUNK, min(t * CHUNK + CHUNK, length)):
        total += values[k]
    sums[t] = total


@kernel
def kernel_scan_chunks(
    values: Array[i32], length: i32, before: Array[i32], result: Array[i32]
) -> None:
    """``result`` becomes the prefix sums, given ``before[t]``, the sum before chunk t. ``result``
    may be ``values``."""
    t = grid(1)
    total = before[t]
    start, end = t * CHUNK, min(t * CHUNK + CHUNK, length)
    whole = start + (end - start) // GROUP * GROUP
    for k in range(start, whole, GROUP):
        total = scan_group(values, k, total, result)
    for k in range(whole, end):
        value = values[k]
        result[k] = total
        total += value


@kernel
def kernel_scan_alone(values: Array[i32], length: i32) -> None:
    """One thread replaces ``values[:length]`` by its prefix sums."""
    if grid(1) == 0:
        total = i32(0)
        for k in range(length):
            value = values[k]
            values[k] = total
            total += value


class PrefixSumByChunks:
    """A tree of chunks: sums are formed level by level upwards, then prefixes downwards, which adds
    each element twice in all (Blelloch, "Prefix Sums and Their Applications", 1990).
    """

    def __init__(self, heap: Heap, length: int) -> None:
        self._length = length
        self._sums: list[Any] = []
        self._lengths = [length]
        while self._lengths[-1] > CHUNK:
            self._lengths.append(-(-self._lengths[-1] // CHUNK))
            self._sums.append(heap.blank(scalars.i32, self._lengths[-1]))

    def launch(self, launches: Launches, values: Any, result: Any) -> None:
        levels = [values, *self._sums]
        for lower, upper, length, count in zip(
            levels, self._sums, self._lengths, self._lengths[1:], strict=False
        ):
            launches(kernel_sum_chunks, count, lower, length, upper)
        if not self._sums:
            launches(kernel_copy, self._length, values, result)
            launches(kernel_scan_alone, 1, result, self._length)
            return
        launches(kernel_scan_alone, 1, self._sums[-1], self._lengths[-1])
        for level in reversed(range(len(self._sums))):
            target = result if level == 0 else levels[level]
            threads = self._lengths[level + 1]
            launches(
                kernel_scan_chunks, threads, levels[level], self._lengths[level],
                self._sums[level], target,
            )  # fmt: skip


@kernel
def kernel_copy(values: Array[i32], result: Array[i32]) -> None:
    i = grid(1)
    result[i] = values[i]


# ---------------------------------------------------------------------- by pieces


@func
def sum_of_first(count: u32, sums: Array[i32], fan: u32) -> i32:
    """The sum of the first ``count`` numbers of a fan. All are read, so that none has to wait."""
    total = i32(0)
    for k in range(FAN):
        total += sums[fan * FAN + u32(k)] * i32(u32(k) < count)
    return total


@kernel
def kernel_sum_pieces(
    values: Array[i32],
    length: i32,
    groups: Array[i32],
    fans: Array[i32],
    pieces: Array[i32],
) -> None:
    """The sums of groups of ``values[:length]``; of fans of them, of which each piece has a fan;
    and of pieces."""
    t = u32(grid(1))
    start, total = t * GROUP, i32(0)
    if start + GROUP <= u32(length):
        for k in range(GROUP):
            total += values[start + u32(k)]
    else:
        for k in range(start, length):
            total += values[k]
    groups[t] = total
    syncthreads()
    piece, thread = t // BLOCK, t % BLOCK
    if thread < _FANS_OF_A_PIECE:
        fan = piece * _FANS_OF_A_PIECE + thread
        fans[piece * FAN + thread] = sum_of_first(u32(FAN), groups, fan)
    syncthreads()
    if thread == 0:
        pieces[piece] = sum_of_first(u32(_FANS_OF_A_PIECE), fans, piece)


@kernel
def kernel_sum_level(pieces: Array[i32], lower: u32, upper: u32) -> None:
    """The number t of the level that begins at fan ``upper`` becomes the sum of its MOST numbers of
    the level from fan ``lower`` on."""
    t = u32(grid(1))
    total = i32(0)
    for k in range(_FANS_OF_THE_MOST):
        total += sum_of_first(u32(FAN), pieces, lower + t * _FANS_OF_THE_MOST + u32(k))
    pieces[upper * FAN + t] = total


@kernel
def kernel_scan_pieces(
    values: Array[i32],
    length: i32,
    groups: Array[i32],
    fans: Array[i32],
    pieces: Array[i32],
    result: Array[i32],
) -> None:
    """``result`` becomes the prefix sums, given the sums of groups, fans and all levels of pieces:
    each thread adds what is left of its group in each of them, and then scans it."""
    t = u32(grid(1))
    place, count = t // BLOCK, u32(gridsize(1)) // BLOCK
    total = sum_of_first(t % FAN, groups, t // FAN)
    total += sum_of_first(t // FAN % _FANS_OF_A_PIECE, fans, place)
    level = u32(0)
    while True:
        left, fan = place % MOST, level + place // MOST * _FANS_OF_THE_MOST
        while left > 0:
            total += sum_of_first(left, pieces, fan)
            left, fan = left - min(left, u32(FAN)), fan + 1
        if count <= MOST:
            break
        place, count = place // MOST, (count + (MOST - 1)) // MOST
        level += count * _FANS_OF_THE_MOST
    start = t * GROUP
    if start + GROUP <= u32(length):
        scan_group(values, start, total, result)
    else:
        for k in range(start, length):
            value = values[k]
            result[k] = total
            total += value


class PrefixSumByPieces:
    """Two launches up to MOST pieces, one more for each MOST times as many: the first sums pieces,
    the last adds for each group what lies before it (Merrill and Grimshaw, "Parallel Scan for
    Stream Architectures", 2009: reduce, then scan)."""

    def __init__(self, heap: Heap, length: int) -> None:
        self._length = length
        self._counts = [-(-length // PIECE)]
        #: The fan of ``pieces`` that each level begins with, after all of the one below. Numbers
        #: beyond the last one of a level are 0.
        self._levels = [0]
        while self._counts[-1] > MOST:
            self._counts.append(-(-self._counts[-1] // MOST))
            self._levels.append(self._levels[-1] + self._counts[-1] * _FANS_OF_THE_MOST)
        pieces = self._counts[0]
        fans = self._levels[-1] + _FANS_OF_THE_MOST
        lengths = pieces * BLOCK, pieces * FAN, fans * FAN
        self._sums = [heap.blank(scalars.i32, n) for n in lengths]

    def launch(self, launches: Launches, values: Any, result: Any) -> None:
        threads = self._counts[0] * BLOCK, BLOCK
        launches(kernel_sum_pieces, threads, values, self._length, *self._sums)
        for count, lower, upper in zip(
            self._counts[1:], self._levels, self._levels[1:], strict=False
        ):
            launches(kernel_sum_level, count, self._sums[-1], lower, upper)
        launches(kernel_scan_pieces, threads, values, self._length, *self._sums, result)


# ---------------------------------------------------------------------- by tiles


@kernel
def kernel_scan_tiles(
    values: Array[i32], length: i32, said: Array[u64], result: Array[i32]
) -> None:
    """``result`` becomes the prefix sums. Each block says what its piece sums up to, with the
    number of the launch, and waits until all before it have. Threads side by side read and write
    elements side by side; in between each thread has a group."""
    staged = shared(i32, _STAGED)
    totals = shared(i32, BLOCK)
    fans = shared(i32, _FANS_OF_A_PIECE)
    earlier = shared(i32, BLOCK)
    earlier_fans = shared(i32, _FANS_OF_A_PIECE)
    launch = shared(u64, 1)  # one more than the last one, in the upper half
    t = u32(grid(1))
    tile, thread = t // BLOCK, t % BLOCK
    first, start, last = tile * PIECE, t * GROUP, u32(length) - 1
    read = [values[min(first + u32(k) * BLOCK + thread, last)] for k in range(GROUP)]
    if thread == 0:
        launch[0] = ((atomic_add(said, tile, u64(0)) >> u64(32)) + u64(1)) << u64(32)
    for k in range(GROUP):
        place = u32(k) * BLOCK + thread
        staged[place + place // GROUP] = read[k]
    syncthreads()
    loaded = [staged[thread * (GROUP + 1) + u32(k)] for k in range(GROUP)]
    total = i32(0)
    for k in range(GROUP):
        if start + u32(k) > last:
            loaded[k] = 0
        total += loaded[k]
    totals[thread] = total
    syncthreads()
    if thread < _FANS_OF_A_PIECE:
        of_fan = i32(0)
        for k in range(FAN):
            of_fan += totals[thread * FAN + u32(k)]
        fans[thread] = of_fan
    syncthreads()
    before, of_piece = i32(0), i32(0)
    for k in range(_FANS_OF_A_PIECE):
        before += fans[k] * i32(u32(k) < thread // FAN)
        of_piece += fans[k]
    if thread == 0:
        atomic_exch(said, tile, launch[0] | u64(u32(of_piece)))
    heard = u64(0)
    if thread < tile:
        heard = atomic_add(said, thread, u64(0))
        while heard >> u64(32) != launch[0] >> u64(32):
            heard = atomic_add(said, thread, u64(0))
    earlier[thread] = i32(u32(heard))
    syncthreads()
    if thread < _FANS_OF_A_PIECE:
        of_fan = i32(0)
        for k in range(FAN):
            of_fan += earlier[thread * FAN + u32(k)]
        earlier_fans[thread] = of_fan
    syncthreads()
    for k in range(FAN):
        before += totals[thread // FAN * FAN + u32(k)] * i32(u32(k) < thread % FAN)
    for k in range(_FANS_OF_A_PIECE):
        before += earlier_fans[k]
    for k in range(GROUP):
        staged[thread * (GROUP + 1) + u32(k)] = before
        before += loaded[k]
    syncthreads()
    for k in range(GROUP):
        place = u32(k) * BLOCK + thread
        if first + place <= last:
            result[first + place] = staged[place + place // GROUP]


class PrefixSumByTiles:
    """One launch, of at most ``blocks_at_once`` blocks, which run at the same time: so nobody waits
    for a block that has no room to begin (the look-back of Merrill and Garland, "Single-pass
    Parallel Prefix Scan with Decoupled Look-back", 2016, at all tiles at once). What a tile says
    has the number of the launch, so that nothing is cleared between launches."""

    def __init__(self, heap: Heap, length: int) -> None:
        self._length = length
        self._tiles = -(-length // PIECE)
        self._said = heap.blank(scalars.u64, max(1, self._tiles))

    def launch(self, launches: Launches, values: Any, result: Any) -> None:
        if self._length:
            threads = self._tiles * BLOCK, BLOCK
            launches(kernel_scan_tiles, threads, values, self._length, self._said, result)
