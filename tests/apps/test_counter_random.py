"""Random numbers by counters: a published output, kernels against the host, and ranges."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from apps.common.counter_random import all_below, below, draw, draw_id, draws, threshold
from sharedoa import u32, u64

from .philox import philox

AGENTS = np.array([0, 1, 77, (1 << 32) - 1, 1 << 32, (1 << 64) - 1], np.uint64)
BOUNDS = [1, 2, 8, 1000, (1 << 32) - 1]


@oa.kernel
def draw_all(
    seed: u64, step: u32, purpose: u32, agents: oa.Array[u64], bits: oa.Array[u32],
    ids: oa.Array[u64], limited: oa.Array[u32], bound: u32,
) -> None:  # fmt: skip
    k = oa.grid(1)
    bits[k] = draw(seed, step, agents[k], purpose)
    ids[k] = draw_id(seed, step, agents[k], purpose)
    limited[k] = below(bits[k], bound)


def test_published_output() -> None:
    """The first word of the known answer of Philox4x32-10 with all bits of counter and key set."""
    ones = (1 << 32) - 1
    assert draws((1 << 64) - 1, ones, AGENTS[-1:], ones).tolist() == [0x408F276D]
    assert draws(0, 0, AGENTS[:1], 0).tolist() == [0x6627E8D5]
    assert philox([ones] * 4, [ones] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("backend", ["cpu", "python"])
@pytest.mark.parametrize("bound", BOUNDS)
def test_kernels_draw_what_the_host_draws(backend: str, bound: int) -> None:
    for seed, step, purpose in ((42, 0, 0), (42, 7, 3), ((5 << 40) + 1, (1 << 32) - 1, 1 << 31)):
        with oa.Heap(backend=backend):
            bits, limited = (oa.zeros(len(AGENTS), u32) for _ in range(2))
            ids = oa.zeros(len(AGENTS), u64)
            agents = oa.array(u64, AGENTS)
            draw_all[len(AGENTS)](seed, step, purpose, agents, bits, ids, limited, bound)
            expected = draws(seed, step, AGENTS, purpose)
            assert bits.numpy().tolist() == expected.tolist()
            assert (ids.numpy() & np.uint64(0xFFFFFFFF)).tolist() == expected.tolist()
            assert limited.numpy().tolist() == all_below(expected, bound).tolist()
            assert len(set(ids.numpy().tolist())) == len(AGENTS)


def test_numbers_below_a_bound_are_equally_frequent() -> None:
    bits = draws(1, 2, np.arange(80_000), 3)
    counts = np.bincount(all_below(bits, 8), minlength=8)
    assert counts.sum() == 80_000 and (abs(counts - 10_000) < 500).all()
    assert abs((bits < threshold(0.2)).mean() - 0.2) < 0.01
