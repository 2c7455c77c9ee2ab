"""Threads of a warp that add in their order."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32, u32
from sharedoa.model.intrinsics import count_in_warp

from .interpreted import InterpretedGpu

WARP, ROUNDS = 32, 3
THREADS = 2 * WARP


@oa.kernel
def kernel_count(
    places: oa.Array[i32], by: u32, before: oa.Array[u32], counts: oa.Array[u32]
) -> None:
    tallies = oa.shared(u32, 512)
    thread = oa.grid(1)
    lane = i32(thread % THREADS)
    for k in range(8):
        tallies[k * THREADS + lane] = u32(0)
    oa.syncthreads()
    row = lane // WARP * 256
    for k in range(ROUNDS):
        at = k * THREADS + lane
        before[at] = count_in_warp(tallies, row + places[at], by)
    oa.syncthreads()
    for k in range(8):
        counts[k * THREADS + lane] = tallies[k * THREADS + lane]


def test_each_gets_what_was_there_before_it() -> None:
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB"):
        for most, by in ((256, 1), (3, 7), (1, 1)):
            given = np.random.default_rng(most).integers(0, most, (ROUNDS, 2, WARP))
            places = oa.array(i32, given.ravel())
            before, counts = oa.zeros(ROUNDS * THREADS, u32), oa.zeros(512, u32)
            kernel_count[THREADS, THREADS](places, by, before, counts)
            tallies = np.zeros((2, 256), np.uint32)
            expected = np.zeros(given.shape, np.uint32)
            for k, warp, lane in np.ndindex(given.shape):
                place = given[k, warp, lane]
                expected[k, warp, lane] = tallies[warp, place]
                tallies[warp, place] += by
            assert np.array_equal(before, expected.ravel())
            assert np.array_equal(counts, tallies.ravel())


def test_only_where_threads_run_in_step() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        places, before = oa.zeros(ROUNDS * THREADS, i32), oa.zeros(ROUNDS * THREADS, u32)
        with pytest.raises(oa.CompileError, match="no threads run in step here"):
            kernel_count[THREADS, THREADS](places, 1, before, oa.zeros(512, u32))
