"""Math functions that every target lowers alike: LLVM intrinsics and comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from .base import F32, declare

#: Exact everywhere: one instruction, or a short sequence with the same result.
EXACT_INTRINSICS = ("sqrt", "floor", "ceil", "trunc", "rint", "fabs", "copysign", "fma")
#: What math libraries call functions of Python's that have other names there.
LIBRARY_NAMES = {"gamma": "tgamma"}
_CLASSIFICATIONS = ("isnan", "isinf", "isfinite")
EXACT_FUNCTIONS = frozenset({*EXACT_INTRINSICS, *_CLASSIFICATIONS})
"""Of which LLVM, where it knows the arguments, makes what code makes."""


#: What fast arithmetic may do: reorder, ignore the sign of zero, multiply by a reciprocal, fuse a
#: multiplication with an addition, approximate. What gets NaN or infinity still has to expect them.
FAST = ("reassoc", "nsz", "arcp", "contract", "afn")


def emit_exact(
    builder: ir.IRBuilder, name: str, arguments: Sequence[ir.Value], fast: bool
) -> ir.Value | None:
    """``name`` by an intrinsic or a comparison, or None if it needs a math library."""
    if name in EXACT_INTRINSICS:
        return emit_intrinsic(builder, name, arguments, fast)
    if name in _CLASSIFICATIONS:
        return _emit_classification(builder, name, arguments[0])
    return None


def emit_intrinsic(
    builder: ir.IRBuilder, name: str, arguments: Sequence[ir.Value], fast: bool = False
) -> ir.Value:
    """``llvm.<name>`` of the arguments' type."""
    symbol = f"llvm.{name}.{width_suffix(arguments[0].type)}"
    return emit_library_call(builder, symbol, arguments, fast)


def emit_library_call(
    builder: ir.IRBuilder, symbol: str, arguments: Sequence[ir.Value], fast: bool = False
) -> ir.Value:
    """A pure function of floats, all of one type, to the same type."""
    type = arguments[0].type
    # Pure: the subset cannot read errno, so a call may be hoisted, shared or dropped.
    attributes = () if symbol.startswith("llvm.") else ("readnone",)
    callee = declare(builder.module, symbol, type, [type] * len(arguments), *attributes)
    return builder.call(callee, arguments, fastmath=FAST if fast else ())


def width_suffix(type: ir.Type) -> str:
    return "f32" if type == F32 else "f64"


def _emit_classification(builder: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
    if name == "isnan":
        return builder.fcmp_unordered("uno", value, value)
    infinity = ir.Constant(value.type, float("inf"))
    magnitude = emit_intrinsic(builder, "fabs", [value])
    return builder.fcmp_ordered("==" if name == "isinf" else "<", magnitude, infinity)
