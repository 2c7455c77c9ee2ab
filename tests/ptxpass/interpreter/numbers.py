"""Bits of registers as numbers: integers of all widths, floats rounded to nearest.

A register holds bits, as an unsigned integer. Floats are numpy scalars while they are computed
with; a result that is not a number has one pattern, so that no order of operands shows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import copysign, inf, isfinite, isnan, nextafter
from typing import Any

import numpy as np

from .errors import UnsupportedInstruction

PACKED = {
    32: (struct.Struct("<f"), struct.Struct("<I")),
    64: (struct.Struct("<d"), struct.Struct("<Q")),
}
_SCALAR: dict[int, Any] = {32: np.float32, 64: np.float64}
_NOT_A_NUMBER = {32: 0x7FFF_FFFF, 64: 0x7FF8_0000_0000_0000}
_LARGEST = {32: float(np.finfo(np.float32).max), 64: float(np.finfo(np.float64).max)}


@dataclass(frozen=True)
class Type:
    """``kind``: b, u, s, f or pred."""

    kind: str
    bits: int

    @property
    def size(self) -> int:
        return max(self.bits // 8, 1)

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1


@cache
def type_named(name: str) -> Type:
    if name == "pred":
        return Type("pred", 1)
    if name[:1] in "busf" and name[1:] in ("8", "16", "32", "64"):
        return Type(name[0], int(name[1:]))
    raise UnsupportedInstruction(f"the type .{name}")


def is_type(name: str) -> bool:
    return name == "pred" or (name[:1] in "busf" and name[1:] in ("8", "16", "32", "64"))


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def plain_float(value: int, bits: int) -> float:
    """The number with these bits as Python's own, which takes a third of the time."""
    floats, integers = PACKED[bits]
    found: float = floats.unpack(integers.pack(value))[0]
    return found


def to_float(value: int, bits: int) -> Any:
    """The numpy scalar with these bits."""
    floats, integers = PACKED[bits]
    return _SCALAR[bits](floats.unpack(integers.pack(value))[0])


def from_float(value: Any, bits: int) -> int:
    """The bits of a value that is one of this width already."""
    if value != value:
        return _NOT_A_NUMBER[bits]
    floats, integers = PACKED[bits]
    found: int = integers.unpack(floats.pack(value))[0]
    return found


def rounded(value: Fraction | int, bits: int) -> float:
    """The float of ``bits`` bits nearest to an exact value, ties to even."""
    if not value:
        return 0.0
    try:
        nearest = float(value)
    except OverflowError:
        return inf if value > 0 else -inf
    if bits == 64 or not isfinite(nearest):
        return nearest
    # Rounded twice, it might be wrong; rounded to odd before, it cannot.
    if Fraction(nearest) != value and not PACKED[64][1].unpack(struct.pack("<d", nearest))[0] & 1:
        nearest = nextafter(nearest, inf if value > Fraction(nearest) else -inf)
    with np.errstate(all="ignore"):
        return float(np.float32(nearest))


def fused(a: float, b: float, c: float, bits: int) -> float:
    """a * b + c, rounded once."""
    if bits == 32 and (total := _exact_sum(a * b, c)) is not None:
        return narrowed(total)
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        with np.errstate(all="ignore"):
            return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(exact, bits)
    with np.errstate(all="ignore"):
        return float(np.float64(a) * np.float64(b) + np.float64(c))  # the sign of a zero


def narrowed(value: float) -> float:
    """The f32 nearest to a number."""
    floats = PACKED[32][0]
    try:
        found: float = floats.unpack(floats.pack(value))[0]
    except OverflowError:
        return copysign(inf, value)
    return found


def _exact_sum(product: float, c: float) -> float | None:
    """The sum of an exact product and a number where it is exact, too, so that it is rounded once
    all the same; else None."""
    total = product + c
    of_c = total - product
    return total if (product - (total - of_c)) + (c - of_c) == 0.0 else None


def to_integer(value: float, kind: str, bits: int) -> int:
    """A float that has no fraction, as bits of an integer; beyond its limits the limit."""
    if isnan(value):
        return 0
    low = -(1 << (bits - 1)) if kind == "s" else 0
    high = (1 << (bits - (kind == "s"))) - 1
    if value in (inf, -inf):
        return (high if value > 0 else low) & ((1 << bits) - 1)
    return min(max(int(value), low), high) & ((1 << bits) - 1)
