"""Exclusive prefix sums with numba-cuda: a kernel sums pieces, one a block, another adds for each
thread what lies before it (Merrill and Grimshaw, "Parallel Scan for Stream Architectures", 2009).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, int32

#: Threads of a block, of which FAN together are a fan.
FAN = 16
BLOCK = FAN * FAN
#: Elements of a thread.
GROUP = 8


@cuda.jit(device=True)
def sum_before(own, numbers, fans):
    """The sum of what earlier threads of the block call with; ``fans`` then has those of fans."""
    thread = cuda.threadIdx.x
    cuda.syncthreads()
    numbers[thread] = own
    cuda.syncthreads()
    if thread < FAN:
        total = 0
        for k in range(thread * FAN, thread * FAN + FAN):
            total += numbers[k]
        fans[thread] = total
    cuda.syncthreads()
    before = 0
    for k in range(thread // FAN):
        before += fans[k]
    for k in range(thread // FAN * FAN, thread):
        before += numbers[k]
    return before


@cuda.jit
def sum_pieces(values, length, sums):
    # Lines of their own: numba's simulator tells shared arrays apart by line.
    numbers = cuda.shared.array(BLOCK, int32)
    fans = cuda.shared.array(FAN, int32)
    start, own = cuda.grid(1) * GROUP, 0
    for k in range(start, min(start + GROUP, length)):
        own += values[k]
    before = sum_before(own, numbers, fans)
    if cuda.threadIdx.x == BLOCK - 1:
        sums[cuda.blockIdx.x] = before + own


@cuda.jit
def scan_pieces(values, length, sums, result):
    numbers = cuda.shared.array(BLOCK, int32)
    fans = cuda.shared.array(FAN, int32)
    own = 0
    for k in range(cuda.threadIdx.x, cuda.blockIdx.x, BLOCK):
        own += sums[k]
    sum_before(own, numbers, fans)
    total = 0
    for k in range(FAN):
        total += fans[k]
    start, own = cuda.grid(1) * GROUP, 0
    for k in range(start, min(start + GROUP, length)):
        own += values[k]
    total += sum_before(own, numbers, fans)
    for k in range(start, min(start + GROUP, length)):
        result[k] = total
        total += values[k]


class PrefixSum:
    """Prefix sums of the first ``length`` elements of arrays."""

    def __init__(self, length: int) -> None:
        pieces = -(-length // (BLOCK * GROUP))
        self._length = length
        self._sums = cuda.to_device(np.zeros(pieces, np.int32))
        self._sum, self._scan = sum_pieces[pieces, BLOCK], scan_pieces[pieces, BLOCK]

    def launch(self, values: Any, result: Any) -> None:
        """Queue the kernels that make ``result[k]`` the sum of ``values[:k]``."""
        self._sum(values, self._length, self._sums)
        self._scan(values, self._length, self._sums, result)
