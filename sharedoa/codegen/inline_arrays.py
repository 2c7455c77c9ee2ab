"""Elements of inline arrays that are values and no memory."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..errors import InternalError
from ..ir.core import Operation, type_of
from ..model.types import InlineType
from .emitter import FunctionEmitter, emits, integer
from .lvalues import emit_position, guarded

_MOST_SELECTED = 4
"""Elements that an index chooses from in registers; more are chosen in memory."""


@emits("inline_item")
def _inline_item(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    array, *indices = emitter.values(operation.operands)
    type = operation.operands[0].type
    if not isinstance(type, InlineType):
        raise InternalError(f"{type!r} is indexed as an inline array")
    positions, valid = [], None
    for index, length, wraps in zip(indices, type.shape, operation["may_be_negative"], strict=True):
        position, inside = emit_position(emitter, index, integer(length), wraps, operation.location)
        positions.append(position)
        if inside is not None:
            valid = inside if valid is None else emitter.builder.and_(valid, inside)
    known = [_constant(position, n) for position, n in zip(positions, type.shape, strict=True)]
    if all(number is not None for number in known):
        return emitter.builder.extract_value(array, known)
    element = type_of(operation.result)
    return guarded(emitter, valid, element, lambda: _chosen(emitter, array, positions))


def _constant(position: ir.Value, length: int) -> int | None:
    """The element that a position, which may be computed from constants, is known to be."""
    number = getattr(position, "constant", None)
    return number if isinstance(number, int) and 0 <= number < length else None


def _chosen(emitter: FunctionEmitter, array: ir.Value, positions: Sequence[ir.Value]) -> ir.Value:
    builder = emitter.builder
    if len(positions) == 1 and array.type.count <= _MOST_SELECTED:
        found = builder.extract_value(array, array.type.count - 1)
        for number in reversed(range(array.type.count - 1)):
            is_this = builder.icmp_unsigned("==", positions[0], integer(number))
            found = builder.select(is_this, builder.extract_value(array, number), found)
        return found
    slot = emitter.in_slot(array)
    place = builder.gep(slot, [integer(0), *positions], source_etype=array.type)
    element = array.type
    for _ in positions:
        element = element.element
    return builder.load(place, typ=element)
