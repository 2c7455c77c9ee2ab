"""Addresses of what belongs to an object in tiles whose place in a run is known.

The address of an object tells its lane, so what it is computed from is computed again from it: with
its number n among the objects of the run, and tiles of b bytes, a scalar of s bytes lies at

    first + b (n // 32) + s (n % 32) + constant = first + (b - 32 s) (n // 32) + s n + constant

which takes a GPU a shift and two multiplications that add, in the place of six instructions.
"""

from __future__ import annotations

from llvmlite import ir

from dispatch.dataclass import dataclass

from ..ir.core import Value
from ..model.field_address import LANES, ROW_BYTES
from .emitter import FunctionEmitter, integer
from .types import I32, I64


@dataclass(frozen=True)
class TilePlace:
    """``object``: its address; ``first``: that of the run's first object, which is the first of its
    tile; ``number``: i32, how many objects lie between; ``tile_bytes``: of a tile."""

    object: ir.Value
    first: ir.Value
    number: ir.Value
    tile_bytes: int


def is_asked_once(emitter: FunctionEmitter, object: Value) -> bool:
    """Whether all that becomes of an object is that one of its fields is asked for: else what its
    fields' addresses have in common had better be computed once."""
    fields, pending = 0, [object]
    while pending:
        for operation, _ in emitter.uses.get(pending.pop(), ()):
            if operation.kind == "convert":
                pending += operation.results
            elif operation.kind == "field":
                fields += 1
            else:
                return False
    return fields == 1


def note_place(
    emitter: FunctionEmitter,
    object: ir.Value,
    first: ir.Value,
    position: ir.Value,
    record_bytes: int,
) -> None:
    """``object`` is the address of the object ``position`` (i64) after the first of a near run
    (``RunForm``)."""
    builder = emitter.builder
    begin = builder.and_(first, integer(-ROW_BYTES))  # which it is already, as LLVM is told
    number = builder.trunc(position, I32)
    emitter.tile_places[id(object)] = TilePlace(object, begin, number, LANES * record_bytes)


def place_of(emitter: FunctionEmitter, address: ir.Value) -> tuple[TilePlace, int] | None:
    """Whose address it is, and how many bytes behind that; None if nobody knows."""
    behind = 0
    while True:
        found = emitter.tile_places.get(id(address))
        if found is not None:
            return found, behind
        is_sum = isinstance(address, ir.Instruction) and address.opname == "add"
        if not is_sum or not isinstance(address.operands[1], ir.Constant):
            return None
        behind += address.operands[1].constant
        address = address.operands[0]


def emit_place(
    emitter: FunctionEmitter, place: TilePlace, lane_bytes: int, constant: int
) -> ir.Value:
    """i64: ``constant`` bytes behind the place that its lane has, of ``lane_bytes`` each, counted
    from the beginning of its tile."""
    builder = emitter.builder
    number = builder.zext(place.number, I64)
    tile = builder.zext(builder.lshr(place.number, I32(LANES.bit_length() - 1)), I64)
    left = place.tile_bytes - LANES * lane_bytes
    begin = builder.add(place.first, builder.mul(tile, integer(left))) if left else place.first
    address = builder.add(begin, builder.mul(number, integer(lane_bytes)))
    return builder.add(address, integer(constant)) if constant else address
