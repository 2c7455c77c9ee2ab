"""Columns between NumPy arrays and memory on the device, through a buffer that both sides reach.

The buffer has several pieces. Threads of the host fill some while kernels of the device empty
others, or the other way round; a kernel takes values from the buffer to where they belong.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..context_managers import contextmanager
from ..cores import worker_count
from ..errors import HeapError
from ..model.field_address import LANES, WORD
from ..model.record import scalars
from ..model.reference import ReferenceEncoding
from .base import Backend, Bytes
from .column_kernels import MOVE, NUMBER
from .own_kernels import OwnKernels
from .permutation_kernel import PERMUTE

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..heap.transfer import Column, Permutation, Values

PIECE_BYTES = 4 << 20
"""Long enough that what Python does for each does not count."""
PIECES = 8
#: Pieces that the host works on; the device has the others.
_HOST_PIECES = PIECES // 2
_MOST_THREADS = 1 << 30
_WORD = 8
"""Bytes that a thread copies."""

_Piece = tuple["Column", "Values"]


class Staging(Protocol):
    """``PIECES`` pieces of ``piece_bytes`` that host and device both reach."""

    piece_bytes: int

    def address(self, piece: int) -> int: ...

    def memory(self, piece: int) -> Bytes: ...

    def mark(self, piece: int) -> None:
        """Everything launched so far may use the piece."""
        ...

    def wait(self, piece: int) -> None:
        """Wait until what ``mark`` meant has ended."""
        ...

    def close(self) -> None: ...


class BulkTransfer:
    """``heap.transfer.Transfer`` for any backend, given a way to make the buffer, and what says
    whether its device can be used."""

    def __init__(
        self,
        backend: Backend,
        open_staging: Callable[[], Staging],
        is_usable: Callable[[], bool] = lambda: True,
    ) -> None:
        self._backend = backend
        self._is_usable = is_usable
        self._open_staging = open_staging
        self._staging: Staging | None = None
        self._kernels = OwnKernels(backend)
        #: Threads of several heaps have one buffer.
        self._lock = threading.Lock()
        self.largest_item = PIECE_BYTES

    def ready(self) -> bool:
        """See ``heap.transfer.Transfer``. Everything that may be refused is asked for here."""
        if not self._is_usable():
            return False
        with self._lock:
            if self._staging is None:
                for kernel in (MOVE, NUMBER):
                    self._kernels.load(kernel)
                try:
                    self._staging = self._open_staging()
                except HeapError:
                    return False
                self.largest_item = self._staging.piece_bytes
        return True

    def write(self, columns: Sequence[tuple[Column, Values]]) -> None:
        """See ``heap.transfer.Transfer``."""
        with self._working() as staging:
            pieces: list[_Piece] = []
            for column, values in columns:
                if values.strides[0] == 0 and column.dtype.isbuiltin:
                    self._fill(column, values[:1].astype(column.dtype))
                else:
                    pieces += _cut(column, values, staging.piece_bytes)
            if pieces:
                self._send(staging, pieces)

    def read(self, column: Column, into: Values) -> None:
        """See ``heap.transfer.Transfer``."""
        with self._working() as staging:
            self._fetch(staging, _cut(column, into, staging.piece_bytes))

    def write_references(
        self, address: int, slots: Column, first: int, encoding: ReferenceEncoding
    ) -> None:
        """See ``heap.transfer.Transfer``."""
        shift, block_bytes = _block(slots)
        size, unit = encoding.dtype.itemsize, encoding.unit
        with self._working():
            numbers = (first, block_bytes // unit, shift, WORD // unit)
            self._number(slots.count, size, 0, (address, size, 0, 0), slots.first, numbers)

    def permute(self, permutation: Permutation, scratch: int, scratch_bytes: int) -> None:
        """See ``heap.transfer.Transfer``."""
        self._kernels.load(PERMUTE)
        size, step, scalars = permutation.size, permutation.step, permutation.scalars
        words, each = size // _WORD, scratch_bytes // size
        with self._working():
            for first in range(0, permutation.count, each):
                count = min(each, permutation.count - first)
                first_tile = permutation.start + first * step
                leaves = (first_tile, step, scratch, size, permutation.table, scalars)
                self._kernels.launch(PERMUTE, count * scalars * LANES, leaves)
                data = (scratch, size, _WORD, words)
                how = (_WORD, int(True), _WORD, 0)
                self._kernels.launch(MOVE, count * words, (*data, *how, first_tile, step, 0, 0))

    def clear(self, start: int, end: int) -> None:
        """See ``heap.transfer.Transfer``."""
        with self._working():
            self._number((end - start) // 8, 8, 0, (start, 8, 0, 0), 0, (0, 0, 0, 0))

    def close(self) -> None:
        """Give the buffer and the kernels back."""
        if self._staging is not None:
            self._staging.close()
            self._staging = None
        self._kernels.close()

    @contextmanager
    def _working(self) -> Iterator[Staging]:
        with self._lock:
            assert self._staging is not None, "ready() comes first"
            try:
                yield self._staging
            finally:
                # Also after an error: the next one to use the buffer must find it unused.
                self._backend.synchronize()

    def _send(self, staging: Staging, pieces: list[_Piece]) -> None:
        filling: deque[tuple[int, _Piece, Future[None]]] = deque()

        def launch() -> None:
            number, (column, _), filled = filling.popleft()
            filled.result()
            self._move(column, staging.address(number), to_objects=True)
            staging.mark(number)

        with _threads(len(pieces)) as pool:
            for turn, piece in enumerate(pieces):
                if len(filling) == _HOST_PIECES:
                    launch()
                number = turn % PIECES
                staging.wait(number)
                buffer = _view(staging.memory(number), piece[0])
                filling.append((number, piece, pool.submit(_copy, buffer, piece[1])))
            while filling:
                launch()

    def _fetch(self, staging: Staging, pieces: list[_Piece]) -> None:
        moving: deque[tuple[int, _Piece]] = deque()
        emptying: deque[Future[None]] = deque()

        with _threads(len(pieces)) as pool:

            def empty() -> None:
                number, (column, values) = moving.popleft()
                staging.wait(number)
                buffer = _view(staging.memory(number), column)
                emptying.append(pool.submit(_copy, values, buffer))

            for turn, piece in enumerate(pieces):
                if len(moving) == PIECES - _HOST_PIECES:
                    empty()
                if len(emptying) == _HOST_PIECES:
                    emptying.popleft().result()
                number, column = turn % PIECES, piece[0]
                self._move(column, staging.address(number), to_objects=False)
                staging.mark(number)
                moving.append((number, piece))
            while moving:
                empty()
            for emptied in emptying:
                emptied.result()

    def _move(self, column: Column, buffer: int, to_objects: bool) -> None:
        shift, block_bytes = _block(column)
        for size, lane_bytes, inside, part, elements, step in _moves(column):
            base = column.address(inside) + part
            data = (buffer + inside + part, column.dtype.itemsize, step, elements)
            where = (base, block_bytes, shift, lane_bytes)
            how = (column.addressing.scale * step, int(to_objects), size, column.first)
            self._kernels.launch(MOVE, column.count * elements, (*data, *how, *where))

    def _fill(self, column: Column, value: Values) -> None:
        """One value for all."""
        shift, block_bytes = _block(column)
        bits = int.from_bytes(value.tobytes(), "little")
        for size, lane_bytes, _, part, _, _ in _moves(column):
            where = (column.address(0) + part, block_bytes, shift, lane_bytes)
            number = (bits >> 8 * part, 0, 0, 0)
            self._number(column.count, size, column.first, where, 0, number)

    def _number(
        self,
        count: int,
        size: int,
        first: int,
        where: tuple[int, int, int, int],
        number_first: int,
        number: tuple[int, int, int, int],
    ) -> None:
        for done in range(0, count, _MOST_THREADS):
            leaves = (size, first + done, *where, number_first + done, *number)
            self._kernels.launch(NUMBER, min(count - done, _MOST_THREADS), leaves)


@contextmanager
def _threads(pieces: int) -> Iterator[Any]:
    # Imported here, and threads of their own: see ``heap.parallel``.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(pieces, _HOST_PIECES, worker_count())) as pool:
        yield pool


def _cut(column: Column, values: Values, piece_bytes: int) -> list[_Piece]:
    each = piece_bytes // column.dtype.itemsize
    return [
        (column.between(first, min(first + each, column.count)), values[first : first + each])
        for first in range(0, column.count, each)
    ]


def _copy(target: Values, source: Values) -> None:
    target[...] = source


def _view(memory: Bytes, column: Column) -> Values:
    """Room for the values of a column at the start of a piece."""
    size = column.count * column.dtype.itemsize
    found: Values = memory[:size].view(column.dtype.base)
    return found.reshape(column.count, *column.dtype.shape)


def _block(column: Column) -> tuple[int, int]:
    """log2 of the lanes of a block, and its bytes."""
    lanes = column.addressing.lanes
    return lanes.bit_length() - 1, lanes * column.record_bytes


def _moves(column: Column) -> Iterator[tuple[int, int, int, int, int, int]]:
    """What one launch can move of the values of a column: bytes at a time, bytes between the
    scalars of neighbouring slots of a block, bytes from the value's start to the scalar, bytes from
    the scalar's start, elements of an inline array and bytes between these."""
    for scalar in scalars(column.dtype, 0):
        whole = scalar.dtype.itemsize
        *outer, elements = scalar.shape or (1,)
        *outer_strides, step = scalar.strides or (0,)
        for index in np.ndindex(*outer):
            inside = scalar.offset + sum(i * s for i, s in zip(index, outer_strides, strict=True))
            # Records of other compilers may be packed: then fewer bytes at a time.
            known = column.multiple(inside, whole)
            size = math.gcd(whole, known, inside, step, column.dtype.itemsize)
            for part in range(0, whole, size):
                yield size, column.addressing.lane_bytes(whole), inside, part, elements, step
