"""Float instructions over the bits of registers, in numpy's arithmetic (round to nearest)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from math import ceil, copysign, floor, inf, isfinite, isnan, trunc
from typing import Any

import numpy as np

from .errors import UnsupportedInstruction
from .integers import COMPARISONS, Operation
from .numbers import (
    PACKED,
    Type,
    from_float,
    fused,
    plain_float,
    rounded,
    signed,
    to_float,
    to_integer,
)
from .reciprocals import approximate_reciprocal

_ROUND_HALF_EVEN: Callable[[float], int] = round
#: How a float becomes an integer value.
_TO_WHOLE: dict[str, Callable[[float], int]] = {
    "rni": _ROUND_HALF_EVEN, "rzi": trunc, "rmi": floor, "rpi": ceil,
}  # fmt: skip

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "min": np.fmin, "max": np.fmax, "copysign": lambda sign, size: np.copysign(size, sign),
}  # fmt: skip
_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "abs": abs, "sqrt": np.sqrt, "ex2": np.exp2, "lg2": np.log2,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "rcp": lambda x: type(x)(1) / x, "rsqrt": lambda x: type(x)(1) / np.sqrt(x),
}  # fmt: skip


def operation(opcode: str, t: Type, modifiers: tuple[str, ...]) -> Operation | None:
    """The function of an arithmetic instruction, or None if it is none."""
    bits = t.bits
    if opcode == "rcp" and "approx" in modifiers and "ftz" in modifiers:
        return approximate_reciprocal(bits)
    end = _saturated(bits) if "sat" in modifiers else from_float
    start = _flushed if "ftz" in modifiers else to_float
    if "rz" in modifiers and opcode == "fma":
        return lambda a, b, c: end(
            _fused_toward_zero(*(float(start(each, bits)) for each in (a, b, c)), bits), bits
        )
    if any(rounding in modifiers for rounding in ("rz", "rm", "rp")):
        return None
    if opcode in ("fma", "mad"):
        return lambda a, b, c: end(
            fused(float(start(a, bits)), float(start(b, bits)), float(start(c, bits)), bits), bits
        )
    if opcode in _TWICE_ROUNDED and start is to_float and end is from_float:
        return _rounded_by_packing(_TWICE_ROUNDED[opcode], bits)
    if opcode in BINARY:
        binary = BINARY[opcode]
        return lambda a, b: end(binary(start(a, bits), start(b, bits)), bits)
    if opcode in _UNARY:
        unary = _UNARY[opcode]
        return lambda a: end(unary(start(a, bits)), bits)
    return None


#: What Python computes with 53 bits and then has rounded to 24 is what was rounded to 24 at once.
_TWICE_ROUNDED: dict[str, Callable[[float, float], float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul,
}  # fmt: skip


def _rounded_by_packing(compute: Callable[[float, float], float], bits: int) -> Operation:
    floats, integers = PACKED[bits]
    pack, unpack, to_bytes, of_bytes = floats.pack, integers.unpack, integers.pack, floats.unpack

    def run(a: int, b: int) -> int:
        value = compute(of_bytes(to_bytes(a))[0], of_bytes(to_bytes(b))[0])
        if value != value:
            return from_float(value, bits)
        try:
            return unpack(pack(value))[0]  # type: ignore[no-any-return]
        except OverflowError:
            return from_float(copysign(inf, value), bits)

    return run


def _fused_toward_zero(a: float, b: float, c: float, bits: int) -> float:
    near = fused(a, b, c, bits)
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return near
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if isfinite(near) and abs(Fraction(near)) <= abs(exact):
        return near
    kind = np.float32 if bits == 32 else np.float64
    return float(np.nextafter(kind(near), kind(0)))


def compare(name: str, t: Type) -> Operation:
    bits = t.bits
    if name in ("num", "nan"):
        wanted = name == "nan"
        return lambda a, b: wanted == (isnan(plain_float(a, bits)) or isnan(plain_float(b, bits)))
    unordered = len(name) == 3 and name.endswith("u")
    test = COMPARISONS[name.removesuffix("u") if unordered else name]

    def run(a: int, b: int) -> bool:
        left, right = plain_float(a, bits), plain_float(b, bits)
        if isnan(left) or isnan(right):
            return unordered
        return bool(test(left, right))

    return run


def convert(to: Type, source: Type, modifiers: tuple[str, ...]) -> Operation:
    """``cvt`` where one of the types is a float."""
    if source.kind != "f":
        read: Callable[[int], int] = operator.index
        if source.kind == "s":
            read = lambda a: signed(a, source.bits)
        return lambda a: from_float(rounded(read(a & source.mask), to.bits), to.bits)
    whole = next((_TO_WHOLE[m] for m in modifiers if m in _TO_WHOLE), None)
    if to.kind != "f":
        if whole is None:
            raise UnsupportedInstruction("a conversion from float to integer without rounding")
        round_off = whole

        def to_whole(a: int) -> int:
            value = plain_float(a, source.bits)
            return to_integer(round_off(value) if isfinite(value) else value, to.kind, to.bits)

        return to_whole

    def between(a: int) -> int:
        value = plain_float(a, source.bits)
        if isfinite(value) and value:
            near = float(whole(value)) if whole is not None else rounded(Fraction(value), to.bits)
            value = copysign(near, value)
        return from_float(min(max(value, 0.0), 1.0) if "sat" in modifiers else value, to.bits)

    return between


def _saturated(bits: int) -> Callable[[Any, int], int]:
    def end(value: Any, width: int) -> int:
        return 0 if isnan(value) else from_float(min(max(float(value), 0.0), 1.0), bits)

    return end


def _flushed(value: int, bits: int) -> Any:
    """``ftz``: numbers that are too small to be normal are zero."""
    number = to_float(value, bits)
    small = abs(number) < np.finfo(np.float32).tiny
    return np.copysign(np.float32(0), number) if small else number
