"""Kernels written by hand in LLVM IR, for any target: what code generation makes, but small."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from sharedoa.targets.base import I64, VOID, Target

#: Writes a body: target, builder, leaves, then (x, y, nx, ny) as i64.
Emit = Callable[[Target, ir.IRBuilder, list[ir.Value], list[ir.Value]], None]


def kernel_text(
    target: Target,
    emit: Emit,
    leaf_types: Sequence[ir.Type] = (I64,),
    symbol: str = "kernel",
    debug: bool = False,
    uses_barrier: bool = False,
) -> str:
    """LLVM text of a module with one kernel."""
    module = target.new_module(symbol)
    type = ir.FunctionType(VOID, [*leaf_types, *[I64] * 4])
    body = ir.Function(module, type, f"{symbol}.body")
    body.linkage = "internal"
    body.attributes.add("alwaysinline")
    builder = ir.IRBuilder(body.append_basic_block("entry"))
    emit(target, builder, list(body.args[:-4]), list(body.args[-4:]))
    if not builder.block.is_terminated:
        builder.ret_void()
    target.emit_entry(module, symbol, body, leaf_types, debug, uses_barrier)
    return str(module)


def place(
    target: Target, builder: ir.IRBuilder, base: ir.Value, index: ir.Value, type: ir.Type = I64
) -> ir.Value:
    """Pointer to element ``index`` of an array of 8-byte elements at address ``base``."""
    address = builder.add(base, builder.mul(index, I64(8)))
    return builder.inttoptr(address, type.as_pointer(target.object_space))


def store_coordinates(
    target: Target, builder: ir.IRBuilder, leaves: list[ir.Value], thread: list[ir.Value]
) -> None:
    """out[y * nx + x] = 1_000_000 * y + x"""
    x, y, nx, _ = thread
    linear = builder.add(builder.mul(y, nx), x)
    value = builder.add(builder.mul(y, I64(1_000_000)), x)
    builder.store(value, place(target, builder, leaves[0], linear))
