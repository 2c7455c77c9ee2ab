"""The square root of an f32 without a call.

ptxas turns ``sqrt.rn.f32`` into a few instructions for numbers between 2 ** -101 and the largest,
and a call for all others. That call makes every function with a root save registers to memory
before it does anything. These are the same instructions, with numbers below scaled into that range
by a power of two, which changes no digit of the root, and zero and infinity, whose roots they are
themselves, set aside. So the result is the same, rounded correctly, for every f32; NaN for negative
numbers.
"""

from __future__ import annotations

from llvmlite import ir

from .base import F32, I32, declare

_LEAST_BITS = 0x0D000000
"""Of 2 ** -101. Positive floats are ordered as their bits are; negative ones have larger ones."""
_UP, _DOWN = 2.0**64, 2.0**-32


def emit_root(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The root of ``value``, an f32."""
    one = F32(1.0)
    is_small = builder.icmp_unsigned("<", builder.bitcast(value, I32), I32(_LEAST_BITS))
    scaled = builder.fmul(value, builder.select(is_small, F32(_UP), one))
    inverse = _call(builder, "llvm.nvvm.rsqrt.approx.ftz.f", scaled)
    root = _call(builder, "llvm.nvvm.mul.rn.ftz.f", scaled, inverse)
    half = _call(builder, "llvm.nvvm.mul.rn.ftz.f", inverse, F32(0.5))
    rest = _call(builder, "llvm.fma.f32", builder.fneg(root), root, scaled)
    root = _call(builder, "llvm.fma.f32", rest, half, root)
    root = builder.fmul(root, builder.select(is_small, F32(_DOWN), one))
    is_zero = builder.fcmp_ordered("==", value, F32(0.0))
    is_infinite = builder.fcmp_ordered("==", value, F32(float("inf")))
    return builder.select(builder.or_(is_zero, is_infinite), value, root)


def _call(builder: ir.IRBuilder, symbol: str, *arguments: ir.Value) -> ir.Value:
    return builder.call(declare(builder.module, symbol, F32, [F32] * len(arguments)), arguments)
