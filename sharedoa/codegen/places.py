"""Places: the address of a field, an element or a member, and reading and writing there.

In debug mode an address carries whether it may be touched: a load from a place that failed its
check gives zero, a store to it does nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llvmlite import ir

from ..errors import InternalError
from ..frontend import tree
from ..model.run_form import RunForm
from ..model.types import InlineType, ReferenceType, Type, ValueType
from . import checks
from .emitter import (
    FunctionEmitter,
    ProgramEmitter,
    expression,
    integer,
    require_type,
    statement,
)
from .memory import Place, load_value, member, offset_address, pointer_to, store_value
from .neighbours import Member, emit_group_start, member_of
from .pending_stores import settle_before, write_soon
from .roles import ANY, element_role, field_role
from .runs import emit_reference, run_of
from .types import I8, llvm_type, zero

_GROUP_ALIGNMENT = 16
"""Bytes that arrays of groups of neighbours begin at a multiple of."""


def locate(emitter: FunctionEmitter, place: tree.Place) -> Place:
    """Evaluate the parts of a place, once and in order."""
    found = _locate(emitter, place)
    return replace(found, location=place.location) if emitter.program.debug else found


def _locate(emitter: FunctionEmitter, place: tree.Place) -> Place:
    if isinstance(place, tree.FieldPlace):
        return _locate_field(emitter, place)
    if isinstance(place, tree.ElementPlace):
        return _locate_element(emitter, place)
    if isinstance(place, tree.InlinePlace):
        return _locate_inline(emitter, place)
    return _locate_member(emitter, place)


def read(emitter: FunctionEmitter, place: Place) -> ir.Value:
    if isinstance(place.type, InlineType):
        raise InternalError("an inline array is read as a whole")
    return guarded(emitter, place.valid, place.type, lambda: load_value(emitter, place))


def write(emitter: FunctionEmitter, place: Place, value: ir.Value) -> None:
    require_type(value, place.type)

    def store() -> None:
        store_value(emitter, place, value)

    if place.valid is None:
        store()
    else:
        emitter.when(place.valid, store, "valid")


def guarded(
    emitter: FunctionEmitter, valid: ir.Value | None, type: Type, produce: Callable[[], Any]
) -> Any:
    """``produce()`` where ``valid`` holds or is None, else zero of ``type``."""
    if valid is None:
        return produce()
    result = llvm_type(type)
    is_void = isinstance(result, ir.VoidType)
    return emitter.choose(valid, produce, lambda: None if is_void else zero(result), "valid")


@expression(tree.Load)
def _load(emitter: FunctionEmitter, node: tree.Load) -> ir.Value:
    place = node.place
    if isinstance(place, tree.ElementPlace):
        form = run_of(emitter, place.array)
        if form is not None:
            return _element_of_run(emitter, place, form)
    return read(emitter, locate(emitter, place))


@statement(tree.Store)
def _store(emitter: FunctionEmitter, node: tree.Store) -> None:
    settle_before(emitter, node)
    value = emitter.evaluate(node.value)
    place = locate(emitter, node.place)
    write_soon(emitter, node.place, lambda: write(emitter, place, value))


@statement(tree.AugmentedStore)
def _augmented_store(emitter: FunctionEmitter, node: tree.AugmentedStore) -> None:
    settle_before(emitter, node)
    place = locate(emitter, node.place)
    emitter.bind(node.old, read(emitter, place))
    value = emitter.evaluate(node.value)
    write_soon(emitter, node.place, lambda: write(emitter, place, value))


def _locate_field(emitter: FunctionEmitter, place: tree.FieldPlace) -> Place:
    found = member_of(emitter, place.object)
    if found is not None:
        return _locate_field_of_member(emitter, place, found)
    reference = emitter.evaluate(place.object)
    valid = checks.reference_is_valid(emitter, reference, place.object.type, place.location)
    program, builder, owner = emitter.program, emitter.builder, place.owner
    object_address = program.emit_address(builder, reference)
    if program.layout.reaches_far(owner, place.name) and not program.target.is_device:
        # So that null is a fault here, and the access reaches no memory behind the guard. Atomic,
        # as it else would go; whatever the byte is.
        builder.load_atomic(pointer_to(emitter, object_address), "monotonic", 1, typ=I8)
    address = program.layout.emit_field_address(builder, object_address, owner, place.name)
    role = field_role(place)
    multiple = program.layout.alignment_in_cluster(owner, place.name)
    if multiple is None:
        if program.layout.is_tiled(owner):
            return Place(place.type, address, valid, role, object_address, subject=object_address)
        multiple = _multiple_in_record(program, place)
    return Place(place.type, address, valid, role, multiple=multiple, subject=object_address)


def _multiple_in_record(program: ProgramEmitter, place: tree.FieldPlace) -> int:
    """``Place.multiple`` of a field of a record."""
    receiver = place.object.type
    if not isinstance(receiver, ReferenceType):
        return 1
    offset = program.layout.record(place.owner).offsets[place.name]
    return math.gcd(program.object_alignment(receiver.cls), offset)


def _locate_field_of_member(
    emitter: FunctionEmitter, place: tree.FieldPlace, member: Member
) -> Place:
    program, builder = emitter.program, emitter.builder
    owner, layout, role = place.owner, program.layout, field_role(place)
    first = program.emit_address(builder, member.first)
    cluster = layout.cluster(owner, place.name)
    if cluster is None:
        address = layout.emit_field_address(builder, integer(0), owner, place.name)
        return Place(place.type, address, None, role, first, first, member.lane)
    address = layout.emit_field_address(builder, first, owner, place.name)
    address = offset_address(emitter, address, member.lane * cluster.width)
    multiple = layout.alignment_in_cluster(owner, place.name)
    assert multiple is not None
    return Place(place.type, address, None, role, multiple=multiple)


def _locate_neighbour(emitter: FunctionEmitter, place: tree.ElementPlace, neighbour: int) -> Place:
    array = emitter.evaluate(place.array)
    index = emit_group_start(emitter, emitter.evaluate(place.index))
    builder, size = emitter.builder, emitter.program.layout.dtype(place.type).itemsize
    # As with the index, the mask changes nothing.
    base = builder.and_(builder.extract_value(array, 0), integer(-_GROUP_ALIGNMENT))
    origin = builder.add(base, builder.mul(index, integer(size)))
    address = integer(neighbour * size)
    return Place(place.type, address, None, element_role(place.type), origin=origin)


def _locate_element(emitter: FunctionEmitter, place: tree.ElementPlace) -> Place:
    if place.neighbour is not None:
        return _locate_neighbour(emitter, place, place.neighbour)
    array = emitter.evaluate(place.array)
    index = emitter.evaluate(place.index)
    base = emitter.builder.extract_value(array, 0)
    length = emitter.builder.extract_value(array, 1)
    return _indexed(
        emitter, place, Place(place.type, base, None, element_role(place.type)), index, length
    )


def _element_of_run(emitter: FunctionEmitter, place: tree.ElementPlace, form: RunForm) -> ir.Value:
    array = emitter.evaluate(place.array)
    first, length = (emitter.builder.extract_value(array, part) for part in (0, 1))
    index = offset_address(emitter, emitter.evaluate(place.index), place.neighbour or 0)
    position, valid = _position(emitter, place, index, length)
    counted = not place.may_be_negative
    return guarded(
        emitter, valid, place.type, lambda: emit_reference(emitter, form, first, position, counted)
    )


def _locate_inline(emitter: FunctionEmitter, place: tree.InlinePlace) -> Place:
    inline = place.base.type
    if not isinstance(inline, InlineType):
        raise InternalError(f"{inline!r} is indexed as an inline array")
    base = locate(emitter, place.base)
    index = emitter.evaluate(place.index)
    element = replace(base, role=(*base.role, ANY))
    return _indexed(emitter, place, element, index, integer(inline.length))


def _locate_member(emitter: FunctionEmitter, place: tree.MemberPlace) -> Place:
    struct = place.base.type
    if not isinstance(struct, ValueType):
        raise InternalError(f"{struct!r} has no members in memory")
    return member(emitter, locate(emitter, place.base), place.name, place.type)


def _indexed(
    emitter: FunctionEmitter,
    place: tree.ElementPlace | tree.InlinePlace,
    base: Place,
    index: ir.Value,
    length: ir.Value,
) -> Place:
    position, valid = _position(emitter, place, index, length)
    if valid is not None and base.valid is not None:
        valid = emitter.builder.and_(base.valid, valid)
    size = emitter.program.layout.dtype(place.type).itemsize
    distance = integer(size * base.scale)
    address = emitter.builder.add(base.address, emitter.builder.mul(position, distance))
    multiple = math.gcd(base.multiple, size)
    subject = position if base.subject is None else base.subject
    return replace(
        base, type=place.type, address=address, valid=valid, multiple=multiple, subject=subject
    )


def _position(
    emitter: FunctionEmitter,
    place: tree.ElementPlace | tree.InlinePlace,
    index: ir.Value,
    length: ir.Value,
) -> tuple[ir.Value, ir.Value | None]:
    """The index counted from the front, and whether it is inside (debug)."""
    builder = emitter.builder
    position = index
    if place.may_be_negative:
        from_end = builder.add(index, length)
        is_negative = builder.icmp_signed("<", index, integer(0))
        position = builder.select(is_negative, from_end, index)
    return position, checks.index_is_valid(emitter, position, length, index, place.location)
