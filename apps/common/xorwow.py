"""XORWOW, the default generator of cuRAND, as objects hold it and kernels draw from it."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, u32


@oa.value
class Xorwow:
    """A generator's state. One draw is ``state = state.next()``, and then ``state.bits()``."""

    d: u32
    v0: u32
    v1: u32
    v2: u32
    v3: u32
    v4: u32

    def next(self) -> Xorwow:
        """The state one draw later."""
        t = self.v0 ^ (self.v0 >> 2)
        last = self.v4 ^ (self.v4 << 4) ^ t ^ (t << 1)
        return Xorwow(self.d + 362437, self.v1, self.v2, self.v3, self.v4, last)

    def bits(self) -> u32:
        """The number drawn last."""
        return self.v4 + self.d

    def uniform(self) -> f32:
        """The number drawn last, as a float above 0 and at most 1."""
        return f32(self.bits()) * 2.3283064e-10 + 1.1641532e-10


@oa.func
def seeded(seed: u32) -> Xorwow:
    """The state that cuRAND makes of ``seed``, taken as signed and extended to 64 bits, at
    subsequence 0 and offset 0."""
    high = u32(0xFFFFFFFF) if seed >= 0x80000000 else u32(0)
    low_mix = 1099087573 * (seed ^ 0xAAD26B49)
    high_mix = 2591861531 * (high ^ 0xF7DCEFDD)
    return Xorwow(
        6615241 + high_mix + low_mix,
        123456789 + low_mix,
        362436069 ^ low_mix,
        521288629 + high_mix,
        88675123 ^ high_mix,
        5783321 + low_mix,
    )
