"""The kernel entry that all GPUs share: one thread of the launch per hardware thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from .base import I32, I64, VOID

#: i32: this thread's index along an axis, given the builder.
EmitThreadIndex = Callable[[ir.IRBuilder, int], ir.Value]


def emit_gpu_entry(
    module: ir.Module,
    symbol: str,
    body: ir.Function,
    leaf_types: Sequence[ir.Type],
    calling_convention: str,
    emit_thread_index: EmitThreadIndex,
) -> ir.Function:
    """``kernel(leaves..., i32 nx, i32 ny)``: threads outside nx times ny return at once.

    Index arithmetic is 32 bits wide, unsigned: half the registers and instructions of 64.
    """
    parameters = [*leaf_types, I32, I32]
    entry = ir.Function(module, ir.FunctionType(VOID, parameters), symbol)
    entry.calling_convention = calling_convention
    *leaves, nx, ny = entry.args
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    inside, outside = entry.append_basic_block("inside"), entry.append_basic_block("outside")
    x, y = emit_thread_index(builder, 0), emit_thread_index(builder, 1)
    in_row = builder.icmp_unsigned("<", x, nx)
    in_column = builder.icmp_unsigned("<", y, ny)
    builder.cbranch(builder.and_(in_row, in_column), inside, outside)
    builder.position_at_end(inside)
    wide = [builder.zext(value, I64) for value in (x, y, nx, ny)]
    builder.call(body, [*leaves, *wide])
    builder.ret_void()
    builder.position_at_end(outside)
    builder.ret_void()
    return entry
