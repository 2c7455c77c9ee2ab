"""Random numbers that are the same on every backend and in every order of threads.

A number depends on a seed and a counter alone: Philox4x32-10 of Salmon et al., "Parallel Random
Numbers: As Easy as 1, 2, 3" (SC'11). It is written in the subset that kernels are compiled from.
"""

from __future__ import annotations

from .model.functions import func
from .model.type_names import f32, u32, u64

_ROUNDS = 10
_MULTIPLIER_0, _MULTIPLIER_1 = 0xD2511F53, 0xCD9E8D57
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85


@func
def philox(c0: u32, c1: u32, c2: u32, c3: u32, k0: u32, k1: u32) -> tuple[u32, u32, u32, u32]:
    """Four words from a 128-bit counter and a 64-bit key, least significant words first."""
    for _ in range(_ROUNDS):
        product_0 = u64(c0) * _MULTIPLIER_0
        product_1 = u64(c2) * _MULTIPLIER_1
        high_0, high_1 = u32(product_0 >> 32), u32(product_1 >> 32)
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, u32(product_1), high_0 ^ c3 ^ k1, u32(product_0)
        # In 64 bits, because CPython warns when a 32-bit sum wraps.
        k0, k1 = u32(u64(k0) + _WEYL_0), u32(u64(k1) + _WEYL_1)
    return c0, c1, c2, c3


@func
def random_bits(seed: u64, counter: u64) -> u32:
    """32 random bits for ``counter``, one of 2**64 of the sequence that ``seed`` names."""
    zero = u32(0)
    return philox(u32(counter), u32(counter >> 32), zero, zero, u32(seed), u32(seed >> 32))[0]


@func
def random(seed: u64, counter: u64) -> f32:
    """A float in [0, 1), a multiple of 2**-24, for ``counter`` of the sequence of ``seed``."""
    return f32(random_bits(seed, counter) >> 8) * f32(2.0**-24)
