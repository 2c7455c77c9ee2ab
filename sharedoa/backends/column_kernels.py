"""Kernels that move one scalar of many objects, between a buffer and the objects' memory.

The scalar of slot n lies, with 2**shift lanes in a block (``model.arrangement``), at

    base + (n >> shift) * block_bytes + (n & (2**shift - 1)) * lane_bytes

and in an inline array its element j at j * record_step from there.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ..targets.base import I64, POINTER
from .own_kernels import OwnKernel

_SIZES = (1, 2, 4, 8)


def _emit_address(
    builder: ir.IRBuilder,
    number: ir.Value,
    base: ir.Value,
    block_bytes: ir.Value,
    shift: ir.Value,
    lane_bytes: ir.Value,
) -> ir.Value:
    block = builder.lshr(number, shift)
    lane = builder.sub(number, builder.shl(block, shift))
    within = builder.add(builder.mul(block, block_bytes), builder.mul(lane, lane_bytes))
    return builder.add(base, within)


def emit_by_size(
    builder: ir.IRBuilder, size: ir.Value, emit: Callable[[ir.IRBuilder, ir.IntType], None]
) -> None:
    """``emit`` for an integer type of as many bytes as ``size`` says."""
    function = builder.function
    done = function.append_basic_block("done")
    choice = builder.switch(size, done)
    for bytes in _SIZES:
        block = function.append_basic_block(f"bytes_{bytes}")
        choice.add_case(I64(bytes), block)
        inner = ir.IRBuilder(block)
        emit(inner, ir.IntType(8 * bytes))
        inner.branch(done)
    builder.position_at_end(done)


def _emit_move(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    data, item_bytes, item_step, inner, record_step, to_objects, size, first, *where = leaves
    item = builder.udiv(thread, inner)
    element = builder.sub(thread, builder.mul(item, inner))
    in_buffer = builder.add(data, builder.mul(item, item_bytes))
    in_buffer = builder.add(in_buffer, builder.mul(element, item_step))
    in_objects = _emit_address(builder, builder.add(first, item), *where)
    in_objects = builder.add(in_objects, builder.mul(element, record_step))
    upwards = builder.icmp_unsigned("!=", to_objects, I64(0))
    source = builder.inttoptr(builder.select(upwards, in_buffer, in_objects), POINTER)
    target = builder.inttoptr(builder.select(upwards, in_objects, in_buffer), POINTER)

    def copy(inside: ir.IRBuilder, type: ir.IntType) -> None:
        inside.store(inside.load(source, typ=type), target)

    emit_by_size(builder, size, copy)


def _emit_number(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    size, first, *where = leaves[:6]
    number_first, *numbers = leaves[6:]
    target = _emit_address(builder, builder.add(first, thread), *where)
    number = _emit_address(builder, builder.add(number_first, thread), *numbers)

    def store(inside: ir.IRBuilder, type: ir.IntType) -> None:
        value = number if type == I64 else inside.trunc(number, type)
        inside.store(value, inside.inttoptr(target, POINTER))

    emit_by_size(builder, size, store)


#: One thread an element. leaves: address of the buffer, bytes of an item in it, bytes between an
#: item's elements, elements of an item, record_step, whether to the objects, bytes of the scalar,
#: the first slot; base, block_bytes, shift and lane_bytes
MOVE = OwnKernel("sharedoa_column_move", 12, _emit_move)
#: One thread a slot; writes a number that is computed as addresses are. leaves: bytes of the
#: scalar, the first slot; base, block_bytes, shift and lane_bytes; the same five for the number
NUMBER = OwnKernel("sharedoa_column_number", 11, _emit_number)
