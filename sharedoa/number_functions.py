"""Functions of ``math`` and methods of integers that no library of a device has, in the language of
kernels."""

from __future__ import annotations

import math

from .model.functions import func
from .model.type_names import f64, i64, u64


@func
def greatest_divisor(a: i64, b: i64) -> i64:
    """``math.gcd``: not negative, and 0 of two zeros."""
    while b != 0:
        a, b = b, a % b
    return abs(a)


@func
def power_of_two(exponent: i64) -> f64:
    """Exactly, for exponents from -1022 to 1023."""
    factor, made = f64(0.5 if exponent < 0 else 2.0), f64(1.0)
    left = abs(exponent)
    while left > 0:
        if left % 2 == 1:
            made *= factor
        factor *= factor
        left //= 2
    return made


@func
def scaled(x: f64, exponent: i64) -> f64:
    """``math.ldexp``, but infinite where that raises. Only the last product may round."""
    left = min(max(exponent, i64(-3000)), i64(3000))
    for _ in range(2):
        if left > 1023:
            x *= power_of_two(i64(1023))
            left -= 1023
        elif left < -1022:
            # 53 digits above the smallest number: no digit is lost yet.
            x *= power_of_two(i64(53 - 1022))
            left += 1022 - 53
    return x * power_of_two(min(max(left, i64(-1022)), i64(1023)))


@func
def whole_root(n: i64) -> i64:
    """``math.isqrt``, but 0 of negative numbers."""
    if n < 0:
        return i64(0)
    # Of what 53 digits make of n the root may round to the next integer above, never below.
    root = i64(math.sqrt(f64(n)))
    return root - 1 if root * root > n else root


@func
def magnitude(n: i64) -> u64:
    """``abs``, of the least integer, too."""
    return u64(0) - u64(n) if n < 0 else u64(n)


@func
def ones(n: u64) -> i64:
    """How many bits are 1: in pairs, fours, bytes, and all bytes. LLVM knows it as one
    instruction."""
    n = n - ((n >> 1) & 0x5555555555555555)
    n = (n & 0x3333333333333333) + ((n >> 2) & 0x3333333333333333)
    n = (n + (n >> 4)) & 0x0F0F0F0F0F0F0F0F
    return i64((n * 0x0101010101010101) >> 56)


@func
def length_in_bits(n: u64) -> i64:
    """How many bits there are up to the first 1, that included."""
    for shift in (1, 2, 4, 8, 16, 32):
        n |= n >> shift
    return ones(n)
