"""XORWOW over NumPy arrays: many independent streams seeded, replayed and stepped at once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint32]]
Floats = np.ndarray[Any, np.dtype[np.float32]]

#: The state of one stream in cuRAND's order: the Weyl counter, then the shift register.
STATE_DTYPE = np.dtype([(name, np.uint32) for name in ("d", "v0", "v1", "v2", "v3", "v4")])

#: Registers that are moved at once: with what is looked up they stay in caches.
_AT_ONCE = 1 << 14


def seeded_states(seeds: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """States of shape (n,) and STATE_DTYPE for n seeds, which are taken as 64-bit integers."""
    seeds = np.asarray(seeds, dtype=np.int64).view(np.uint64)
    low = (seeds & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    high = (seeds >> np.uint64(32)).astype(np.uint32)
    low_mix = np.uint32(1099087573) * (low ^ np.uint32(0xAAD26B49))
    high_mix = np.uint32(2591861531) * (high ^ np.uint32(0xF7DCEFDD))
    states = np.empty(seeds.shape, STATE_DTYPE)
    states["d"] = np.uint32(6615241) + high_mix + low_mix
    states["v0"] = np.uint32(123456789) + low_mix
    states["v1"] = np.uint32(362436069) ^ low_mix
    states["v2"] = np.uint32(521288629) + high_mix
    states["v3"] = np.uint32(88675123) ^ high_mix
    states["v4"] = np.uint32(5783321) + low_mix
    return states


def sequence_states(seed: int, count: int) -> np.ndarray[Any, Any]:
    """States of shape (count,) and STATE_DTYPE: sequences 0 to count - 1 of one seed, each 2^67
    draws behind the one before (``curand_init(seed, sequence, 0)``)."""
    states = np.repeat(seeded_states(np.array([seed])), count)
    register = np.empty((count, 5), np.uint32)
    register[:1] = np.array([[states[f"v{word}"][0] for word in range(5)]], np.uint32)
    # The known sequences, moved on by as many, are the next ones.
    known, power = 1, 67
    while known < count:
        more = min(known, count - known)
        register[known : known + more] = _moved(_jump(power), register[:more])
        known, power = known + more, power + 1
    # The Weyl counter comes round within a sequence.
    for word in range(5):
        states[f"v{word}"] = register[:, word]
    return states


@cache
def _jump(power: int) -> Words:
    """What 2^power draws make of each of the 160 bits of the shift register alone, shape
    (160, 5)."""
    if power:
        half = _jump(power - 1)
        return _moved(half, half)
    bits = np.arange(160)
    v = np.zeros((160, 5), np.uint32)
    v[bits, bits // 32] = np.uint32(1) << (bits % 32).astype(np.uint32)
    t = v[:, 0] ^ (v[:, 0] >> np.uint32(2))
    last = v[:, 4] ^ (v[:, 4] << np.uint32(4)) ^ t ^ (t << np.uint32(1))
    return np.column_stack([v[:, 1:], last])


def _moved(jump: Words, register: Words) -> Words:
    """Registers of shape (n, 5) after the draws of ``jump``, which is linear over bits: what it
    makes of the values of each byte is looked up, and added."""
    tables = np.zeros((20, 256, 5), np.uint32)
    for octet, table in enumerate(tables):
        for bit in range(8):
            half = 1 << bit
            table[half : 2 * half] = table[:half] ^ jump[8 * octet + bit]
    moved, found = np.zeros_like(register), np.empty((_AT_ONCE, 5), np.uint32)
    for start in range(0, len(register), _AT_ONCE):
        part = moved[start : start + _AT_ONCE]
        octets = register[start : start + _AT_ONCE].astype("<u4").view(np.uint8)
        for octet, table in enumerate(tables):
            # No octet is beyond its table; unlike "raise", "clip" needs no copy.
            part ^= np.take(table, octets[:, octet], 0, found[: len(part)], mode="clip")
    return moved


def replay(seeds: np.ndarray[Any, Any], count: int) -> Words:
    """The first ``count`` draws of each seed's stream, of shape (streams, count)."""
    return next_draws(seeded_states(seeds), count)


def next_draws(states: np.ndarray[Any, Any], count: int) -> Words:
    """The next ``count`` draws of each stream, of shape (streams, count); ``states`` stay."""
    d, *v = (np.ascontiguousarray(states[name]) for name in STATE_DTYPE.fields or ())
    draws = np.empty((count, len(states)), np.uint32)
    for drawn in range(count):
        t = v[0] ^ (v[0] >> np.uint32(2))
        v = [*v[1:], v[4] ^ (v[4] << np.uint32(4)) ^ t ^ (t << np.uint32(1))]
        d = d + np.uint32(362437)
        np.add(v[4], d, out=draws[drawn])
    return np.ascontiguousarray(draws.T)


def uniform(draws: Words) -> Floats:
    """Draws as floats above 0 and at most 1, rounded as cuRAND's ``curand_uniform`` rounds."""
    return draws.astype(np.float32) * np.float32(2.3283064e-10) + np.float32(1.1641532e-10)
