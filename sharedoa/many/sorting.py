"""Stable radix sort on a GPU (``sort_plan``): keys, in whose order numbers of all types lie. Zeros
are sorted with their signs, -0.0 before 0.0, NaNs without; ``argsort`` leaves equal ones, all zeros
and all NaNs, as they are.

Processors sort with NumPy (``on_host``).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ..model.functions import DeviceFunction, func
from ..model.scalars import ScalarType, u8, u16, u32, u64

_UNSIGNED = {8: u8, 16: u16, 32: u32, 64: u64}


class Keys(NamedTuple):
    """Unsigned numbers in place of others, in the same order, and back: the sign bit changes, of
    negative floats all others, too; every NaN is the largest."""

    type: ScalarType
    sign: int
    #: Bits of infinity, 0 of integers.
    infinity: int

    def conversions(self, tells_zeros: bool) -> tuple[DeviceFunction, DeviceFunction]:
        """What makes a key, and a number of a key, of the bits of a number and back. A key of
        argsort tells neither zeros of both signs apart nor NaNs, and is not turned back."""
        return _conversions(self, tells_zeros)


@cache
def keys_of(type: ScalarType) -> Keys:
    unsigned = _UNSIGNED[type.dtype.itemsize * 8]
    bits = unsigned.bits
    infinity = int(np.array(np.inf, type.dtype).view(unsigned.dtype)) if type.is_float else 0
    return Keys(unsigned, 0 if type.kind in ("uint", "bool") else 1 << (bits - 1), infinity)


@cache
def _conversions(keys: Keys, tells_zeros: bool) -> tuple[DeviceFunction, DeviceFunction]:
    U, sign, infinity = keys
    rest, negative_zero = sign - 1, sign if infinity and not tells_zeros else 0
    of_nan = sign if tells_zeros else (1 << U.bits) - 1

    @func
    def to_key(bits: U) -> U:
        if infinity == 0:
            return bits ^ U(sign)
        if (bits & U(rest)) > U(infinity):
            return bits | U(of_nan)
        if bits == U(negative_zero) or (bits & U(sign)) == U(0):
            return bits | U(sign)
        return ~bits

    @func
    def from_key(key: U) -> U:
        if infinity > 0 and (key & U(sign)) == U(0):
            return ~key
        return key ^ U(sign)

    return to_key, from_key
