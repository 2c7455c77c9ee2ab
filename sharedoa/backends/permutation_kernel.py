"""A kernel that takes scalars of tiles to memory where they lie as they shall lie in the tiles.

In place, lanes would have to wait for each other; so all are taken out, and copied back after.
"""

from __future__ import annotations

from llvmlite import ir

from ..model.field_address import LANES
from ..targets.base import I64, POINTER
from .column_kernels import emit_by_size
from .own_kernels import OwnKernel

_I32 = ir.IntType(32)
_ROW_WORDS, _WORD_BYTES = 5, 8


def _emit_permute(builder: ir.IRBuilder, leaves: list[ir.Value], thread: ir.Value) -> None:
    tiles, tile_bytes, scratch, size, table, scalars = leaves
    # Neighbouring threads have neighbouring lanes. Numbers of 32 bits are divided much faster.
    lane = builder.and_(thread, I64(LANES - 1))
    number = builder.trunc(builder.udiv(thread, I64(LANES)), _I32)
    each = builder.trunc(scalars, _I32)
    tile = builder.udiv(number, each)
    scalar = builder.zext(builder.sub(number, builder.mul(tile, each)), I64)
    tile = builder.zext(tile, I64)
    row = builder.add(table, builder.mul(scalar, I64(_ROW_WORDS * _WORD_BYTES)))
    words = []
    for place in range(_ROW_WORDS):
        pointer = builder.inttoptr(builder.add(row, I64(place * _WORD_BYTES)), POINTER)
        words.append(builder.load(pointer, typ=I64))
    bytes, start, step, new_start, new_step = words

    def emit_address(base: ir.Value, stride: ir.Value, at: ir.Value, apart: ir.Value) -> ir.Value:
        inside = builder.add(at, builder.mul(apart, lane))
        address = builder.add(builder.add(base, builder.mul(tile, stride)), inside)
        return builder.inttoptr(address, POINTER)

    source = emit_address(tiles, tile_bytes, start, step)
    target = emit_address(scratch, size, new_start, new_step)

    def copy(inside: ir.IRBuilder, type: ir.IntType) -> None:
        inside.store(inside.load(source, typ=type), target)

    emit_by_size(builder, bytes, copy)


#: One thread a scalar of one object. leaves: where the stretch of the first tile begins, bytes
#: between stretches, the memory to take them to and the bytes of a stretch, which lie there one
#: after another, and ``heap.transfer.Permutation``'s table and scalars
PERMUTE = OwnKernel("sharedoa_tiles_permute", 6, _emit_permute)
