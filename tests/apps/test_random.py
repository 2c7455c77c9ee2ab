"""Random numbers: known first outputs, the C library, and kernels against host."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

import sharedoa as oa
from apps.common import xorwow_streams
from apps.common.glibc_random import RAND_MAX, GlibcRandom
from apps.common.xorwow import Xorwow, seeded
from apps.common.xorwow_streams import (
    STATE_DTYPE,
    replay,
    seeded_states,
    sequence_states,
    uniform,
)
from sharedoa import f32, i32, u32

FIRST_DRAWS = {
    0: [3179217846, 1883133293, 2220552389],
    42: [300737663, 2363150160, 799977142],
    -1: [838671268, 3710781600, 1245491470],
}


def test_glibc_first_outputs() -> None:
    stream = GlibcRandom(42)
    assert [stream.rand() for _ in range(3)] == [71876166, 708592740, 1483128881]


@pytest.mark.skipif(sys.platform != "linux", reason="compares with the C library of Linux")
@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 - 1, 2**31, 2**32 - 5])
def test_glibc_is_the_c_library(seed: int) -> None:
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        pytest.skip("the C library is not glibc")
    library.srand(ctypes.c_uint(seed))
    stream = GlibcRandom(seed)
    assert [stream.rand() for _ in range(500)] == [library.rand() for _ in range(500)]


def test_glibc_outputs_lie_in_range() -> None:
    stream = GlibcRandom(1)
    drawn = [stream.rand() for _ in range(10_000)]
    assert min(drawn) >= 0
    assert max(drawn) <= RAND_MAX
    assert len(set(drawn)) > 9_990


@pytest.mark.parametrize("seed", FIRST_DRAWS)
def test_xorwow_first_draws(seed: int) -> None:
    assert replay(np.array([seed]), 3).tolist() == [FIRST_DRAWS[seed]]


def test_streams_do_not_depend_on_each_other() -> None:
    together = replay(np.arange(5), 20)
    apart = np.concatenate([replay(np.array([seed]), 20) for seed in range(5)])
    assert np.array_equal(together, apart)


def test_uniform_lies_above_zero_and_reaches_one() -> None:
    ends = uniform(np.array([0, 2**32 - 1], np.uint32))
    assert ends.dtype == np.float32
    assert ends[0] > 0
    assert ends[1] == 1


@oa.kernel
def draw_many(
    seeds: oa.Array[u32], count: i32, bits: oa.Array[u32], floats: oa.Array[f32],
    states: oa.Array[Xorwow],
) -> None:  # fmt: skip
    i = oa.grid(1)
    state = seeded(seeds[i])
    states[i] = state
    for k in range(count):
        state = state.next()
        bits[i * count + k] = state.bits()
        floats[i * count + k] = state.uniform()


def test_kernels_draw_as_cuRAND(backend: str) -> None:
    seeds = np.array([0, 42, -1, 123456789, -(2**31)], np.int32)
    count = 6
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        bits, floats = heap.zeros(len(seeds) * count, u32), heap.zeros(len(seeds) * count, f32)
        states = heap.zeros(len(seeds), Xorwow)
        draw_many[len(seeds)](heap.array(u32, seeds.view(np.uint32)), count, bits, floats, states)
        drawn = np.array(bits).reshape(len(seeds), count)
        expected = replay(seeds, count)
        assert np.array_equal(drawn, expected)
        assert np.array_equal(np.array(floats).reshape(drawn.shape), uniform(expected))
        assert np.array_equal(np.array(states).view(STATE_DTYPE), seeded_states(seeds))


def test_sequences_are_the_same_however_many_are_moved_at_once(monkeypatch):
    expected = sequence_states(42, 2000)
    assert len(np.unique(expected)) == 2000
    for at_once in (1, 7, 64):
        monkeypatch.setattr(xorwow_streams, "_AT_ONCE", at_once)
        count = 100 if at_once == 1 else 500
        assert (sequence_states(42, count) == expected[:count]).all()
