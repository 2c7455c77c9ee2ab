"""Places: the address of a field, an element or a member, and reading and writing there.

In debug mode an address carries whether it may be touched: a load from a place that failed its
check gives zero, a store to it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llvmlite import ir

from ..errors import InternalError
from ..frontend import tree
from ..model.layout import storage_dtype
from ..model.run_form import RunForm
from ..model.types import InlineType, Type, ValueType
from . import checks
from .emitter import FunctionEmitter, expression, integer, require_type, statement
from .memory import Place, load_value, member, store_value
from .roles import element_role, field_role
from .runs import emit_reference, run_of
from .types import llvm_type, zero


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
    program, builder, owner = emitter.program, emitter.builder, place.owner
    object_address = program.encoding.emit_address(builder, reference)
    address = program.layout.emit_field_address(builder, object_address, owner, place.name)
    tiled = program.layout.is_tiled(owner)
    return Place(place.type, address, valid, field_role(place), object_address if tiled else None)


def _locate_element(emitter: FunctionEmitter, place: tree.ElementPlace) -> Place:
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
    position, valid = _position(emitter, place, emitter.evaluate(place.index), length)
    return guarded(
        emitter, valid, place.type, lambda: emit_reference(emitter, form, first, position)
    )


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
    distance = integer(storage_dtype(place.type).itemsize * base.scale)
    address = emitter.builder.add(base.address, emitter.builder.mul(position, distance))
    return replace(base, type=place.type, address=address, valid=valid)


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
