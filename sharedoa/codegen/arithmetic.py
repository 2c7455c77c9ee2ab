"""Operators and conversions of scalars: which instructions each operation becomes."""

from __future__ import annotations

from llvmlite import ir

from ..errors import InternalError
from ..ir.core import Operation, type_of
from ..ir.core import Type as AnyType
from ..model.scalars import ScalarType
from ..model.types import ArrayType, NullType, ReferenceType
from . import checks
from .emitter import FunctionEmitter, emits, integer, require_type
from .floats import emit_float
from .integers import emit_integer, emit_magnitude
from .types import llvm_type

_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_IDENTITY = {"is": "==", "is_not": "!="}


@emits("unary")
def _unary(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    (value,), operator = emitter.values(operation.operands), operation["operator"]
    type = _scalar(operation.operands[0].type)
    builder = emitter.builder
    if type.kind == "bool":
        if operator in ("not", "invert"):
            return builder.not_(value)
    elif type.is_float:
        if operator == "neg":
            return builder.fneg(value)
        if operator == "abs":
            return emitter.program.target.emit_math(builder, "fabs", [value])
    elif operator == "neg":
        return builder.neg(value)
    elif operator == "invert":
        return builder.not_(value)
    elif operator == "abs":
        return emit_magnitude(builder, type, value)
    raise InternalError(f"no operator {operator} of {type!r}")


@emits("binary")
def _binary(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    left, right = emitter.values(operation.operands)
    type, operator = _scalar(operation.result.type), operation["operator"]
    builder = emitter.builder
    if type.is_float:
        program = emitter.program
        return emit_float(builder, program.target, operator, left, right, program.fastmath)
    if type.kind == "bool":
        if operator not in ("and", "or", "xor"):
            raise InternalError(f"no operator {operator} of bools")
    elif operator in ("floordiv", "mod"):
        checks.check_divisor(emitter, right, operation.location)
    elif operator == "pow" and type.kind == "int":
        checks.check_exponent(emitter, right, operation.location)
    return emit_integer(builder, operator, type, left, right)


@emits("compare")
def _compare(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    left, right = emitter.values(operation.operands)
    builder, type, operator = emitter.builder, operation.operands[0].type, operation["operator"]
    symbol = _IDENTITY.get(operator) or _SYMBOLS[operator]
    if not isinstance(type, ScalarType):
        if isinstance(type, (ReferenceType, NullType)) and symbol in ("==", "!="):
            return builder.icmp_unsigned(symbol, left, right)
        raise InternalError(f"{type!r} cannot be compared by {operator}")
    if type.is_float:
        # A NaN differs from everything, itself too; every other comparison with it is false.
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
    else:
        compare = builder.icmp_signed if type.kind == "int" else builder.icmp_unsigned
    return compare(symbol, left, right)


@emits("truth")
def _truth(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    (value,), type = emitter.values(operation.operands), operation.operands[0].type
    if isinstance(type, ArrayType):
        value = emitter.builder.extract_value(value, 1)
    if isinstance(type, (ReferenceType, ArrayType, NullType)):
        return emitter.builder.icmp_unsigned("!=", value, integer(0))
    return _to_bool(emitter.builder, _scalar(type), value)


@emits("convert")
def _convert(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    (given,), type = operation.operands, operation.result.type
    value = emitter.value(given)
    if isinstance(type, ScalarType):
        return convert(emitter.builder, _scalar(given.type), type, value)
    require_type(value, type_of(operation.result))
    member = emitter.members.get(given)
    if member is not None:
        emitter.members[operation.result] = member
    return value


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


def _scalar(type: AnyType) -> ScalarType:
    if not isinstance(type, ScalarType):
        raise InternalError(f"{type!r} is not a scalar")
    return type
