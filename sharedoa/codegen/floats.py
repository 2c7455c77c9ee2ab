"""Floating-point operators: IEEE without contraction or reassociation, unless fast arithmetic is
asked for; ``//`` and ``%`` as NumPy.

Source of the division: ``npy_divmod`` and ``npy_floor_divide`` in NumPy's npy_math.
"""

from __future__ import annotations

from llvmlite import ir

from ..errors import InternalError
from ..targets.base import Target
from ..targets.mathematics import FAST


def emit_float(
    builder: ir.IRBuilder,
    target: Target,
    operator: str,
    left: ir.Value,
    right: ir.Value,
    fast: bool,
) -> ir.Value:
    """``left operator right`` of floats of one width: arithmetic and power, no bit operators."""
    if operator == "floordiv":
        return _floor_divide(builder, target, left, right)
    if operator == "mod":
        return _remainder(builder, target, left, right)
    if operator == "pow":
        return _power(builder, target, left, right, fast)
    plain = {
        "add": builder.fadd,
        "sub": builder.fsub,
        "mul": builder.fmul,
        "truediv": builder.fdiv,
    }
    if operator not in plain:
        raise InternalError(f"no floating-point operator {operator}")
    return plain[operator](left, right, flags=FAST if fast else ())


def _power(
    builder: ir.IRBuilder, target: Target, base: ir.Value, exponent: ir.Value, fast: bool
) -> ir.Value:
    # LLVM would square the host's pow by itself, but not libdevice's; here both do the same.
    if isinstance(exponent, ir.Constant) and exponent.constant == 2.0:
        return builder.fmul(base, base, flags=FAST if fast else ())
    return target.emit_math(builder, "pow", [base, exponent], fast)


def _has_other_sign(builder: ir.IRBuilder, remainder: ir.Value, divisor: ir.Value) -> ir.Value:
    """i1: the remainder is not 0 and its sign is not the divisor's."""
    zero = remainder.type(0.0)
    is_nonzero = builder.fcmp_unordered("!=", remainder, zero)
    divisor_is_negative = builder.fcmp_ordered("<", divisor, zero)
    remainder_is_negative = builder.fcmp_ordered("<", remainder, zero)
    return builder.and_(is_nonzero, builder.xor(divisor_is_negative, remainder_is_negative))


def _remainder(builder: ir.IRBuilder, target: Target, left: ir.Value, right: ir.Value) -> ir.Value:
    zero = left.type(0.0)
    # By zero fmod is NaN, which the steps below leave alone.
    remainder = target.emit_math(builder, "fmod", [left, right])
    moved = builder.fadd(remainder, right)
    signed_zero = target.emit_math(builder, "copysign", [zero, right])
    is_zero = builder.fcmp_ordered("==", remainder, zero)
    differs = _has_other_sign(builder, remainder, right)
    return builder.select(is_zero, signed_zero, builder.select(differs, moved, remainder))


def _floor_divide(
    builder: ir.IRBuilder, target: Target, left: ir.Value, right: ir.Value
) -> ir.Value:
    zero, half, one = (left.type(number) for number in (0.0, 0.5, 1.0))
    plain_quotient = builder.fdiv(left, right)
    remainder = target.emit_math(builder, "fmod", [left, right])
    quotient = builder.fdiv(builder.fsub(left, remainder), right)
    differs = _has_other_sign(builder, remainder, right)
    quotient = builder.select(differs, builder.fsub(quotient, one), quotient)
    # Snap to the nearest whole number: the quotient is one up to rounding.
    whole = target.emit_math(builder, "floor", [quotient])
    is_low = builder.fcmp_ordered(">", builder.fsub(quotient, whole), half)
    snapped = builder.select(is_low, builder.fadd(whole, one), whole)
    signed_zero = target.emit_math(builder, "copysign", [zero, plain_quotient])
    is_zero = builder.fcmp_ordered("==", quotient, zero)
    result = builder.select(is_zero, signed_zero, snapped)
    by_zero = builder.fcmp_ordered("==", right, zero)
    return builder.select(by_zero, plain_quotient, result)
