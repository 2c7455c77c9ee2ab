"""``heap.object_moves.ObjectMoves`` as kernels for any backend (``move_code``)."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..forks import renew_in_child
from ..heap.object_moves import Decoding, ReferenceColumn, Shape, Words
from ..heap.slot_lists import Numbering
from .column_kernels import NUMBER
from .move_code import copy_kernel, follow_kernel, forward_kernel, objects_each, pick_kernel
from .own_kernels import OwnKernel, OwnKernels

if TYPE_CHECKING:
    from .base import Backend

_MOST_THREADS = 1 << 30


class MoveKernels:
    """``heap.object_moves.ObjectMoves``."""

    def __init__(self, backend: Backend) -> None:
        self._kernels = OwnKernels(backend)
        self._each = objects_each(backend.target.is_device)
        #: Whether neighbouring threads have the lanes of a block.
        self._is_spread = self._each == 1
        #: Threads of several heaps have one set of slots for arguments.
        self._lock = renew_in_child(threading.Lock())

    def _launch(self, kernel: OwnKernel, threads: int, leaves: Sequence[int]) -> None:
        with self._lock:
            for done in range(0, threads, _MOST_THREADS):
                some = min(threads - done, _MOST_THREADS)
                self._kernels.launch(kernel, some, (done, *leaves))

    def number(self, numbers: Numbering, count: int, to: int, item: int) -> None:
        """See ``heap.object_moves.ObjectMoves``."""
        how = numbers.first, numbers.block, numbers.shift, numbers.lane
        with self._lock:
            for done in range(0, count, _MOST_THREADS):
                leaves = (item, done, to, item, 0, 0, done, *how)
                self._kernels.launch(NUMBER, min(count - done, _MOST_THREADS), leaves)

    def pick(self, listed: int, order: int, count: int, to: int, item: int) -> None:
        """See ``heap.object_moves.ObjectMoves``."""
        self._launch(pick_kernel(item), count, (listed, order, to))

    def gather(
        self, decoding: Decoding, shape: Shape, objects: int, count: int, target: int
    ) -> None:
        """See ``heap.object_moves.ObjectMoves``."""
        self._copy(decoding, shape, objects, count, target, to_list=False)

    def scatter(
        self, decoding: Decoding, shape: Shape, source: int, objects: int, count: int
    ) -> None:
        """See ``heap.object_moves.ObjectMoves``."""
        self._copy(decoding, shape, objects, count, source, to_list=True)

    def _copy(
        self,
        decoding: Decoding,
        shape: Shape,
        objects: int,
        count: int,
        blocks: int,
        to_list: bool,
    ) -> None:
        item, *how = decoding
        lanes = 1 << shape.shift if self._is_spread else self._each
        threads = -(-count // lanes) * shape.parts * (lanes if self._is_spread else 1)
        layout = shape.block_bytes, shape.shift, shape.table, shape.parts
        kernel = copy_kernel(item, self._each, to_list)
        self._launch(kernel, threads, (count, *layout, objects, blocks, *how))

    def forward(
        self, decoding: Decoding, table: int, regions: int, before: int, after: int, count: int
    ) -> None:
        """See ``heap.object_moves.ObjectMoves``."""
        item, *how = decoding
        leaves = (count, table, regions, before, after, *how)
        self._launch(forward_kernel(item, self._each), -(-count // self._each), leaves)

    def column_table(self, columns: Sequence[ReferenceColumn]) -> Words:
        """See ``heap.object_moves.ObjectMoves``."""
        first, rows = 0, []
        for column in columns:
            rows.append((first, *column))
            first += self._threads(column)
        return np.array(rows, np.uint64).reshape(-1)

    def _threads(self, column: ReferenceColumn) -> int:
        return -(-column.slots // self._each)

    def follow(
        self,
        decoding: Decoding,
        table: int,
        regions: int,
        columns: Sequence[ReferenceColumn],
        at: int,
        keeps_others: bool,
    ) -> None:
        """See ``heap.object_moves.ObjectMoves``."""
        item, *how = decoding
        # Records of other compilers may be packed.
        alignment = math.gcd(item, *(math.gcd(at, step) for at, step, *_ in columns))
        kernel = follow_kernel(item, alignment, self._each)
        leaves = (table, regions, at, len(columns), int(keeps_others), *how)
        self._launch(kernel, sum(map(self._threads, columns)), leaves)
