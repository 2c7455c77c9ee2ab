"""``sharedoa_check_reference``: is this the address of a live object? (debug mode)

Objects placed by type are checked against the range table: the address lies in a range, at the
start of an object, and that object lives. Scattered objects are found by binary search in a sorted
list of their addresses.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from . import state
from .errors import ErrorCode
from .lookup import I32, I64, find_range_function, load_node
from .mode import Placement
from .range_table import TILE_OBJECTS, TILE_STEP, TILED

CHECK_REFERENCE = "sharedoa_check_reference"
REFERENCE_OK = 0


def define_check_reference(
    module: ir.Module, placement: Placement, object_space: int, constant_space: int
) -> ir.Function:
    """``i32 sharedoa_check_reference(i64 address)``: 0, or the ErrorCode that is to be reported
    (NULL, FOREIGN, FREED). Completes the declaration in ``module`` or makes the function."""
    function = module.globals.get(CHECK_REFERENCE)
    if function is None:
        function = ir.Function(module, ir.FunctionType(I32, [I64]), CHECK_REFERENCE)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    (address,) = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    with builder.if_then(builder.icmp_unsigned("==", address, I64(0))):
        builder.ret(I32(ErrorCode.NULL))
    if placement == "by_type":
        _emit_check_in_range(builder, address, object_space, constant_space)
    else:
        _emit_check_in_registry(builder, address, object_space, constant_space)
    return function


def _emit_check_in_range(
    builder: ir.IRBuilder, address: Any, object_space: int, constant_space: int
) -> None:
    find = find_range_function(builder.module, object_space, constant_space)
    node = builder.call(find, [address])
    with builder.if_then(builder.icmp_unsigned("==", node, I64(0))):
        builder.ret(I32(ErrorCode.FOREIGN))
    offset = builder.sub(address, load_node(builder, node, "lo", object_space))
    stride = builder.zext(load_node(builder, node, "stride", object_space), I64)
    # A range without tiles is one of tiles with a single object.
    tiled = builder.icmp_unsigned(">=", stride, I64(TILED))
    size = builder.and_(stride, I64(TILED - 1))
    objects = builder.select(tiled, I64(TILE_OBJECTS), I64(1))
    tile_bytes = builder.mul(size, objects)
    tile = builder.udiv(offset, tile_bytes)
    inside = builder.sub(offset, builder.mul(tile, tile_bytes))
    lane = builder.udiv(inside, I64(TILE_STEP))
    between = builder.icmp_unsigned("!=", builder.mul(lane, I64(TILE_STEP)), inside)
    beyond = builder.icmp_unsigned(">=", lane, objects)
    with builder.if_then(builder.or_(between, beyond)):
        builder.ret(I32(ErrorCode.FOREIGN))
    live = load_node(builder, node, "live", object_space)
    place = builder.add(live, builder.add(builder.mul(tile, objects), lane))
    pointer = builder.inttoptr(place, ir.PointerType(None, object_space))
    byte = builder.load(pointer, align=1, typ=ir.IntType(8))
    lives = builder.icmp_unsigned("==", byte, byte.type(1))
    builder.ret(builder.select(lives, I32(REFERENCE_OK), I32(ErrorCode.FREED)))


def _emit_check_in_registry(
    builder: ir.IRBuilder, address: Any, object_space: int, constant_space: int
) -> None:
    """Binary search for the first registered address that is not below ``address``."""
    registry = state.load(builder, constant_space, state.REGISTRY)
    size = state.load(builder, constant_space, state.REGISTRY_SIZE)

    def load_address(index: Any) -> Any:
        place = builder.add(registry, builder.shl(index, I64(3)))
        pointer = builder.inttoptr(place, ir.PointerType(None, object_space))
        return builder.load(pointer, align=8, typ=I64)

    before = builder.block
    test, halve, found, compare, foreign = (
        builder.append_basic_block(n) for n in ("search", "halve", "found", "compare", "foreign")
    )
    builder.branch(test)
    builder.position_at_end(test)
    low, high = builder.phi(I64, "low"), builder.phi(I64, "high")
    builder.cbranch(builder.icmp_unsigned("<", low, high), halve, found)

    builder.position_at_end(halve)
    middle = builder.lshr(builder.add(low, high), I64(1))
    is_below = builder.icmp_unsigned("<", load_address(middle), address)
    after = builder.add(middle, I64(1))
    for phi, first, following in (
        (low, I64(0), builder.select(is_below, after, low)),
        (high, size, builder.select(is_below, high, middle)),
    ):
        phi.add_incoming(first, before)
        phi.add_incoming(following, halve)
    builder.branch(test)

    builder.position_at_end(found)
    builder.cbranch(builder.icmp_unsigned("<", low, size), compare, foreign)
    builder.position_at_end(compare)
    same = builder.icmp_unsigned("==", load_address(low), address)
    builder.ret(builder.select(same, I32(REFERENCE_OK), I32(ErrorCode.FOREIGN)))
    builder.position_at_end(foreign)
    builder.ret(I32(ErrorCode.FOREIGN))
