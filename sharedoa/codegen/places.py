"""Places: the address of a field, an element or a member, and reading and writing there.

In debug mode an address carries whether it may be touched: a load from a place that failed its
check gives zero, a store to it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ..errors import InternalError
from ..frontend import tree
from ..model.layout import storage_dtype
from ..model.types import InlineType, Type, ValueType
from . import checks
from .emitter import FunctionEmitter, expression, integer, require_type, statement
from .memory import load_value, member_offset, offset_address, store_value
from .types import llvm_type, zero


@dataclass(frozen=True)
class Place:
    """A typed address (i64). ``valid`` (i1) is None where nothing was checked."""

    type: Type
    address: ir.Value
    valid: ir.Value | None


def locate(emitter: FunctionEmitter, place: tree.Place) -> Place:
    """Evaluate the parts of a place, once and in order."""
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
    return guarded(
        emitter, place.valid, place.type, lambda: load_value(emitter, place.type, place.address)
    )


def write(emitter: FunctionEmitter, place: Place, value: ir.Value) -> None:
    require_type(value, place.type)

    def store() -> None:
        store_value(emitter, place.type, place.address, value)

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
    return read(emitter, locate(emitter, node.place))


@statement(tree.Store)
def _store(emitter: FunctionEmitter, node: tree.Store) -> None:
    value = emitter.evaluate(node.value)
    write(emitter, locate(emitter, node.place), value)


@statement(tree.AugmentedStore)
def _augmented_store(emitter: FunctionEmitter, node: tree.AugmentedStore) -> None:
    place = locate(emitter, node.place)
    emitter.bind(node.old, read(emitter, place))
    write(emitter, place, emitter.evaluate(node.value))


def _locate_field(emitter: FunctionEmitter, place: tree.FieldPlace) -> Place:
    reference = emitter.evaluate(place.object)
    valid = checks.reference_is_valid(emitter, reference, place.location)
    program = emitter.program
    address = program.encoding.emit_address(emitter.builder, reference)
    address = program.layout.emit_field_address(emitter.builder, address, place.owner, place.name)
    return Place(place.type, address, valid)


def _locate_element(emitter: FunctionEmitter, place: tree.ElementPlace) -> Place:
    array = emitter.evaluate(place.array)
    index = emitter.evaluate(place.index)
    base = emitter.builder.extract_value(array, 0)
    length = emitter.builder.extract_value(array, 1)
    return _indexed(emitter, place, Place(place.type, base, None), index, length)


def _locate_inline(emitter: FunctionEmitter, place: tree.InlinePlace) -> Place:
    inline = place.base.type
    if not isinstance(inline, InlineType):
        raise InternalError(f"{inline!r} is indexed as an inline array")
    base = locate(emitter, place.base)
    index = emitter.evaluate(place.index)
    return _indexed(emitter, place, base, index, integer(inline.length))


def _locate_member(emitter: FunctionEmitter, place: tree.MemberPlace) -> Place:
    struct = place.base.type
    if not isinstance(struct, ValueType):
        raise InternalError(f"{struct!r} has no members in memory")
    base = locate(emitter, place.base)
    offset = member_offset(struct, place.name)
    return Place(place.type, offset_address(emitter, base.address, offset), base.valid)


def _indexed(
    emitter: FunctionEmitter,
    place: tree.ElementPlace | tree.InlinePlace,
    base: Place,
    index: ir.Value,
    length: ir.Value,
) -> Place:
    builder = emitter.builder
    position = index
    if place.may_be_negative:
        from_end = builder.add(index, length)
        is_negative = builder.icmp_signed("<", index, integer(0))
        position = builder.select(is_negative, from_end, index)
    valid = checks.index_is_valid(emitter, position, length, index, place.location)
    if valid is not None and base.valid is not None:
        valid = emitter.builder.and_(base.valid, valid)
    size = integer(storage_dtype(place.type).itemsize)
    offset = emitter.builder.mul(position, size)
    return Place(place.type, emitter.builder.add(base.address, offset), valid)
