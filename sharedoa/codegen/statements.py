"""Returns, assertions, prints, barriers."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..errors import InternalError
from ..ir.core import Operation, Value, type_of
from ..ir.core import Type as AnyType
from ..model.scalars import ScalarType, i64, u64
from ..targets.base import Formatted, PrintPiece, Unsigned
from . import checks
from .arithmetic import convert
from .emitter import FunctionEmitter, emits
from .types import I32, I64


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
    test, *values = emitter.values(operation.operands)
    types = [value.type for value in operation.operands[1:]]
    text, words = _template(emitter.builder, operation["message"], values, types)
    checks.check_assertion(emitter, test, text, words, operation.location)


@emits("require")
def _require(emitter: FunctionEmitter, operation: Operation) -> None:
    (operand,) = operation.operands
    checks.check_reference(emitter, emitter.value(operand), type_of(operand), operation.location)


@emits("print")
def _print(emitter: FunctionEmitter, operation: Operation) -> None:
    values = iter(operation.operands)
    pieces: list[PrintPiece] = []
    for item in operation["items"]:
        if not isinstance(item, str):
            printable = _printable(emitter, next(values))
            pieces.append(printable if item is None else Formatted(printable, item[0]))
        else:
            pieces.append(item)
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


@emits("fence")
def _fence(emitter: FunctionEmitter, operation: Operation) -> None:
    emitter.builder.fence("acq_rel", emitter.program.target.device_scope)


def _printable(emitter: FunctionEmitter, item: Value) -> PrintPiece:
    value, type = emitter.value(item), item.type
    if not isinstance(type, ScalarType):
        raise InternalError(f"a value of type {type!r} is printed")
    if type.kind == "bool":
        return value
    if type.kind == "uint":
        return Unsigned(convert(emitter.builder, type, u64, value))
    return value if type.is_float else convert(emitter.builder, type, i64, value)


def _template(
    builder: ir.IRBuilder,
    message: Sequence[str | tuple[str] | None],
    values: Sequence[ir.Value],
    types: Sequence[AnyType],
) -> tuple[str, list[ir.Value]]:
    """What an assertion says as text for ``str.format``, and the words of the record that it takes
    them from, by what they are (``runtime/device_errors.Word``)."""
    text, words = "", list[ir.Value]()
    for part in message:
        if isinstance(part, str):
            text += part.replace("{", "{{").replace("}", "}}")
            continue
        place = len(words)
        value, type = values[place], types[place]
        assert isinstance(type, ScalarType)
        if type.is_float:
            wide = builder.bitcast(value, I32 if type.bits == 32 else I64)
            words.append(builder.zext(wide, I64))
        else:
            words.append(convert(builder, type, u64 if type.kind == "uint" else i64, value))
        text += f"{{{place}.{type.kind}{type.bits if type.is_float else ''}"
        text += f":{part[0]}}}" if part else "}"
    return text, words
