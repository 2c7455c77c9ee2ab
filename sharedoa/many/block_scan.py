"""Prefix sums of numbers on a GPU: the tree of ``scan``, three levels of it at a time.

A block has BLOCK elements in shared memory, which neighbouring threads load side by side. Upwards
it combines them in chunks, the chunks of these, and those of these; downwards it computes, from
what lies before the block, the sums of these three levels again. So elements are read twice and
written once, and what is combined with what is as in ``scan``, bit by bit.
"""

from __future__ import annotations

from functools import cache
from typing import TypeGuard

from ..heap.arrays import Array
from ..model.functions import DeviceFunction
from ..model.intrinsics import grid, shared, syncthreads
from ..model.scalars import ScalarType, i32, i64
from ..model.types import Type
from ..runtime.kernel import Kernel, kernel
from .operators import same
from .scratch import scratch

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
    count = len(values)
    _, down = _kernels(values.__sharedoa_element__, total, lift, combine)
    sums = _sums_of(values, total, lift, combine)
    blocks = len(sums[-1])
    before = sums[-1] if blocks == 1 else scan_blocks(sums[-1], total, same(total), combine)
    result = scratch(values._heap, total, count)
    down[blocks * THREADS, THREADS](values, i64(count), sums[0], sums[1], before, result)
    return result


def combine_blocks(
    values: Array, total: ScalarType, lift: DeviceFunction, combine: DeviceFunction
) -> Array:
    """An array of one element: all of ``values`` combined."""
    found = _sums_of(values, total, lift, combine)[-1]
    return found if len(found) == 1 else combine_blocks(found, total, same(total), combine)


def _sums_of(
    values: Array, total: ScalarType, lift: DeviceFunction, combine: DeviceFunction
) -> list[Array]:
    """Those of chunks, of chunks of chunks, and of blocks."""
    count, size, sums = len(values), 1, []
    for _ in range(3):
        size *= CHUNK
        sums.append(scratch(values._heap, total, -(-count // size)))
    up, _ = _kernels(values.__sharedoa_element__, total, lift, combine)
    up[len(sums[-1]) * THREADS, THREADS](values, i64(count), *sums)
    return sums


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
        first = block * BLOCK
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
        first = block * BLOCK
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
