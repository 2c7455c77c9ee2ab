"""Exclusive prefix sums with numba: threads sum chunks, one scans the sums, threads scan chunks."""

from __future__ import annotations

from numba import njit, prange

#: Elements that one thread adds up.
CHUNK = 1024


@njit(parallel=True)
def sum_chunks(values, slots, sums):
    for chunk in prange(len(sums)):
        total = 0
        for k in range(chunk * CHUNK, min(chunk * CHUNK + CHUNK, slots)):
            total += values[k]
        sums[chunk] = total


@njit(parallel=True)
def scan_chunks(values, slots, sums, result):
    for chunk in prange(len(sums)):
        total = sums[chunk]
        for k in range(chunk * CHUNK, min(chunk * CHUNK + CHUNK, slots)):
            result[k] = total
            total += values[k]


@njit
def scan_sums(sums):
    total = 0
    for chunk in range(len(sums)):
        value = sums[chunk]
        sums[chunk] = total
        total += value
