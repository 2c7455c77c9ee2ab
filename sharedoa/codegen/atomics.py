"""Atomics: read, combine and write a place as one step, relaxed as CUDA's are."""

from __future__ import annotations

from llvmlite import ir

from ..errors import CompileError, Diagnostic
from ..frontend import tree
from ..model.scalars import ScalarType
from ..model.types import ReferenceType, Type
from .emitter import FunctionEmitter, expression
from .memory import Place, check_stored, from_stored, scalar_pointer, to_stored
from .places import guarded, locate
from .races import note_atomic
from .types import F32, F64, I32, I64

#: No fence: an atomic orders only the accesses to its own place.
ORDERING = "monotonic"

_OPERATIONS = {
    "int": {"add": "add", "sub": "sub", "min": "min", "max": "max"},
    "uint": {"add": "add", "sub": "sub", "min": "umin", "max": "umax"},
    # Subtracting is adding the negated value; only addition exists in hardware.
    "float": {"add": "fadd", "sub": "fadd", "min": "fmin", "max": "fmax"},
}


@expression(tree.Atomic)
def _atomic(emitter: FunctionEmitter, node: tree.Atomic) -> ir.Value:
    _check(node)
    place = locate(emitter, node.place)
    # The call names what to compare with first.
    compare = None if node.compare is None else emitter.evaluate(node.compare)
    value = emitter.evaluate(node.value)

    def perform() -> ir.Value:
        check_stored(emitter, place, value)
        if node.operator in ("exch", "cas"):
            return _replace(emitter, place, value, compare)
        return _combine(emitter, place, node.operator, value)

    return guarded(emitter, place.valid, place.type, perform)


def _check(node: tree.Atomic) -> None:
    type = node.place.type
    replaces = node.operator in ("exch", "cas")
    if isinstance(type, ScalarType) and (replaces or type.kind != "bool"):
        return
    if isinstance(type, ReferenceType) and replaces:
        return
    raise CompileError(
        [
            Diagnostic(
                f"atomic_{node.operator} cannot be applied to {type!r}",
                node.location,
                "numbers take every atomic operation, bool and references exch and cas",
            )
        ]
    )


def _combine(emitter: FunctionEmitter, place: Place, operator: str, value: ir.Value) -> ir.Value:
    assert isinstance(place.type, ScalarType)
    if place.type.is_float and operator == "sub":
        value = emitter.builder.fneg(value)
    operation = _OPERATIONS[place.type.kind][operator]
    pointer, _ = scalar_pointer(emitter, place)
    note_atomic(emitter, place, pointer)
    return emitter.builder.atomic_rmw(operation, pointer, value, ORDERING)


def _replace(
    emitter: FunctionEmitter, place: Place, value: ir.Value, compare: ir.Value | None
) -> ir.Value:
    """Exchange, if the place holds the bits of ``compare`` or that is None."""
    pointer, _ = scalar_pointer(emitter, place)
    note_atomic(emitter, place, pointer)
    bits = _to_bits(emitter, place.type, value)
    if compare is None:
        old = emitter.builder.atomic_rmw("xchg", pointer, bits, ORDERING)
    else:
        expected = _to_bits(emitter, place.type, compare)
        swapped = emitter.builder.cmpxchg(pointer, expected, bits, ORDERING)
        old = emitter.builder.extract_value(swapped, 0)
    if value.type in (F32, F64):
        return emitter.builder.bitcast(old, value.type)
    return from_stored(emitter, place.type, old)


def _to_bits(emitter: FunctionEmitter, type: Type, value: ir.Value) -> ir.Value:
    if value.type in (F32, F64):
        return emitter.builder.bitcast(value, I32 if value.type == F32 else I64)
    return to_stored(emitter, type, value)
