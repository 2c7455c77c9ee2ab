"""Operations that are neither arithmetic nor calls nor memory: constants, choices, compounds."""

from __future__ import annotations

from llvmlite import ir

from ..errors import InternalError
from ..ir.core import Operation, type_of
from ..model.field_address import ROW_BYTES
from ..model.types import ValueType
from .abi import build_struct
from .emitter import FunctionEmitter, emits, inverse_of
from .floats import emit_float
from .types import I8, I64, llvm_type, zero


@emits("constant")
def _constant(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    type, value = llvm_type(type_of(operation.result)), operation["value"]
    is_float = isinstance(type, (ir.FloatType, ir.DoubleType))
    return ir.Constant(type, float(value) if is_float else int(value))


@emits("zero")
def _zero(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    return zero(llvm_type(type_of(operation.result)))


@emits("nothing")
def _nothing(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    program, size = emitter.program, operation["bytes"]
    name = f"sharedoa_nothing_{size}"
    found = program.module.globals.get(name)
    if found is None:
        type = ir.ArrayType(I8, size)
        found = ir.GlobalVariable(program.module, type, name, program.target.object_space)
        found.linkage, found.global_constant, found.initializer = "internal", True, zero(type)
        found.align = ROW_BYTES  # as of tiles
    address, space = emitter.builder.ptrtoint(found, I64), program.target.constant_space
    return program.encoding.emit_from_origin(emitter.builder, address, space)


@emits("anything")
def _anything(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    return ir.FormattedConstant(llvm_type(type_of(operation.result)), "poison")


@emits("opaque")
def _opaque(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    value, warp = emitter.value(operation.operands[0]), emitter.program.target.warp
    return value if warp is None else warp.opaque(emitter.builder, value)


@emits("together")
def _together(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    first, *others = emitter.values(operation.operands)
    warp = emitter.program.target.warp
    return first if warp is None else warp.together(emitter.builder, first, others)


@emits("select")
def _select(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    test, then, otherwise = emitter.values(operation.operands)
    inverse = inverse_of(emitter.builder, test)
    if inverse is not None:
        return emitter.builder.select(inverse, otherwise, then)
    return emitter.builder.select(test, then, otherwise)


@emits("length")
def _length(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    return emitter.builder.extract_value(emitter.value(operation.operands[0]), 1)


@emits("make_value", "make_tuple", "make_inline")
def _make(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    parts = emitter.values(operation.operands)
    return build_struct(emitter.builder, llvm_type(type_of(operation.result)), parts)


@emits("value_field")
def _value_field(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    (value,) = operation.operands
    if not isinstance(value.type, ValueType):
        raise InternalError(f"{value.type!r} has no field {operation['name']}")
    index = list(value.type.fields).index(operation["name"])
    return emitter.builder.extract_value(emitter.value(value), index)


@emits("tuple_item")
def _tuple_item(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    value = emitter.value(operation.operands[0])
    return emitter.builder.extract_value(value, operation["index"])


@emits("math")
def _math(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    arguments = emitter.values(operation.operands)
    program, builder = emitter.program, emitter.builder
    if operation["name"] == "pow":
        base, exponent = arguments
        return emit_float(builder, program.target, "pow", base, exponent, program.fastmath)
    return program.target.emit_math(builder, operation["name"], arguments, program.fastmath)


@emits("thread_index")
def _thread_index(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    return _thread_value(emitter, operation["axis"])


@emits("grid_size")
def _grid_size(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    return _thread_value(emitter, 2 + operation["axis"])


def _thread_value(emitter: FunctionEmitter, position: int) -> ir.Value:
    if not emitter.thread:
        raise InternalError("the thread's index is read outside the kernel")
    return emitter.thread[position]
