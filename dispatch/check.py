"""``sharedoa_check_reference``: is this the address of a live object of a class? (debug mode)

Objects placed by type are checked against the range table: the address lies in a range, at the
start of an object, and that object lives. Scattered objects are looked up in the registry. The
class that is found, or a base of it in the table of classes, is the one that is asked for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from . import state
from .births import BORN, LIVED, emit_slot
from .errors import ErrorCode
from .lookup import I32, I64, find_range_function, load_node
from .mode import Placement
from .range_table import NO_TYPE
from .registry import (
    NOT_REGISTERED,
    emit_byte_address,
    emit_type_address,
    find_registered_function,
)

CHECK_REFERENCE = "sharedoa_check_reference"
ANY_CLASS = 0
REFERENCE_OK = 0
_IS_A = "sharedoa_is_a"


def define_check_reference(
    module: ir.Module, placement: Placement, object_space: int, constant_space: int
) -> ir.Function:
    """``i32 sharedoa_check_reference(i64 address, i32 wanted)``: 0, or the ErrorCode that is to be
    reported (NULL, FOREIGN, FREED, WRONG_CLASS); ``wanted`` is the type index of the object's class
    or of a base, or ANY_CLASS. Completes the declaration in ``module`` or makes the function."""
    function = module.globals.get(CHECK_REFERENCE)
    if function is None:
        function = ir.Function(module, ir.FunctionType(I32, [I64, I32]), CHECK_REFERENCE)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    address, wanted = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    with builder.if_then(builder.icmp_unsigned("==", address, I64(0))):
        builder.ret(I32(ErrorCode.NULL))
    if placement == "by_type":
        _emit_check_in_range(builder, address, wanted, object_space, constant_space)
    else:
        _emit_check_in_registry(builder, address, wanted, object_space, constant_space)
    return function


def _emit_check_class(
    builder: ir.IRBuilder, found: Any, wanted: Any, object_space: int, constant_space: int
) -> None:
    """Return whether the type index ``found`` is the one that is wanted, or below it."""
    is_a = _is_a_function(builder.module, object_space, constant_space)
    right = builder.call(is_a, [found, wanted])
    builder.ret(builder.select(right, I32(REFERENCE_OK), I32(ErrorCode.WRONG_CLASS)))


def _is_a_function(module: ir.Module, object_space: int, constant_space: int) -> ir.Function:
    """``i1 sharedoa_is_a(i32 found, i32 wanted)``: whether a class is another or below it; true for
    ANY_CLASS, and where there is no table of classes."""
    bit = ir.IntType(1)
    function = ir.Function(module, ir.FunctionType(bit, [I32, I32]), _IS_A)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    found, wanted = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    classes = state.load(builder, constant_space, state.CLASSES)
    nothing_asked = builder.icmp_unsigned("==", wanted, I32(ANY_CLASS))
    unknown = builder.icmp_unsigned("==", classes, I64(0))
    with builder.if_then(builder.or_(nothing_asked, unknown)):
        builder.ret(bit(1))
    before = builder.block
    test, up, end = (builder.append_basic_block(n) for n in ("test", "up", "end"))
    builder.branch(test)
    builder.position_at_end(test)
    cls = builder.phi(I32, "class")
    right = builder.icmp_unsigned("==", cls, wanted)
    at_root = builder.icmp_unsigned("==", cls, I32(NO_TYPE))
    builder.cbranch(builder.or_(right, at_root), end, up)
    builder.position_at_end(up)
    place = builder.add(classes, builder.shl(builder.zext(cls, I64), I64(2)))
    pointer = builder.inttoptr(place, ir.PointerType(None, object_space))
    base = builder.load(pointer, align=4, typ=I32)
    builder.branch(test)
    cls.add_incoming(found, before)
    cls.add_incoming(base, up)
    builder.position_at_end(end)
    builder.ret(right)
    return function


def _emit_check_in_range(
    builder: ir.IRBuilder, address: Any, wanted: Any, object_space: int, constant_space: int
) -> None:
    find = find_range_function(builder.module, object_space, constant_space)
    node = builder.call(find, [address])
    with builder.if_then(builder.icmp_unsigned("==", node, I64(0))):
        builder.ret(I32(ErrorCode.FOREIGN))
    slot, is_slot = emit_slot(builder, node, address, object_space)
    with builder.if_then(builder.not_(is_slot)):
        builder.ret(I32(ErrorCode.FOREIGN))
    place = builder.add(load_node(builder, node, "live", object_space), slot)
    _emit_check_byte(builder, place, object_space)
    found = load_node(builder, node, "type_index", object_space)
    _emit_check_class(builder, found, wanted, object_space, constant_space)


def _emit_check_in_registry(
    builder: ir.IRBuilder, address: Any, wanted: Any, object_space: int, constant_space: int
) -> None:
    find = find_registered_function(builder.module, object_space, constant_space)
    number = builder.call(find, [address])
    with builder.if_then(builder.icmp_unsigned("==", number, I64(NOT_REGISTERED))):
        builder.ret(I32(ErrorCode.FOREIGN))
    _emit_check_byte(builder, emit_byte_address(builder, number, constant_space), object_space)
    place = emit_type_address(builder, number, constant_space)
    pointer = builder.inttoptr(place, ir.PointerType(None, object_space))
    found = builder.load(pointer, align=4, typ=I32)
    _emit_check_class(builder, found, wanted, object_space, constant_space)


def _emit_check_byte(builder: ir.IRBuilder, place: Any, object_space: int) -> None:
    """Return FREED unless the byte at ``place`` says that an object is there."""
    pointer = builder.inttoptr(place, ir.PointerType(None, object_space))
    byte = builder.load(pointer, align=1, typ=ir.IntType(8))
    # What this launch has deleted keeps its fields until it ends.
    there = builder.and_(byte, byte.type(LIVED | BORN))
    with builder.if_then(builder.icmp_unsigned("==", there, byte.type(0))):
        builder.ret(I32(ErrorCode.FREED))
