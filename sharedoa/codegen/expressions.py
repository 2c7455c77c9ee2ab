"""Expressions that are neither arithmetic nor calls nor memory: values, choices, compounds."""

from __future__ import annotations

from llvmlite import ir

from ..errors import InternalError
from ..frontend import tree
from ..model.types import ValueType
from .abi import build_struct
from .emitter import FALSE, TRUE, FunctionEmitter, expression
from .floats import emit_float
from .types import REFERENCE, llvm_type


@expression(tree.Constant)
def _constant(emitter: FunctionEmitter, node: tree.Constant) -> ir.Value:
    type = llvm_type(node.type)
    is_float = isinstance(type, (ir.FloatType, ir.DoubleType))
    return ir.Constant(type, float(node.value) if is_float else int(node.value))


@expression(tree.Null)
def _null(emitter: FunctionEmitter, node: tree.Null) -> ir.Value:
    return ir.Constant(REFERENCE, 0)


@expression(tree.Local)
def _local(emitter: FunctionEmitter, node: tree.Local) -> ir.Value:
    return emitter.read(node.variable)


@expression(tree.Let)
def _let(emitter: FunctionEmitter, node: tree.Let) -> ir.Value:
    emitter.bind(node.variable, emitter.evaluate(node.value))
    return emitter.evaluate(node.body)


@expression(tree.Logical)
def _logical(emitter: FunctionEmitter, node: tree.Logical) -> ir.Value:
    left = emitter.evaluate(node.left)

    def right() -> ir.Value:
        return emitter.evaluate(node.right)

    if node.operator == "and":
        return emitter.choose(left, right, lambda: FALSE, "and")
    return emitter.choose(left, lambda: TRUE, right, "or")


@expression(tree.Conditional)
def _conditional(emitter: FunctionEmitter, node: tree.Conditional) -> ir.Value:
    return emitter.choose(
        emitter.evaluate(node.test),
        lambda: emitter.evaluate(node.then),
        lambda: emitter.evaluate(node.otherwise),
        "conditional",
    )


@expression(tree.ArrayLength)
def _array_length(emitter: FunctionEmitter, node: tree.ArrayLength) -> ir.Value:
    return emitter.builder.extract_value(emitter.evaluate(node.array), 1)


@expression(tree.MakeValue)
def _make_value(emitter: FunctionEmitter, node: tree.MakeValue) -> ir.Value:
    parts = [emitter.evaluate(part) for part in node.fields]
    return build_struct(emitter.builder, llvm_type(node.type), parts)


@expression(tree.ValueField)
def _value_field(emitter: FunctionEmitter, node: tree.ValueField) -> ir.Value:
    struct = node.value.type
    if not isinstance(struct, ValueType):
        raise InternalError(f"{struct!r} has no field {node.name}")
    index = list(struct.fields).index(node.name)
    return emitter.builder.extract_value(emitter.evaluate(node.value), index)


@expression(tree.MakeTuple)
def _make_tuple(emitter: FunctionEmitter, node: tree.MakeTuple) -> ir.Value:
    parts = [emitter.evaluate(item) for item in node.items]
    return build_struct(emitter.builder, llvm_type(node.type), parts)


@expression(tree.TupleItem)
def _tuple_item(emitter: FunctionEmitter, node: tree.TupleItem) -> ir.Value:
    return emitter.builder.extract_value(emitter.evaluate(node.value), node.index)


@expression(tree.MathCall)
def _math_call(emitter: FunctionEmitter, node: tree.MathCall) -> ir.Value:
    arguments = [emitter.evaluate(argument) for argument in node.arguments]
    program, builder = emitter.program, emitter.builder
    if node.name == "pow":
        base, exponent = arguments
        return emit_float(builder, program.target, "pow", base, exponent, program.fastmath)
    return program.target.emit_math(builder, node.name, arguments, program.fastmath)


@expression(tree.ThreadIndex)
def _thread_index(emitter: FunctionEmitter, node: tree.ThreadIndex) -> ir.Value:
    return _thread_value(emitter, node.axis)


@expression(tree.GridSize)
def _grid_size(emitter: FunctionEmitter, node: tree.GridSize) -> ir.Value:
    return _thread_value(emitter, 2 + node.axis)


def _thread_value(emitter: FunctionEmitter, position: int) -> ir.Value:
    if not emitter.thread:
        raise InternalError("the thread's index is read outside the kernel")
    return emitter.thread[position]
