"""Exclusive prefix sums of integer arrays, with ordinary kernels so that every backend has them."""

from __future__ import annotations

from typing import Any

import sharedoa as oa
from sharedoa import i32

from .launches import Launches

#: Elements that one thread adds up.
CHUNK = 32
#: Elements that it reads before it writes any: one after the other it would wait for each.
GROUP = 8


@oa.kernel
def kernel_sum_chunks(values: oa.Array[i32], length: i32, sums: oa.Array[i32]) -> None:
    """``sums[t]`` becomes the sum of chunk t of ``values[:length]``."""
    t = oa.grid(1)
    total = i32(0)
    for k in range(t * CHUNK, min(t * CHUNK + CHUNK, length)):
        total += values[k]
    sums[t] = total


@oa.func
def scan_group(values: oa.Array[i32], k: i32, total: i32, result: oa.Array[i32]) -> i32:
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


@oa.kernel
def kernel_scan_chunks(
    values: oa.Array[i32], length: i32, before: oa.Array[i32], result: oa.Array[i32]
) -> None:
    """``result`` becomes the prefix sums, given ``before[t]``, the sum before chunk t. ``result``
    may be ``values``."""
    t = oa.grid(1)
    total = before[t]
    start, end = t * CHUNK, min(t * CHUNK + CHUNK, length)
    whole = start + (end - start) // GROUP * GROUP
    for k in range(start, whole, GROUP):
        total = scan_group(values, k, total, result)
    for k in range(whole, end):
        value = values[k]
        result[k] = total
        total += value


@oa.kernel
def kernel_scan_alone(values: oa.Array[i32], length: i32) -> None:
    """One thread replaces ``values[:length]`` by its prefix sums."""
    if oa.grid(1) == 0:
        total = i32(0)
        for k in range(length):
            value = values[k]
            values[k] = total
            total += value


class ExclusivePrefixSum:
    """Prefix sums of the first ``length`` elements: each becomes the sum of those before it.

    A tree of chunks: sums are formed level by level upwards, then prefixes downwards, which adds
    each element twice in all (Blelloch, "Prefix Sums and Their Applications", 1990).
    """

    def __init__(self, heap: oa.Heap, length: int) -> None:
        self._length = length
        self._sums: list[Any] = []
        self._lengths = [length]
        while self._lengths[-1] > CHUNK:
            self._lengths.append(-(-self._lengths[-1] // CHUNK))
            self._sums.append(heap.zeros(self._lengths[-1], i32))

    def launch(self, launches: Launches, values: Any, result: Any) -> None:
        """Queue the kernels that make ``result[k]`` the sum of ``values[:k]``."""
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


@oa.kernel
def kernel_copy(values: oa.Array[i32], result: oa.Array[i32]) -> None:
    i = oa.grid(1)
    result[i] = values[i]
