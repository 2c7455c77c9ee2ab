"""The quotient of two f32 without a call, and most often without a branch of its own.

ptxas makes of ``div.rn.f32`` a few instructions for usual operands, and a call for all others; a
dividend of 0 is among these. Nothing else goes on behind its branch, and no loop around it is
unrolled. ``block_divisions`` puts the functions here in its place, for several at once. The
quotients are made in one of two ways, which both round correctly.

**Quick**, for usual operands: the instructions of ptxas' own short way. Let r be the approximate
inverse of b after a step of Newton's, which is the nearest f32 to 1 / b or beside a midpoint that
is. q = a * r is near a / b, and q + r * (a - b * q), rounded once, is a / b rounded (Markstein,
Computation of elementary functions on the IBM RISC System/6000 processor, 1990), if q is less than
one unit in the last place away. It is where a >= b, with a and b in [1, 2). Else it may be 3 / 2:
2**-25, the error of r, times a is up to one unit of 2**-24, and rounding adds a half. Then the sum
is, before it is rounded, (3 / 2 * b * b / 2 + 2) / (b * 2**48) from a / b at most, the 2 because
a - b * q may be rounded by 2**-47. So it lies on the other side of a midpoint m of two f32, odd
multiples of 2**-25, only if a * 2**48 - b * m * 2**48 is between -5 and 5: for a whole number of
units so few, b decides what a and m are. ``tests/targets/test_divisions.py`` solves for them, 57
million with every approximate inverse that PTX allows, and finds one pair wrong: a = 1 and b = 2 -
2**-23, all digits 1, if the approximate inverse is not the nearest. It is on all GPUs, as ptxas'
short way needs it, too; a test on GPUs looks.

Usual means that nothing here leaves the numbers of full precision: a is +0 or 2**-75 and more, b
2**50 and less. Subnormal b make r NaN, and so are quotients of infinity, by zero, or too large.

**Any**: as f64, in which all f32 and their quotients are numbers of full precision. The error, with
20 digits of the inverse to begin with, is less than 2**-52 of a / b. If a / b is an f32 or a
midpoint of two, subnormal ones included, it is an f64 and comes out exactly; else it is 2**-49 of
itself from the next midpoint, and rounding twice does no harm (Figueroa, When is double rounding
innocuous?, 1995). The first product stands where the remainder is 0, as it has the sign of a zero,
and where it is NaN: it is what IEEE 754 asks for of zero, infinity and NaN.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from llvmlite import ir

from .base import F32, F64, I32, declare
from .mathematics import width_suffix

QUOTIENTS = "sharedoa.quotients"
_LEAST_DIVIDEND, _LEAST_INVERSE = 2.0**-75, 2.0**-50


def declaration(size: int) -> str:
    """LLVM's text of the function that ``division_module`` has for so many divisions."""
    return f"declare [{size} x float] @{QUOTIENTS}.{size}({', '.join(['float'] * 2 * size)})"


def division_module(sizes: Collection[int]) -> ir.Module:
    """Functions for so many divisions, to be put in place: of dividend and divisor of each in turn
    they give the quotients, the quick ones if all of them are right."""
    module = ir.Module("division")
    for size in sorted(sizes):
        result = ir.ArrayType(F32, size)
        type = ir.FunctionType(result, [F32] * 2 * size)
        function = ir.Function(module, type, f"{QUOTIENTS}.{size}")
        function.linkage = "linkonce_odr"
        function.attributes.add("alwaysinline")
        pairs = [*zip(function.args[::2], function.args[1::2], strict=True)]
        quick, any, done = (function.append_basic_block(name) for name in ("quick", "any", "done"))
        builder = ir.IRBuilder(quick)
        found, usual = zip(*(_emit_quick(builder, *pair) for pair in pairs), strict=True)
        builder.cbranch(reduce(builder.and_, usual), done, any)
        builder.position_at_end(any)
        others = [_emit_any(builder, *pair) for pair in pairs]
        builder.branch(done)
        builder.position_at_end(done)
        quotients = ir.Constant(result, ir.Undefined)
        phis = [builder.phi(F32) for _ in pairs]
        for number, phi in enumerate(phis):
            phi.add_incoming(found[number], quick)
            phi.add_incoming(others[number], any)
            quotients = builder.insert_value(quotients, phi, number)
        builder.ret(quotients)
    return module


def _emit_quick(
    builder: ir.IRBuilder, dividend: ir.Value, divisor: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The quotient, and whether it is right."""
    minus, inverse = builder.fneg(divisor), _approximate_inverse(builder, divisor)
    error = _fma(builder, minus, inverse, F32(1.0))
    inverse = _fma(builder, inverse, error, inverse)
    quotient = builder.fmul(dividend, inverse)
    rest = _fma(builder, minus, quotient, dividend)
    quotient = _fma(builder, inverse, rest, quotient)
    # -0 would lose its sign.
    is_zero = builder.icmp_signed("==", builder.bitcast(dividend, I32), I32(0))
    is_large = builder.fcmp_ordered(">=", _size(builder, dividend), F32(_LEAST_DIVIDEND))
    is_near = builder.fcmp_ordered(">=", _size(builder, inverse), F32(_LEAST_INVERSE))
    is_usual = builder.and_(builder.or_(is_zero, is_large), is_near)
    is_usual = builder.and_(is_usual, builder.fcmp_ordered("ord", quotient, F32(0.0)))
    return quotient, is_usual


def _emit_any(builder: ir.IRBuilder, dividend: ir.Value, divisor: ir.Value) -> ir.Value:
    dividend, divisor = (builder.fpext(value, F64) for value in (dividend, divisor))
    minus, near = builder.fneg(divisor), _approximate_inverse(builder, divisor)
    error = _fma(builder, minus, near, F64(1.0))
    inverse = _fma(builder, near, error, near)
    first = builder.fmul(dividend, near)
    rest = _fma(builder, minus, first, dividend)
    better = _fma(builder, rest, inverse, first)
    has_rest = builder.fcmp_ordered(">", _size(builder, rest), F64(0.0))
    return builder.fptrunc(builder.select(has_rest, better, first), F32)


def _approximate_inverse(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    suffix = "f" if value.type == F32 else "d"
    return _call(builder, f"llvm.nvvm.rcp.approx.ftz.{suffix}", value)


def _fma(builder: ir.IRBuilder, *factors_and_term: ir.Value) -> ir.Value:
    return _call(builder, f"llvm.fma.{width_suffix(factors_and_term[0].type)}", *factors_and_term)


def _size(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return _call(builder, f"llvm.fabs.{width_suffix(value.type)}", value)


def _call(builder: ir.IRBuilder, symbol: str, *arguments: ir.Value) -> ir.Value:
    type = arguments[0].type
    return builder.call(declare(builder.module, symbol, type, [type] * len(arguments)), arguments)
