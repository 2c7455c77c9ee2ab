"""Lists: memory of the thread's own, on its stack. LLVM keeps elements whose indices it knows in
registers."""

from __future__ import annotations

from llvmlite import ir

from ..errors import CompileError, Diagnostic
from ..ir.core import Operation, element_of, type_of
from ..ir.roles import list_role
from ..model.types import ListType
from .abi import build_struct
from .emitter import FunctionEmitter, emits, integer
from .lvalues import emit_position
from .memory import Lvalue, store_value
from .types import I64, LIST

MOST_BYTES = 16 << 10
"""Of one list: threads have small stacks, and GPUs many threads."""
_MOST_UNROLLED = 64
"""Elements that are stored one by one when a list is made, so that they may be registers."""


@emits("list")
def _list(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    items, type = emitter.values(operation.operands), type_of(operation.result)
    assert isinstance(type, ListType)
    size = emitter.program.layout.dtype(type.element).itemsize
    count = len(items) * operation["repeat"]
    if count * size > MOST_BYTES:
        message = f"a list of {count} elements has {count * size} bytes, and {MOST_BYTES} are most"
        help = "for more pass an oa.Array, with a part for each thread"
        raise CompileError([Diagnostic(message, operation.location, help)])
    pointer = emitter.room(-(-count * size // 8), "list")
    whole = Lvalue(type.element, integer(0), None, list_role(type.element), stack=pointer)

    def fill(first: ir.Value) -> None:
        for number, item in enumerate(items):
            place = emitter.builder.add(first, integer(number * size))
            store_value(emitter, _at(whole, place), item)

    if count <= _MOST_UNROLLED:
        for first in range(0, count * size, len(items) * size):
            fill(integer(first))
    else:
        emitter.count(integer(count * size), integer(len(items) * size), fill)
    return build_struct(emitter.builder, LIST, [pointer, integer(count)])


def _at(whole: Lvalue, distance: ir.Value) -> Lvalue:
    return Lvalue(whole.type, distance, None, whole.role, stack=whole.stack)


@emits("list_element")
def _element(emitter: FunctionEmitter, operation: Operation) -> Lvalue:
    array, index = emitter.values(operation.operands)
    builder, type = emitter.builder, element_of(operation.result)
    pointer, length = (builder.extract_value(array, part) for part in (0, 1))
    wraps, location = operation["may_be_negative"], operation.location
    position, valid = emit_position(emitter, index, length, wraps, location)
    size = emitter.program.layout.dtype(type).itemsize
    distance = builder.mul(position, integer(size, I64))
    noted = location if emitter.program.debug else None
    return Lvalue(
        type, distance, valid, list_role(type), stack=pointer, location=noted, subject=position
    )
