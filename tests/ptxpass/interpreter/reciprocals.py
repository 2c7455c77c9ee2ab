"""``rcp.approx``: no GPU's table, but any number that PTX allows, so that code shows whether it
needs more than that.

Source: PTX ISA, ``rcp`` (one unit in the last place) and ``rcp.approx.ftz.f64`` (20 digits of the
operand, and 20 of the result). Of a divisor with all digits 1 the result is the nearest f32, as
``div.rn.f32`` of ptxas needs it, too.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite
from typing import Any

import numpy as np

from .integers import Operation
from .numbers import from_float, rounded, to_float

_DIGITS = 0x7F_FFFF
_UPPER = 0xFFFF_FFFF_0000_0000


def approximate_reciprocal(bits: int) -> Operation:
    """From the bits of an f32 or f64 to those of the result, the same one whenever it is asked."""
    return _of_f32 if bits == 32 else _of_f64


def _of_f32(a: int) -> int:
    value = to_float(a, 32)
    if not _is_normal(value):
        return from_float(_special(value), 32)
    exact = 1 / Fraction(float(value))
    nearest = np.float32(rounded(exact, 32))
    if a & _DIGITS != _DIGITS:
        others = [np.nextafter(nearest, np.float32(end)) for end in (-inf, inf)]
        unit = abs(Fraction(float(others[1])) - Fraction(float(nearest)))
        near = [each for each in others if abs(Fraction(float(each)) - exact) <= unit]
        nearest = _any_of([nearest, *near], a)
    return from_float(nearest if _is_normal(nearest) else np.copysign(np.float32(0), nearest), 32)


def _of_f64(a: int) -> int:
    value = to_float(a & _UPPER, 64)
    if not _is_normal(value):
        return from_float(_special(value), 64)
    found = np.float64(rounded(1 / Fraction(float(value)), 64))
    last = _any_of([-1, 0, 1], a) << 32
    found = to_float((from_float(found, 64) & _UPPER) + last, 64)
    return from_float(found if _is_normal(found) else np.copysign(np.float64(0), found), 64)


def _is_normal(value: Any) -> bool:
    return isfinite(value) and abs(value) >= np.finfo(type(value)).tiny


def _special(value: Any) -> Any:
    kind = type(value)
    if np.isnan(value):
        return value
    return np.copysign(kind(0 if np.isinf(value) else inf), value)


def _any_of(choices: list[Any], a: int) -> Any:
    mixed = (a ^ a >> 29) * 0x9E37_79B9_7F4A_7C15
    return choices[(mixed >> 40) % len(choices)]
