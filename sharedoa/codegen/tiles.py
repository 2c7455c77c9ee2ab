"""Memory that the threads of a block share: a variable of the module, in the target's own space."""

from __future__ import annotations

from llvmlite import ir

from ..errors import CompileError, Diagnostic
from ..ir.core import Operation, element_of
from ..ir.roles import tile_role
from ..model.types import InlineType
from .emitter import FunctionEmitter, emits
from .memory import Lvalue
from .types import I8, I64

MOST_BYTES = 48 << 10
"""Of all tiles of a kernel: what a block of any GPU has without being asked."""
_ALIGNMENT = 16
_NAME = "sharedoa_tile_"


@emits("tile")
def _tile(emitter: FunctionEmitter, operation: Operation) -> Lvalue:
    program, type = emitter.program, element_of(operation.result)
    assert isinstance(type, InlineType)
    program.uses_barrier = True  # threads run by blocks
    size = type.length * program.layout.dtype(type.element).itemsize
    space = program.target.shared_space
    name = f"{_NAME}{operation['number']}"
    found = program.module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(program.module, ir.ArrayType(I8, size), name, space)
        found.linkage, found.align = "internal", _ALIGNMENT
        found.initializer = ir.Constant(found.value_type, ir.Undefined)
        _refuse_too_much(program.module, operation)
    address = emitter.builder.ptrtoint(found, I64)
    return Lvalue(type, address, None, tile_role(operation), multiple=_ALIGNMENT, space=space)


def _refuse_too_much(module: ir.Module, operation: Operation) -> None:
    tiles = [each for name, each in module.globals.items() if name.startswith(_NAME)]
    total = sum(each.value_type.count for each in tiles)
    if total > MOST_BYTES:
        message = f"the shared memory of this kernel is {total} bytes, and blocks have {MOST_BYTES}"
        help = "share fewer elements, or smaller ones"
        raise CompileError([Diagnostic(message, operation.location, help)])
