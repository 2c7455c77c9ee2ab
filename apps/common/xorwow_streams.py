"""XORWOW over NumPy arrays: many independent streams seeded, replayed and stepped at once."""

from __future__ import annotations

from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint32]]
Floats = np.ndarray[Any, np.dtype[np.float32]]

#: The state of one stream in cuRAND's order: the Weyl counter, then the shift register.
STATE_DTYPE = np.dtype([(name, np.uint32) for name in ("d", "v0", "v1", "v2", "v3", "v4")])


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


def replay(seeds: np.ndarray[Any, Any], count: int) -> Words:
    """The first ``count`` draws of each stream, of shape (streams, count)."""
    d, *v = (np.ascontiguousarray(seeded_states(seeds)[name]) for name in STATE_DTYPE.fields or ())
    draws = np.empty((count, len(seeds)), np.uint32)
    for drawn in range(count):
        t = v[0] ^ (v[0] >> np.uint32(2))
        v = [*v[1:], v[4] ^ (v[4] << np.uint32(4)) ^ t ^ (t << np.uint32(1))]
        d = d + np.uint32(362437)
        np.add(v[4], d, out=draws[drawn])
    return np.ascontiguousarray(draws.T)


def uniform(draws: Words) -> Floats:
    """Draws as floats above 0 and at most 1, rounded as cuRAND's ``curand_uniform`` rounds."""
    return draws.astype(np.float32) * np.float32(2.3283064e-10) + np.float32(1.1641532e-10)
