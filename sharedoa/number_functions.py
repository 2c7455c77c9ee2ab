"""Functions of ``math`` that no library of a device has, in the language of kernels."""

from __future__ import annotations

from .model.functions import func
from .model.type_names import f64, i64


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
