"""What it takes to reduce arrays of one length on a device, made ready once.

The tree is that of ``reduction``, with a thread for each column. The arrays between launches stay
(``plans``), and the result is in memory that host and device both reach: a call launches, waits
once, and reads.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..heap.array_memory import ArrayStorage
from ..heap.arrays import Array
from ..heap.heap import Heap
from ..heap.recording import is_recorded, refuse_access
from ..heap.slot_lists import staging_of
from ..model.functions import DeviceFunction, func
from ..model.intrinsics import grid, shared, syncthreads
from ..model.scalars import ScalarType, boolean, i64
from ..runtime.kernel import Kernel, kernel
from . import on_host
from .operators import Operator, converted
from .plans import Lent
from .reduction import LANES, PIECE, ROWS, piece_counts
from .scratch import scratch_storage

if TYPE_CHECKING:
    from ..backends import Backend

GROUP = 8
"""Rows that a thread reads before it combines any: one after the other it would wait for each."""
_RESULT_BYTES = 64


class Read(NamedTuple):
    """What elements are, in annotations, and what makes a number of one."""

    element: Any
    lift: DeviceFunction


class ReductionPlan:
    """Combines numbers, of which there is at least one; or finds the index of the first that is
    what comes out, or NaN."""

    def __init__(self, heap: Heap, read: Read, operator: Operator, length: int, name: str) -> None:
        if is_recorded(heap):
            raise refuse_access()  # before anything is recorded
        self._name, is_index, total = name, name.startswith("arg"), operator.total
        counts, size = piece_counts(length), total.dtype.itemsize
        # The last one is the result, or what is looked for.
        self.size = sum(counts) * size
        between = scratch_storage(heap, self.size)
        result = _Result(heap.backend, i64 if is_index else total)
        self._number = result.number
        found = self._found = Lent(heap, result.element, result, result.address, 1)
        self._levels: list[tuple[Any, int, Array]] = []
        address, of = between.address, read
        for count in counts:
            run = _kernel_of_blocks(*of, total, operator.combine)[count * LANES, LANES]
            is_found = count == 1 and not is_index
            into = found if is_found else Lent(heap, total, between, address, count)
            self._levels.append((run, length, into))
            address, length = address + count * size, count
            of = Read(total, converted(total, total))
        self._search = _kernel_of_search(*read, total)[LANES, LANES] if is_index else None

    def __call__(self, values: Any) -> Any:
        """``values`` are elements of an array, or what ``read`` finds in objects, which are an
        array or a run."""
        level = values
        for run, length, into in self._levels:
            run(level, length, into)
            level = into
        if self._search:
            _, length, first = self._levels[0]
            self._search(values, length, first, len(first), level, self._found)
        self._found._heap.wait()
        return on_host.finished(self._number[0], self._name, len(values))


class _Result(ArrayStorage):
    """An array of one number in memory that host and device both reach."""

    def __init__(self, backend: Backend, type: ScalarType) -> None:
        # Who has yet to launch what writes to it keeps this storage.
        self._staging = staging_of(self, backend, 1, _RESULT_BYTES)
        self.number = self._staging.memory(0)[: type.dtype.itemsize].view(type.dtype)
        super().__init__(self._staging.address(0), _RESULT_BYTES, type)


@cache
def _kernel_of_blocks(
    E: Any, lift: DeviceFunction, T: ScalarType, combine: DeviceFunction
) -> Kernel:
    @kernel
    def kernel_reduce_blocks(values: Array[E], length: i64, totals: Array[T]) -> None:
        columns = shared(T, LANES)
        thread = grid(1)
        piece = thread // LANES
        lane = thread % LANES
        first = piece * PIECE + lane
        total = T(0)
        if piece * PIECE + PIECE <= length:
            some = [lift(values[first + k * LANES]) for k in range(GROUP)]
            total = some[0]
            for k in range(1, GROUP):
                total = combine(total, some[k])
            for row in range(GROUP, ROWS, GROUP):
                some = [lift(values[first + (row + k) * LANES]) for k in range(GROUP)]
                for k in range(GROUP):
                    total = combine(total, some[k])
        elif first < length:
            total = lift(values[first])
            for row in range(first + LANES, length, GROUP * LANES):
                some = [lift(values[min(row + k * LANES, length - 1)]) for k in range(GROUP)]
                for k in range(GROUP):
                    if row + k * LANES < length:
                        total = combine(total, some[k])
        columns[lane] = total
        lanes = min(length - piece * PIECE, LANES)
        half = LANES // 2
        while half > 0:
            syncthreads()
            if lane < half and lane + half < lanes:
                columns[lane] = combine(columns[lane], columns[lane + half])
            lanes = min(lanes, half)
            half = half // 2
        if lane == 0:
            totals[piece] = columns[0]

    return kernel_reduce_blocks


@cache
def _kernel_of_search(E: Any, lift: DeviceFunction, T: ScalarType) -> Kernel:
    """One block looks for the first piece that has what is wanted, then in this piece."""

    @func
    def is_sought(value: T, sought: T) -> boolean:
        return value == sought or (sought != sought and value != value)

    @kernel
    def kernel_search(
        values: Array[E],
        length: i64,
        pieces: Array[T],
        count: i64,
        wanted: Array[T],
        found: Array[i64],
    ) -> None:
        places = shared(i64, LANES)
        lane = grid(1)
        sought = wanted[0]
        place = count
        for row in range(lane, count, GROUP * LANES):
            # Behind the last one it is read again.
            some = [pieces[min(row + k * LANES, count - 1)] for k in range(GROUP)]
            for k in range(GROUP):
                if is_sought(some[k], sought):
                    place = min(place, row + k * LANES)
            if place < count:
                break
        places[lane] = place
        half = LANES // 2
        while half > 0:
            syncthreads()
            if lane < half:
                places[lane] = min(places[lane], places[lane + half])
            half = half // 2
        syncthreads()
        first = places[0] * PIECE
        stop = min(first + PIECE, length)
        syncthreads()
        place = stop
        for row in range(first + lane, stop, GROUP * LANES):
            of_piece = [lift(values[min(row + k * LANES, stop - 1)]) for k in range(GROUP)]
            for k in range(GROUP):
                if is_sought(of_piece[k], sought):
                    place = min(place, row + k * LANES)
            if place < stop:
                break
        places[lane] = place
        half = LANES // 2
        while half > 0:
            syncthreads()
            if lane < half:
                places[lane] = min(places[lane], places[lane + half])
            half = half // 2
        if lane == 0:
            found[0] = places[0]

    return kernel_search
