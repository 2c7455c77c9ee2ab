"""Lvalues: the address of a field, an element or a member, and reading and writing there.

In debug mode an address carries whether it may be touched: a load from one that failed its check
gives zero, a store to it does nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from dispatch import state
from dispatch.dataclass import replace

from ..errors import InternalError
from ..ir.core import Operation, element_of, type_of
from ..ir.roles import ANY, element_role, field_role
from ..location import Location
from ..model.run_form import RunForm
from ..model.types import ArrayType, InlineType, ReferenceType, Type, ValueType
from . import checks
from .abi import build_struct
from .emitter import FunctionEmitter, ProgramEmitter, emits, integer, require_type
from .memory import Lvalue, load_value, member, offset_address, pointer_to, store_value
from .neighbours import Member, emit_group_start
from .types import I8, llvm_type, zero

_GROUP_ALIGNMENT = 16
"""Bytes that arrays of groups of neighbours begin at a multiple of."""


def read(emitter: FunctionEmitter, lvalue: Lvalue) -> ir.Value:
    return guarded(emitter, lvalue.valid, lvalue.type, lambda: load_value(emitter, lvalue))


def write(emitter: FunctionEmitter, lvalue: Lvalue, value: ir.Value) -> None:
    require_type(value, lvalue.type)

    def store() -> None:
        store_value(emitter, lvalue, value)

    if lvalue.valid is None:
        store()
    else:
        emitter.when(lvalue.valid, store, "valid")


def guarded(
    emitter: FunctionEmitter, valid: ir.Value | None, type: Type, produce: Callable[[], Any]
) -> Any:
    """``produce()`` where ``valid`` holds or is None, else zero of ``type``."""
    if valid is None:
        return produce()
    result = llvm_type(type)
    is_void = isinstance(result, ir.VoidType)
    return emitter.choose(valid, produce, lambda: None if is_void else zero(result), "valid")


@emits("load")
def _load(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    return read(emitter, emitter.value(operation.operands[0]))


@emits("store")
def _store(emitter: FunctionEmitter, operation: Operation) -> None:
    value, lvalue = emitter.values(operation.operands)
    write(emitter, lvalue, value)


# ---------------------------------------------------------------------- fields


@emits("field")
def _field(emitter: FunctionEmitter, operation: Operation) -> Lvalue:
    found = emitter.members.get(operation.operands[0])
    if found is not None:
        return _field_of_member(emitter, operation, found)
    program, builder = emitter.program, emitter.builder
    owner, name = operation["owner"], operation["name"]
    object, type = operation.operands[0], element_of(operation.result)
    reference = emitter.value(object)
    valid = checks.reference_is_valid(emitter, reference, type_of(object), operation.location)
    object_address = program.emit_address(builder, reference)
    if program.layout.reaches_far(owner, name) and not program.target.is_device:
        # So that null is a fault here, and the access reaches no memory behind the guard. Atomic,
        # as it else would go; whatever the byte is.
        builder.load_atomic(pointer_to(emitter, object_address), "monotonic", 1, typ=I8)
    address = program.layout.emit_field_address(builder, object_address, owner, name)
    role = field_role(operation)
    location = _noted(emitter, operation)
    multiple = program.layout.alignment_in_cluster(owner, name)
    if multiple is None:
        if program.layout.is_tiled(owner):
            return Lvalue(
                type, address, valid, role, object_address, location=location,
                subject=object_address,
            )  # fmt: skip
        multiple = _multiple_in_record(program, operation)
    return Lvalue(
        type, address, valid, role, multiple=multiple, location=location, subject=object_address
    )


def _noted(emitter: FunctionEmitter, operation: Operation) -> Any:
    return operation.location if emitter.program.debug else None


def _multiple_in_record(program: ProgramEmitter, operation: Operation) -> int:
    """``Lvalue.multiple`` of a field of a record."""
    receiver = operation.operands[0].type
    if not isinstance(receiver, ReferenceType):
        return 1
    offset = program.layout.record(operation["owner"]).offsets[operation["name"]]
    return math.gcd(program.object_alignment(receiver.cls), offset)


def _field_of_member(emitter: FunctionEmitter, operation: Operation, member: Member) -> Lvalue:
    program, builder = emitter.program, emitter.builder
    owner, name, role = operation["owner"], operation["name"], field_role(operation)
    layout, type = program.layout, element_of(operation.result)
    first = program.emit_address(builder, member.first)
    cluster = layout.cluster(owner, name)
    if cluster is None:
        address = layout.emit_field_address(builder, integer(0), owner, name)
        return Lvalue(type, address, None, role, first, first, member.lane)
    address = layout.emit_field_address(builder, first, owner, name)
    address = offset_address(emitter, address, member.lane * cluster.width)
    multiple = layout.alignment_in_cluster(owner, name)
    assert multiple is not None
    return Lvalue(type, address, None, role, multiple=multiple)


# -------------------------------------------------------------------- elements


@emits("element")
def _element(emitter: FunctionEmitter, operation: Operation) -> Lvalue:
    array, index = emitter.values(operation.operands)
    type = element_of(operation.result)
    neighbour = operation.attributes.get("neighbour")
    if neighbour is not None:
        return _neighbour(emitter, type, array, index, neighbour)
    base = emitter.builder.extract_value(array, 0)
    length = emitter.builder.extract_value(array, 1)
    whole = Lvalue(
        type, base, None, element_role(type), location=_noted(emitter, operation)
    )  # fmt: skip
    return _indexed(emitter, operation, whole, index, length)


def _neighbour(
    emitter: FunctionEmitter, type: Type, array: ir.Value, index: ir.Value, neighbour: int
) -> Lvalue:
    index = emit_group_start(emitter, index)
    builder, size = emitter.builder, emitter.program.layout.dtype(type).itemsize
    # As with the index, the mask changes nothing.
    base = builder.and_(builder.extract_value(array, 0), integer(-_GROUP_ALIGNMENT))
    origin = builder.add(base, builder.mul(index, integer(size)))
    address = integer(neighbour * size)
    return Lvalue(type, address, None, element_role(type), origin=origin)


@emits("inline_element")
def _inline_element(emitter: FunctionEmitter, operation: Operation) -> Lvalue:
    base, index = emitter.values(operation.operands)
    inline = base.type
    if not isinstance(inline, InlineType):
        raise InternalError(f"{inline!r} is indexed as an inline array")
    element = replace(base, role=(*base.role, ANY), location=_noted(emitter, operation))
    return _indexed(emitter, operation, element, index, integer(inline.shape[0]))


@emits("member")
def _member(emitter: FunctionEmitter, operation: Operation) -> Lvalue:
    (base,) = emitter.values(operation.operands)
    if not isinstance(base.type, ValueType):
        raise InternalError(f"{base.type!r} has no members in memory")
    found = member(emitter, base, operation["name"], element_of(operation.result))
    return replace(found, location=_noted(emitter, operation))


def _indexed(
    emitter: FunctionEmitter,
    operation: Operation,
    base: Lvalue,
    index: ir.Value,
    length: ir.Value,
) -> Lvalue:
    wraps = operation["may_be_negative"]
    position, valid = emit_position(emitter, index, length, wraps, operation.location)
    if valid is not None and base.valid is not None:
        valid = emitter.builder.and_(base.valid, valid)
    type = element_of(operation.result)
    size = emitter.program.layout.dtype(type).itemsize
    distance = integer(size * base.scale)
    address = emitter.builder.add(base.address, emitter.builder.mul(position, distance))
    multiple = math.gcd(base.multiple, size)
    subject = position if base.subject is None else base.subject
    return replace(
        base, type=type, address=address, valid=valid, multiple=multiple, subject=subject
    )


@emits("slice")
def _slice(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    array, start, count = emitter.values(operation.operands)
    return _part_of(emitter, operation, array, start, count)


@emits("row")
def _row(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    """In debug mode a row that there is not has no elements, so that none of them is touched."""
    array, index, rows, columns = emitter.values(operation.operands)
    wraps = operation["may_be_negative"]
    position, valid = emit_position(emitter, index, rows, wraps, operation.location)
    if valid is not None:
        columns = emitter.builder.select(valid, columns, integer(0))
    start = emitter.builder.mul(position, columns)
    return _part_of(emitter, operation, array, start, columns)


def _part_of(
    emitter: FunctionEmitter,
    operation: Operation,
    array: ir.Value,
    start: ir.Value,
    count: ir.Value,
) -> ir.Value:
    builder, type = emitter.builder, operation.result.type
    assert isinstance(type, ArrayType)
    size = integer(emitter.program.layout.dtype(type.element).itemsize)
    address = builder.add(builder.extract_value(array, 0), builder.mul(start, size))
    return build_struct(builder, llvm_type(type), [address, count])


def emit_position(
    emitter: FunctionEmitter, index: ir.Value, length: ir.Value, wraps: bool, location: Location
) -> tuple[ir.Value, ir.Value | None]:
    """The index, negative ones only if it ``wraps``, counted from the front, and whether it is
    inside (debug)."""
    builder = emitter.builder
    position = index
    if wraps:
        from_end = builder.add(index, length)
        is_negative = builder.icmp_signed("<", index, integer(0))
        position = builder.select(is_negative, from_end, index)
    return position, checks.index_is_valid(emitter, position, length, index, location)


# ------------------------------------------------------------------------ runs


@emits("run_element")
def _run_element(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    """The reference of an object that lies beside others, computed from where the first one is."""
    array, index = emitter.values(operation.operands)
    first, length = (emitter.builder.extract_value(array, part) for part in (0, 1))
    form, lane = operation["form"], operation.attributes.get("lane")
    may_be_member = form.near and not emitter.program.debug
    if lane is not None and may_be_member and emitter.program.layout.is_tiled(form.cls):
        start = emit_group_start(emitter, index)
        group = _emit_reference(emitter, form, first, start, False)
        emitter.members[operation.result] = Member(group, lane)
    at = offset_address(emitter, index, lane or 0)
    wraps = operation["may_be_negative"]
    position, valid = emit_position(emitter, at, length, wraps, operation.location)
    counted = not wraps
    type = type_of(operation.result)
    return guarded(
        emitter, valid, type, lambda: _emit_reference(emitter, form, first, position, counted)
    )


def _emit_reference(
    emitter: FunctionEmitter,
    form: RunForm,
    first: ir.Value,
    position: ir.Value,
    counted: bool,
) -> ir.Value:
    """The reference of the object that many objects after the first one of an array, whose first
    word (``ARRAY``) is ``first``; ``counted`` says that the position is no computed number, but one
    that counts from zero."""
    builder, layout = emitter.builder, emitter.program.layout
    encoding = emitter.program.encoding
    if form.whole is not None:
        begin, origin = (_word(emitter, form.whole, which) for which in (0, 1))
        size = integer(encoding.dtype.itemsize)
        position = builder.add(builder.udiv(builder.sub(first, begin), size), position)
        first = origin
    if counted and not (emitter.program.target.is_device or layout.is_tiled(form.cls)):
        # In 64 bits, which cost a CPU nothing, LLVM sees that neighbours are a constant apart.
        form = replace(form, near=False)
    lane_address = layout.emit_neighbour(builder, first, position, form)
    space = emitter.program.target.constant_space
    reference: ir.Value = encoding.emit_from_origin(builder, lane_address, space)
    return reference


def _word(emitter: FunctionEmitter, whole: int, which: int) -> ir.Value:
    space = emitter.program.target.constant_space
    word: ir.Value = state.load(emitter.builder, space, state.WHOLES + 2 * whole + which)
    return word
