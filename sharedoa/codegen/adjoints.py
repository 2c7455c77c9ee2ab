"""What gradients need of memory: the places of adjoints, and the words of a thread's tape."""

from __future__ import annotations

from collections.abc import Iterator

from llvmlite import ir

from dispatch.dataclass import replace

from ..ir.core import Operation, type_of
from ..targets.base import as_word
from .abi import build_struct
from .emitter import FunctionEmitter, emits, integer
from .memory import Lvalue, pointer_to
from .types import F32, F64, I32, I64, llvm_type

_WORD_BYTES = 8


@emits("shadow")
def _shadow(emitter: FunctionEmitter, operation: Operation) -> Lvalue:
    """The same place, so many bytes further; the distance is a multiple of any alignment."""
    lvalue: Lvalue
    lvalue, distance = emitter.values(operation.operands)
    builder = emitter.builder
    if lvalue.origin is not None:
        return replace(lvalue, origin=builder.add(lvalue.origin, distance))
    # The lane of an object in tiles is that of its own address.
    return replace(lvalue, address=builder.add(lvalue.address, distance))


@emits("frame_write")
def _frame_write(emitter: FunctionEmitter, operation: Operation) -> None:
    tape, word, value = emitter.values(operation.operands)
    for number, leaf in enumerate(_leaves(emitter.builder, value)):
        pointer = _pointer(emitter, operation, tape, word, number)
        emitter.builder.store(as_word(emitter.builder, leaf), pointer, align=_WORD_BYTES)


@emits("frame_read")
def _frame_read(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    tape, word = emitter.values(operation.operands)
    numbers = iter(range(1 << 32))

    def read(type: ir.Type) -> ir.Value:
        if isinstance(type, ir.Aggregate):
            parts = [read(type.gep(integer(n, I32))) for n in range(len(type))]
            return build_struct(emitter.builder, type, parts)
        pointer = _pointer(emitter, operation, tape, word, next(numbers))
        found = emitter.builder.load(pointer, align=_WORD_BYTES, typ=I64)
        return _from_word(emitter.builder, found, type)

    return read(llvm_type(type_of(operation.result)))


def _pointer(
    emitter: FunctionEmitter, operation: Operation, tape: ir.Value, word: ir.Value, number: int
) -> ir.Value:
    """Of a thread's word: words of one number lie side by side, those of ``lanes`` threads."""
    builder = emitter.builder
    distance = integer(_WORD_BYTES * operation["lanes"])
    row = builder.mul(builder.add(word, integer(number)), distance)
    return pointer_to(emitter, builder.add(builder.extract_value(tape, 0), row))


def _leaves(builder: ir.IRBuilder, value: ir.Value) -> Iterator[ir.Value]:
    if isinstance(value.type, ir.Aggregate):
        for number in range(len(value.type)):
            yield from _leaves(builder, builder.extract_value(value, number))
    else:
        yield value


def _from_word(builder: ir.IRBuilder, word: ir.Value, type: ir.Type) -> ir.Value:
    if type == F64:
        return builder.bitcast(word, F64)
    if type == F32:
        return builder.bitcast(builder.trunc(word, I32), F32)
    return word if type == I64 else builder.trunc(word, type)
