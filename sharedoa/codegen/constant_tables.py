"""Constant tables: variables of the module that nobody writes, and reading their elements."""

from __future__ import annotations

import hashlib

from llvmlite import ir

from ..ir.core import Operation, type_of
from ..model.constant_table import ConstantTable
from ..model.scalars import boolean
from . import checks
from .emitter import FunctionEmitter, ProgramEmitter, emits, integer
from .lvalues import guarded
from .types import I1, I8, llvm_type

_ALIGNMENT = 16


@emits("table_element")
def _table_element(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    table: ConstantTable = operation["table"]
    builder, valid, flat = emitter.builder, None, integer(0)
    operands = zip(operation.operands, table.shape, operation["may_be_negative"], strict=True)
    for operand, length, wraps in operands:
        index = position = emitter.value(operand)
        if wraps:
            negative = builder.icmp_signed("<", index, integer(0))
            position = builder.select(negative, builder.add(index, integer(length)), index)
        inside = checks.index_is_valid(
            emitter, position, integer(length), index, operation.location
        )
        if inside is not None:
            valid = inside if valid is None else builder.and_(valid, inside)
        flat = builder.add(builder.mul(flat, integer(length)), position)
    type = type_of(operation.result)
    return guarded(emitter, valid, type, lambda: _read(emitter, table, flat))


def _read(emitter: FunctionEmitter, table: ConstantTable, flat: ir.Value) -> ir.Value:
    builder, type = emitter.builder, llvm_type(table.element)
    stored = I8 if table.element == boolean else type
    variable = _variable(emitter.program, table)
    # LLVM knows that these memory never changes: threads that run in step read it past caches of
    # what does.
    size = table.element.dtype.itemsize
    pointer = builder.gep(variable, [flat], inbounds=True, source_etype=stored)
    value = builder.load(pointer, align=size, typ=stored)
    value.set_metadata("invariant.load", emitter.program.module.add_metadata([]))
    return builder.trunc(value, I1) if table.element == boolean else value


def _variable(program: ProgramEmitter, table: ConstantTable) -> ir.Value:
    digest = hashlib.sha256(table.data).hexdigest()[:16]
    name = f"sharedoa_table_{digest}"
    found = program.module.globals.get(name)
    if found is None:
        data = ir.Constant(ir.ArrayType(I8, len(table.data)), bytearray(table.data))
        # Not in constant memory, where threads of a warp that read in different places take turns.
        space = program.target.object_space
        found = ir.GlobalVariable(program.module, data.type, name, addrspace=space)
        found.linkage, found.global_constant, found.initializer = "internal", True, data
        found.align = _ALIGNMENT
    return found
