"""Atomics: read, combine and write a lvalue as one step, relaxed as CUDA's are."""

from __future__ import annotations

from llvmlite import ir

from ..errors import CompileError, Diagnostic
from ..ir.core import Operation
from ..model.scalars import ScalarType
from ..model.types import ReferenceType, Type
from ..targets.base import as_integer
from ..targets.warp import Warp
from .combined_adds import emit_combined
from .emitter import FunctionEmitter, emits
from .lvalues import guarded
from .memory import Lvalue, check_stored, from_stored, scalar_pointer, to_stored
from .races import note_atomic
from .types import F32, F64

#: No fence: an atomic orders only the accesses to its own lvalue.
ORDERING = "monotonic"

_OPERATIONS = {
    "int": {"add": "add", "sub": "sub", "min": "min", "max": "max"},
    "uint": {"add": "add", "sub": "sub", "min": "umin", "max": "umax"},
    # Subtracting is adding the negated value; only addition exists in hardware.
    "float": {"add": "fadd", "sub": "fadd", "min": "fmin", "max": "fmax"},
}


@emits("atomic")
def _atomic(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    lvalue, *compare, value = emitter.values(operation.operands)
    operator = operation["operator"]
    _check(operator, lvalue.type, operation)
    warp = None if emitter.program.debug else emitter.program.target.warp

    def perform() -> ir.Value:
        check_stored(emitter, lvalue, value)
        if operator in ("exch", "cas"):
            return _replace(emitter, lvalue, value, compare[0] if compare else None)
        if operation.attributes.get("combined") and warp is not None:
            return _combine_in_warps(emitter, lvalue, value, warp)
        return _combine(emitter, lvalue, operator, value)

    return guarded(emitter, lvalue.valid, lvalue.type, perform)


def _check(operator: str, type: Type, operation: Operation) -> None:
    replaces = operator in ("exch", "cas")
    if isinstance(type, ScalarType) and (replaces or type.kind != "bool"):
        return
    if isinstance(type, ReferenceType) and replaces:
        return
    raise CompileError(
        [
            Diagnostic(
                f"atomic_{operator} cannot be applied to {type!r}",
                operation.location,
                "numbers take every atomic operation, bool and references exch and cas",
            )
        ]
    )


def _combine(emitter: FunctionEmitter, lvalue: Lvalue, operator: str, value: ir.Value) -> ir.Value:
    assert isinstance(lvalue.type, ScalarType)
    if lvalue.type.is_float and operator == "sub":
        value = emitter.builder.fneg(value)
    operation = _OPERATIONS[lvalue.type.kind][operator]
    pointer, align = scalar_pointer(emitter, lvalue)
    note_atomic(emitter, lvalue, pointer)
    builder = emitter.builder
    if _reads(emitter, operation, value):
        return builder.load_atomic(pointer, ORDERING, align, typ=value.type)
    return builder.atomic_rmw(operation, pointer, value, ORDERING)


def _reads(emitter: FunctionEmitter, operation: str, value: ir.Value) -> bool:
    """Whether an atomic changes nothing. Relaxed, it is the same as a read: a zero may be added as
    soon as what is read has been written. A GPU serves the reads of a warp together, and atomics
    one by one."""
    is_zero = isinstance(value, ir.Constant) and value.constant == 0
    return is_zero and operation in ("add", "sub") and emitter.program.target.is_device


def _combine_in_warps(
    emitter: FunctionEmitter, lvalue: Lvalue, value: ir.Value, warp: Warp
) -> ir.Value:
    """An addition whose result nobody looks at."""
    pointer, _ = scalar_pointer(emitter, lvalue)
    builder = emitter.builder
    emit_combined(
        emitter, warp, pointer, value, lambda v: builder.atomic_rmw("fadd", pointer, v, ORDERING)
    )
    return value


def _replace(
    emitter: FunctionEmitter, lvalue: Lvalue, value: ir.Value, compare: ir.Value | None
) -> ir.Value:
    """Exchange, if the lvalue holds the bits of ``compare`` or that is None."""
    pointer, _ = scalar_pointer(emitter, lvalue)
    note_atomic(emitter, lvalue, pointer)
    bits = _to_bits(emitter, lvalue.type, value)
    if compare is None:
        old = emitter.builder.atomic_rmw("xchg", pointer, bits, ORDERING)
    else:
        expected = _to_bits(emitter, lvalue.type, compare)
        swapped = emitter.builder.cmpxchg(pointer, expected, bits, ORDERING)
        old = emitter.builder.extract_value(swapped, 0)
    if value.type in (F32, F64):
        return emitter.builder.bitcast(old, value.type)
    return from_stored(emitter, lvalue.type, old)


def _to_bits(emitter: FunctionEmitter, type: Type, value: ir.Value) -> ir.Value:
    if value.type in (F32, F64):
        return as_integer(emitter.builder, value)
    return to_stored(emitter, type, value)
