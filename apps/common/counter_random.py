"""Random numbers of agents that are born, move and die in any order: each is computed from a seed,
the step, the agent's id and a purpose, so that it does not depend on what was drawn before.

The function is Philox4x32-10, as for ``oa.random``: its counter is made of the id (64 bits), the
step and the purpose, its key is the seed. Here for kernels, and over NumPy arrays for the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import u32, u64
from sharedoa.philox import philox

Array = np.ndarray[Any, Any]


@oa.func
def draw(seed: u64, step: u32, agent: u64, purpose: u32) -> u32:
    """32 random bits."""
    return philox(u32(agent), u32(agent >> 32), step, purpose, u32(seed), u32(seed >> 32))[0]


@oa.func
def draw_id(seed: u64, step: u32, agent: u64, purpose: u32) -> u64:
    """64 random bits: the id of an agent that this one makes. That two of n agents have the same id
    has a probability of n * n / 2^65."""
    words = philox(u32(agent), u32(agent >> 32), step, purpose, u32(seed), u32(seed >> 32))
    return u64(words[1]) << 32 | u64(words[0])


@oa.func
def below(bits: u32, bound: u32) -> u32:
    """A number from 0 to ``bound - 1``, of 32 random bits."""
    return u32(u64(bits) * u64(bound) >> 32)


def threshold(probability: float) -> int:
    """32 random bits are less than this with a probability."""
    return round(probability * 2**32)


# ---------------------------------------------------------------------- on the host


def draws(seed: int, step: int, agents: Array, purpose: int) -> Array:
    """``draw`` for each of some agents, as ``np.uint32``."""
    mask = np.uint64(0xFFFFFFFF)
    agents = np.asarray(agents, np.uint64)
    c0, c1 = agents & mask, agents >> np.uint64(32)
    c2, c3 = (np.full(agents.shape, word, np.uint64) for word in (step, purpose))
    key_0, key_1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        product_0, product_1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c2 = (
            product_1 >> np.uint64(32) ^ c1 ^ np.uint64(key_0),
            product_0 >> np.uint64(32) ^ c3 ^ np.uint64(key_1),
        )
        c1, c3 = product_1 & mask, product_0 & mask
        key_0, key_1 = (key_0 + 0x9E3779B9) & 0xFFFFFFFF, (key_1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0.astype(np.uint32)


def all_below(bits: Array, bound: int) -> Array:
    """``below`` for each of some random numbers."""
    return (bits.astype(np.uint64) * np.uint64(bound) >> np.uint64(32)).astype(np.uint32)


def shares(bits: Array) -> Array:
    """Some random numbers as ``np.float32`` from 0 to less than 1: their upper 24 bits."""
    return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
