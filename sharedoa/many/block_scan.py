"""Prefix sums of numbers on a GPU: the tree of ``scan``, three levels of it at a time.

A block has BLOCK elements in shared memory, which neighbouring threads load side by side. Upwards
it combines them in chunks, the chunks of these, and those of these; downwards it computes, from
what lies before the block, the sums of these three levels again. So elements are read twice and
written once, and what is combined with what is as in ``scan``, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeGuard

from ..heap.arrays import Array
from ..model.functions import DeviceFunction
from ..model.intrinsics import grid, shared, syncthreads
from ..model.scalars import ScalarType, i32, i64
from ..model.types import Type
from ..runtime.kernel import Kernel, kernel
from .operators import same
from .scratch import scratch, scratches

CHUNK = 16
THREADS = CHUNK**2
BLOCK = CHUNK**3
_PADDED, _PADDED_CHUNKS = BLOCK + THREADS, THREADS + CHUNK
"""Of each chunk one element more: else threads that read theirs side by side would all use the same
bank of shared memory."""
_LARGEST = 8
"""Bytes of an element: there are no more than 48 KiB of shared memory."""


def is_for_blocks(total: Type, values: Array) -> TypeGuard[ScalarType]:
    """Whether blocks of a GPU can do it."""
    is_number = isinstance(total, ScalarType) and total.dtype.itemsize <= _LARGEST
    return is_number and values._heap.backend.target.is_device


def scan_blocks(
    values: Array, total: ScalarType, lift: DeviceFunction, combine: DeviceFunction
) -> Array:
    """``scan.scan`` of at least one element."""
    result = scratch(values._heap, total, len(values))
    scanning(values, total, lift, combine, result)()
    return result


def combine_blocks(
    values: Array, total: ScalarType, lift: DeviceFunction, combine: DeviceFunction
) -> Array:
    """An array of one element: all of ``values`` combined."""
    levels = _levels(values, total, lift, combine)
    for level in levels:
        level.up(*level.given)
    return levels[-1].given[-1]


def scanning(
    values: Array,
    total: ScalarType,
    lift: DeviceFunction,
    combine: DeviceFunction,
    result: Array,
) -> Callable[[], None]:
    """A function that scans what ``values`` are then, as often as it is called."""
    levels = _levels(values, total, lift, combine)
    downwards = []
    before = levels[-1].given[-1]  # of one block, which needs none
    for level in reversed(levels):
        elements, length, sums, of_sums, _ = level.given
        into = result if level is levels[0] else level.scanned
        downwards.append((level.down, (elements, length, sums, of_sums, before, into)))
        before = into

    def scan() -> None:
        for level in levels:
            level.up(*level.given)
        for down, arguments in downwards:
            down(*arguments)

    return scan


class _Level(NamedTuple):
    """Launches, up and down, and what the first is given: elements, how many, and the arrays of the
    sums of chunks, of chunks of chunks, and of blocks. ``scanned`` has room for the elements."""

    up: Any
    down: Any
    given: tuple[Any, ...]
    scanned: Array


def _levels(
    values: Array, total: ScalarType, lift: DeviceFunction, combine: DeviceFunction
) -> list[_Level]:
    count, counts = len(values), list[int]()
    wanted: list[tuple[ScalarType, int]] = []
    while not counts or count > 1:
        counts.append(count)
        sizes = [-(-count // CHUNK**level) for level in (1, 2, 3)]
        wanted += [(total, size) for size in (*sizes, count if len(counts) > 1 else 0)]
        count = sizes[-1]
    found = scratches(values._heap, *wanted)
    levels = []
    for number, count in enumerate(counts):
        *sums, scanned = found[4 * number : 4 * number + 4]
        kernels = _kernels(values.__sharedoa_element__, total, lift, combine)
        up, down = (each[len(sums[-1]) * THREADS, THREADS] for each in kernels)
        levels.append(_Level(up, down, (values, i64(count), *sums), scanned))
        values, lift = sums[-1], same(total)
    return levels


@cache
def _kernels(
    E: ScalarType, T: ScalarType, lift: DeviceFunction, combine: DeviceFunction
) -> tuple[Kernel, Kernel]:
    @kernel
    def kernel_sum_blocks(
        values: Array[E], length: i64, sums: Array[T], of_sums: Array[T], of_blocks: Array[T]
    ) -> None:
        staged = shared(T, _PADDED)
        chunks = shared(T, _PADDED_CHUNKS)
        parts = shared(T, CHUNK)
        thread = grid(1)
        block = thread // THREADS
        lane = i32(thread % THREADS)
        first = i64(block * BLOCK)
        count = i32(min(length - first, BLOCK))
        for row in range(CHUNK):
            place = row * THREADS + lane
            if place < count:
                staged[place + place // CHUNK] = lift(values[first + place])
        syncthreads()
        if lane * CHUNK < count:
            start = lane * (CHUNK + 1)
            total = staged[start]
            for k in range(1, min(count - lane * CHUNK, CHUNK)):
                total = combine(total, staged[start + k])
            sums[block * THREADS + lane] = total
            chunks[lane + lane // CHUNK] = total
        syncthreads()
        count = (count + (CHUNK - 1)) // CHUNK
        if lane < CHUNK and lane * CHUNK < count:
            start = lane * (CHUNK + 1)
            total = chunks[start]
            for k in range(1, min(count - lane * CHUNK, CHUNK)):
                total = combine(total, chunks[start + k])
            of_sums[block * CHUNK + lane] = total
            parts[lane] = total
        syncthreads()
        count = (count + (CHUNK - 1)) // CHUNK
        if lane == 0:
            total = parts[0]
            for k in range(1, count):
                total = combine(total, parts[k])
            of_blocks[block] = total

    @kernel
    def kernel_scan_blocks(
        values: Array[E],
        length: i64,
        sums: Array[T],
        of_sums: Array[T],
        before: Array[T],
        result: Array[T],
    ) -> None:
        staged = shared(T, _PADDED)
        chunks = shared(T, _PADDED_CHUNKS)
        parts = shared(T, CHUNK)
        edges = shared(T, 2)  # what lies before the block, by the lowest two levels
        thread = grid(1)
        block = thread // THREADS
        lane = i32(thread % THREADS)
        first = i64(block * BLOCK)
        count = i32(min(length - first, BLOCK))
        for row in range(CHUNK):
            place = row * THREADS + lane
            if place < count:
                staged[place + place // CHUNK] = lift(values[first + place])
        of_chunks = (count + (CHUNK - 1)) // CHUNK
        of_parts = (of_chunks + (CHUNK - 1)) // CHUNK
        if lane < of_chunks:
            chunks[lane + lane // CHUNK] = sums[block * THREADS + lane]
        if lane < of_parts:
            parts[lane] = of_sums[block * CHUNK + lane]
        syncthreads()
        if lane == 0:
            total = parts[0]
            if block > 0:
                # The last part of the block before, and its last chunk, as that block has them.
                part = (block - 1) * CHUNK
                edge = of_sums[part]
                if block > 1:
                    edge = combine(before[block - 2], edge)
                for k in range(1, CHUNK - 1):
                    edge = combine(edge, of_sums[part + k])
                chunk = block * THREADS - CHUNK
                edges[0] = combine(edge, of_sums[part + (CHUNK - 1)])
                edge = combine(edge, sums[chunk])
                for k in range(1, CHUNK):
                    edge = combine(edge, sums[chunk + k])
                edges[1] = edge
                total = combine(before[block - 1], total)
            parts[0] = total
            for k in range(1, of_parts):
                total = combine(total, parts[k])
                parts[k] = total
        syncthreads()
        if lane < of_parts:
            start = lane * (CHUNK + 1)
            total = chunks[start]
            if lane > 0:
                total = combine(parts[lane - 1], total)
            elif block > 0:
                total = combine(edges[0], total)
            chunks[start] = total
            for k in range(1, min(of_chunks - lane * CHUNK, CHUNK)):
                total = combine(total, chunks[start + k])
                chunks[start + k] = total
        syncthreads()
        if lane < of_chunks:
            start = lane * (CHUNK + 1)
            total = staged[start]
            if lane > 0:
                total = combine(chunks[lane - 1 + (lane - 1) // CHUNK], total)
            elif block > 0:
                total = combine(edges[1], total)
            staged[start] = total
            for k in range(1, min(count - lane * CHUNK, CHUNK)):
                total = combine(total, staged[start + k])
                staged[start + k] = total
        syncthreads()
        for row in range(CHUNK):
            place = row * THREADS + lane
            if place < count:
                result[first + place] = staged[place + place // CHUNK]

    return kernel_sum_blocks, kernel_scan_blocks
