"""Prefix sums of numbers on a GPU: the tree of ``scan``, three levels of it at a time.

A block has BLOCK elements in shared memory, which neighbouring threads load side by side. It
combines them in chunks, the chunks of these, and those of these. Upwards it writes all of them
combined, and what the next block has to know of them; downwards the sums of these three levels,
which go on from what lies before the block. Up to CHUNK * CHUNK blocks do both in one launch: each
waits until those before it have told what they have, and sums that up itself. More are the elements
of a level above. So elements of one level are read once, of others twice, and what is combined with
what is as in ``scan``, bit by bit. Blocks are numbered as they begin, so that who is waited for
runs (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, TypeGuard

from ..heap.arrays import Array
from ..heap.heap import Heap
from ..model.functions import DeviceFunction
from ..model.intrinsics import atomic_add, fence, grid, gridsize, shared, syncthreads
from ..model.scalars import ScalarType, i32, i64, u32, u64
from ..model.types import Type
from ..runtime.kernel import Kernel, general, kernel
from .operators import same
from .plans import Between, Lent, planned
from .scratch import scratch

CHUNK = 16
THREADS = CHUNK**2
BLOCK = CHUNK**3
_PADDED, _PADDED_CHUNKS = BLOCK + THREADS, THREADS + CHUNK
"""Of each chunk one element more: else threads that read theirs side by side would all use the same
bank of shared memory."""
_EDGE = 2 * CHUNK
"""What a block says of itself to the next one: its parts, and the chunks of the last one."""
_UPWARDS, _DOWNWARDS, _AT_ONCE = 1, 0, 2
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
    heap, element, length = values._heap, values.__sharedoa_element__, len(values)
    key = ScanPlan, element, total, lift, combine, length
    found: Array = planned(heap, key, lambda: ScanPlan(heap, *key[1:]), values)
    return found


def combine_blocks(
    values: Array, total: ScalarType, lift: DeviceFunction, combine: DeviceFunction
) -> Array:
    """An array of one element: all of ``values`` combined."""
    heap, element = values._heap, values.__sharedoa_element__
    plan = ScanPlan(heap, element, total, lift, combine, len(values), most=1)
    return plan.combine(values)


class _Level(NamedTuple):
    """A launch's kernel, and how many elements it goes over."""

    run: Any
    length: int


class ScanPlan:
    """Kernels over arrays of one length, and the arrays between them: for each level the edges of
    its blocks, and the blocks combined, which are the elements of the next level."""

    def __init__(
        self,
        heap: Heap,
        element: Type,
        total: ScalarType,
        lift: DeviceFunction,
        combine: DeviceFunction,
        length: int,
        most: int | None = None,
    ) -> None:
        """Levels until there are at most so many blocks."""
        self._total, self._length = total, length
        self._levels: list[_Level] = []
        wanted: list[tuple[ScalarType, int]] = []
        count = length
        while not wanted or count > (most or CHUNK**2):
            blocks = -(-count // BLOCK)
            run = _kernel(element, total, lift, combine)[blocks * THREADS, THREADS]
            self._levels.append(_Level(run, count))
            wanted += [(total, blocks * _EDGE), (total, blocks)]
            element, lift, count = total, same(total), blocks
        self._between = Between(*wanted)
        self.size = self._between.size
        # How many launches of the top there were; tickets, and a word of each block.
        words = 1 + blocks
        said = heap.new_storage(u64, words)
        assert said is not None
        self._said = Lent(heap, u64, said, said.address, words)

    def __call__(self, values: Array) -> Array:
        """The prefix sums."""
        result = scratch(values._heap, self._total, self._length)
        between = self._between.arrays(values._heap)
        elements = [values, *between[1::2]]
        top = len(self._levels) - 1
        for place in range(top):
            self._launch(place, _UPWARDS, elements, between, between[1])
        self._launch(top, _AT_ONCE, elements, between, elements[top] if top else result)
        for place in range(top - 1, -1, -1):
            # What it writes to is what the level below has of blocks.
            target = elements[place] if place else result
            self._launch(place, _DOWNWARDS, elements, between, target)
        return result

    def combine(self, values: Array) -> Array:
        """All of them, in an array of one element."""
        between = self._between.arrays(values._heap)
        elements = [values, *between[1::2]]
        for place in range(len(self._levels)):
            self._launch(place, _UPWARDS, elements, between, between[1])
        return between[-1]

    def _launch(
        self, place: int, way: int, elements: list[Array], between: list[Array], result: Array
    ) -> None:
        run, length = self._levels[place]
        run(elements[place], length, way, *between[2 * place : 2 * place + 2], self._said, result)


@cache
def _kernel(E: Any, T: ScalarType, lift: DeviceFunction, combine: DeviceFunction) -> Kernel:
    @general
    @kernel
    def kernel_scan_blocks(
        values: Array[E],
        length: i64,
        way: i32,
        edges: Array[T],
        blocks: Array[T],
        said: Array[u64],
        result: Array[T],
    ) -> None:
        staged = shared(T, _PADDED)
        chunks = shared(T, _PADDED_CHUNKS)
        parts = shared(T, CHUNK)
        above = shared(T, _PADDED_CHUNKS)  # blocks before this one combined
        parts_above = shared(T, CHUNK)  # chunks of these
        before = shared(T, _EDGE)  # the edge of the block before
        starts = shared(T, 2)  # what lies before the block, by the lowest two levels
        ends = shared(T, 2)  # all up to the block before, and up to the one before that
        numbers = shared(u64, 2)  # of the block, and of the launch
        lane = i32(grid(1) % THREADS)
        block = i64(grid(1) // THREADS)
        hears = way == _AT_ONCE and length > BLOCK
        if hears:
            # Who waits for blocks that begin before runs beside them.
            if lane == 0:
                numbers[0] = atomic_add(said, 0, u64(1)) % u64(gridsize(1) // THREADS)
            syncthreads()
            block = i64(numbers[0])
        first = i64(block * BLOCK)
        count = i32(min(length - first, BLOCK))
        # Elements of a list are read one after another without waiting for any; the last one again
        # instead of those that there are not, which would have to be asked for each.
        begin, last = u64(first), u32(count - 1)
        loaded = [values[begin + u64(min(u32(row * THREADS + lane), last))] for row in range(CHUNK)]
        for row in range(CHUNK):
            place = row * THREADS + lane
            staged[place + place // CHUNK] = lift(loaded[row])
        if way == _DOWNWARDS and block > 0:
            for place in range(lane, _EDGE, THREADS):
                before[place] = edges[(block - 1) * _EDGE + place]
            if lane < min(i32(block), 2):
                ends[lane] = blocks[block - 1 - lane]
        of_chunks = (count + (CHUNK - 1)) // CHUNK
        of_parts = (of_chunks + (CHUNK - 1)) // CHUNK
        syncthreads()
        if lane < of_chunks:
            start = lane * (CHUNK + 1)
            total = staged[start]
            for k in range(1, min(count - lane * CHUNK, CHUNK)):
                total = combine(total, staged[start + k])
            chunks[lane + lane // CHUNK] = total
            if way != _DOWNWARDS and lane >= THREADS - CHUNK:
                edges[block * _EDGE + (lane - (THREADS - CHUNK) + CHUNK)] = total
        syncthreads()
        if lane < of_parts:
            start = lane * (CHUNK + 1)
            total = chunks[start]
            for k in range(1, min(of_chunks - lane * CHUNK, CHUNK)):
                total = combine(total, chunks[start + k])
            parts[lane] = total
            if way != _DOWNWARDS:
                edges[block * _EDGE + lane] = total
        syncthreads()
        if way != _DOWNWARDS and lane == 0:
            total = parts[0]
            for k in range(1, of_parts):
                total = combine(total, parts[k])
            blocks[block] = total
        if hears:
            syncthreads()
            if lane == 0:
                fence()
                numbers[1] = atomic_add(said, 1 + block, u64(1)) + u64(1)
            syncthreads()
            if lane < block:
                launches = u64(0)
                while launches < numbers[1]:
                    launches = atomic_add(said, 1 + lane, u64(0))
                fence()
                above[lane + lane // CHUNK] = blocks[lane]
            syncthreads()
            # Those that combine do not wait for the edge.
            place = lane - (THREADS - _EDGE)
            if place >= 0 and block > 0:
                before[place] = edges[(block - 1) * _EDGE + place]
            if lane * CHUNK < block:
                start = lane * (CHUNK + 1)
                total = above[start]
                for k in range(1, min(i32(block) - lane * CHUNK, CHUNK)):
                    total = combine(total, above[start + k])
                parts_above[lane] = total
            syncthreads()
            if lane < min(i32(block), 2):
                place = i32(block) - 1 - lane
                start = place // CHUNK * (CHUNK + 1)
                total = above[start]
                if start > 0:
                    lower = parts_above[0]
                    for k in range(1, place // CHUNK):
                        lower = combine(lower, parts_above[k])
                    total = combine(lower, total)
                for k in range(1, place % CHUNK + 1):
                    total = combine(total, above[start + k])
                ends[lane] = total
            syncthreads()
        if way != _UPWARDS:
            if lane == 0:
                total = parts[0]
                if block > 0:
                    # The last part of the block before, and its last chunk, as that block has them.
                    edge = before[0]
                    if block > 1:
                        edge = combine(ends[1], edge)
                    for k in range(1, CHUNK - 1):
                        edge = combine(edge, before[k])
                    starts[0] = combine(edge, before[CHUNK - 1])
                    for k in range(CHUNK):
                        edge = combine(edge, before[CHUNK + k])
                    starts[1] = edge
                    total = combine(ends[0], total)
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
                    total = combine(starts[0], total)
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
                    total = combine(starts[1], total)
                staged[start] = total
                for k in range(1, min(count - lane * CHUNK, CHUNK)):
                    total = combine(total, staged[start + k])
                    staged[start + k] = total
            syncthreads()
            for row in range(CHUNK):
                place = row * THREADS + lane
                if place < count:
                    result[first + place] = staged[place + place // CHUNK]

    return kernel_scan_blocks
