"""Returns, assertions, prints, barriers."""

from __future__ import annotations

from ..errors import InternalError
from ..ir.core import Operation, Value
from ..model.scalars import ScalarType, i64, u64
from ..targets.base import PrintPiece, Unsigned
from . import checks
from .arithmetic import convert
from .emitter import FunctionEmitter, emits
from .types import I64


@emits("return")
def _return(emitter: FunctionEmitter, operation: Operation) -> None:
    if operation.operands:
        emitter.builder.ret(emitter.value(operation.operands[0]))
    else:
        emitter.builder.ret_void()


@emits("unreachable")
def _unreachable(emitter: FunctionEmitter, operation: Operation) -> None:
    if not emitter.is_dead:
        emitter.builder.unreachable()


@emits("assert")
def _assert(emitter: FunctionEmitter, operation: Operation) -> None:
    (test,) = emitter.values(operation.operands)
    checks.check_assertion(emitter, test, operation["message"], operation.location)


@emits("print")
def _print(emitter: FunctionEmitter, operation: Operation) -> None:
    values = iter(operation.operands)
    pieces: list[PrintPiece] = []
    for position, item in enumerate(operation["items"]):
        if position:
            pieces.append(" ")
        pieces.append(_printable(emitter, next(values)) if item is None else item)
    emitter.program.target.emit_print(emitter.builder, [*pieces, operation["end"]])


@emits("barrier")
def _barrier(emitter: FunctionEmitter, operation: Operation) -> None:
    emitter.program.uses_barrier = True
    # LLVM must not move it, or the function around it, into or out of a divergent branch.
    emitter.llvm_function.attributes.add("convergent")
    target, builder = emitter.program.target, emitter.builder
    if not emitter.program.debug:
        target.emit_barrier(builder)
        return
    if emitter.barriers is None:
        emitter.barriers = emitter.slot(I64, "barriers")
    passed = builder.add(builder.load(emitter.barriers, typ=I64), I64(1))
    builder.store(passed, emitter.barriers)
    target.emit_barrier(builder)
    x, y, *_ = emitter.thread
    target.emit_debug_thread(builder, x, y, passed)


def _printable(emitter: FunctionEmitter, item: Value) -> PrintPiece:
    value, type = emitter.value(item), item.type
    if not isinstance(type, ScalarType):
        raise InternalError(f"a value of type {type!r} is printed")
    if type.kind == "bool":
        return value
    if type.kind == "uint":
        return Unsigned(convert(emitter.builder, type, u64, value))
    return value if type.is_float else convert(emitter.builder, type, i64, value)
