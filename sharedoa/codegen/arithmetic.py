"""Operators and conversions of scalars: which instruction each typed node becomes."""

from __future__ import annotations

from llvmlite import ir

from ..errors import InternalError
from ..frontend import tree
from ..model.scalars import ScalarType, f32
from ..model.types import ArrayType, NullType, ReferenceType, Type
from . import checks
from .emitter import FunctionEmitter, expression, integer, require_type
from .floats import emit_float
from .integers import emit_integer, emit_magnitude
from .types import llvm_type

_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_IDENTITY = {"is": "==", "is_not": "!="}


@expression(tree.Unary)
def _unary(emitter: FunctionEmitter, node: tree.Unary) -> ir.Value:
    value = emitter.evaluate(node.operand)
    type = _scalar(node.operand.type)
    builder = emitter.builder
    if type.kind == "bool":
        if node.operator in ("not", "invert"):
            return builder.not_(value)
    elif type.is_float:
        if node.operator == "neg":
            return builder.fneg(value)
        if node.operator == "abs":
            return emitter.program.target.emit_math(builder, "fabs", [value])
    elif node.operator == "neg":
        return builder.neg(value)
    elif node.operator == "invert":
        return builder.not_(value)
    elif node.operator == "abs":
        return emit_magnitude(builder, type, value)
    raise InternalError(f"no operator {node.operator} of {type!r}")


@expression(tree.Binary)
def _binary(emitter: FunctionEmitter, node: tree.Binary) -> ir.Value:
    left = emitter.evaluate(node.left)
    right = emitter.evaluate(node.right)
    type = _scalar(node.type)
    builder = emitter.builder
    if type.is_float:
        program = emitter.program
        return emit_float(builder, program.target, node.operator, left, right, program.fastmath)
    if type.kind == "bool":
        if node.operator not in ("and", "or", "xor"):
            raise InternalError(f"no operator {node.operator} of bools")
    elif node.operator in ("floordiv", "mod"):
        checks.check_divisor(emitter, right, node.location)
    elif node.operator == "pow" and type.kind == "int":
        checks.check_exponent(emitter, right, node.location)
    return emit_integer(builder, node.operator, type, left, right)


@expression(tree.Compare)
def _compare(emitter: FunctionEmitter, node: tree.Compare) -> ir.Value:
    left = emitter.evaluate(node.left)
    right = emitter.evaluate(node.right)
    builder, type = emitter.builder, node.left.type
    symbol = _IDENTITY.get(node.operator) or _SYMBOLS[node.operator]
    if not isinstance(type, ScalarType):
        if isinstance(type, (ReferenceType, NullType)) and symbol in ("==", "!="):
            return builder.icmp_unsigned(symbol, left, right)
        raise InternalError(f"{type!r} cannot be compared by {node.operator}")
    if type.is_float:
        # A NaN differs from everything, itself too; every other comparison with it is false.
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
    else:
        compare = builder.icmp_signed if type.kind == "int" else builder.icmp_unsigned
    return compare(symbol, left, right)


@expression(tree.Truth)
def _truth(emitter: FunctionEmitter, node: tree.Truth) -> ir.Value:
    value, type = emitter.evaluate(node.value), node.value.type
    if isinstance(type, ArrayType):
        value = emitter.builder.extract_value(value, 1)
    if isinstance(type, (ReferenceType, ArrayType, NullType)):
        return emitter.builder.icmp_unsigned("!=", value, integer(0))
    return _to_bool(emitter.builder, _scalar(type), value)


@expression(tree.Convert)
def _convert(emitter: FunctionEmitter, node: tree.Convert) -> ir.Value:
    narrow = _square_root_of_f32(node)
    if narrow is not None:
        program, arguments = emitter.program, [emitter.evaluate(narrow)]
        return program.target.emit_math(emitter.builder, "sqrt", arguments, program.fastmath)
    value = emitter.evaluate(node.value)
    if isinstance(node.type, ScalarType):
        return convert(emitter.builder, _scalar(node.value.type), node.type, value)
    require_type(value, node.type)
    return value


def _square_root_of_f32(node: tree.Convert) -> tree.Expression | None:
    """x where ``node`` is ``f32(math.sqrt(x))`` of an f32: the root rounded to f64 and then to f32
    is the root rounded to f32, as f64 has more than twice the digits (Figueroa 1995). Other
    operations are narrowed by LLVM."""
    root = node.value
    if node.type == f32 and isinstance(root, tree.MathCall) and root.name == "sqrt":
        (argument,) = root.arguments
        if isinstance(argument, tree.Convert) and argument.value.type == f32:
            return argument.value
    return None


def convert(
    builder: ir.IRBuilder, source: ScalarType, target: ScalarType, value: ir.Value
) -> ir.Value:
    """Scalar to scalar as ``ScalarType.__call__`` does on the host."""
    result = llvm_type(target)
    if target.kind == "bool":
        return _to_bool(builder, source, value)
    if source.is_float:
        return _float_to_number(builder, source, target, value)
    if target.is_float:
        to_float = builder.sitofp if source.kind == "int" else builder.uitofp
        return to_float(value, result)
    if result.width <= value.type.width:
        return value if result == value.type else builder.trunc(value, result)
    widen = builder.sext if source.kind == "int" else builder.zext
    return widen(value, result)


def _to_bool(builder: ir.IRBuilder, source: ScalarType, value: ir.Value) -> ir.Value:
    if source.kind == "bool":
        return value
    if source.is_float:
        return builder.fcmp_unordered("!=", value, value.type(0.0))
    return builder.icmp_unsigned("!=", value, value.type(0))


def _float_to_number(
    builder: ir.IRBuilder, source: ScalarType, target: ScalarType, value: ir.Value
) -> ir.Value:
    result = llvm_type(target)
    if target.is_float:
        if source.bits == target.bits:
            return value
        resize = builder.fpext if target.bits > source.bits else builder.fptrunc
        return resize(value, result)
    # The plain fptosi is poison out of range; this one saturates and gives 0 for NaN.
    sign = "s" if target.kind == "int" else "u"
    saturating = builder.module.declare_intrinsic(
        f"llvm.fpto{sign}i.sat", [result, value.type], ir.FunctionType(result, [value.type])
    )
    return builder.call(saturating, [value])


def _scalar(type: Type) -> ScalarType:
    if not isinstance(type, ScalarType):
        raise InternalError(f"{type!r} is not a scalar")
    return type
