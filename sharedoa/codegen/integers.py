"""Integer operators: total functions, equal to Python's where the result fits, wrapping elsewhere.

LLVM leaves division by zero, the one overflowing quotient and wide shifts undefined, and processors
trap or mask; every operand that could reach such a case is replaced before and the result chosen
after, as NumPy does (``npy_floor_div``, ``npy_lshift``).
"""

from __future__ import annotations

from llvmlite import ir

from ..errors import InternalError
from ..model.scalars import ScalarType
from ..targets.base import declare
from .types import I1


def emit_integer(
    builder: ir.IRBuilder, operator: str, type: ScalarType, left: ir.Value, right: ir.Value
) -> ir.Value:
    """``left operator right`` of an integer type; the operators of ``tree.BinaryOperator`` but
    ``truediv``."""
    if operator in ("floordiv", "mod"):
        divide = _signed_division if type.kind == "int" else _unsigned_division
        return divide(builder, operator, left, right)
    if operator in ("lshift", "rshift"):
        return _shift(builder, operator, type, left, right)
    if operator == "pow":
        return emit_power(builder, type, left, right)
    plain = {
        "add": builder.add,
        "sub": builder.sub,
        "mul": builder.mul,
        "and": builder.and_,
        "or": builder.or_,
        "xor": builder.xor,
    }
    if operator not in plain:
        raise InternalError(f"no integer operator {operator}")
    return plain[operator](left, right)


def emit_magnitude(builder: ir.IRBuilder, type: ScalarType, value: ir.Value) -> ir.Value:
    """``abs``; the smallest signed number stays itself."""
    if type.kind == "uint":
        return value
    is_negative = builder.icmp_signed("<", value, value.type(0))
    return builder.select(is_negative, builder.neg(value), value)


def _signed_division(
    builder: ir.IRBuilder, operator: str, left: ir.Value, right: ir.Value
) -> ir.Value:
    zero, one, minus_one = (left.type(number) for number in (0, 1, -1))
    by_zero = builder.icmp_signed("==", right, zero)
    by_minus_one = builder.icmp_signed("==", right, minus_one)
    divisor = builder.select(builder.or_(by_zero, by_minus_one), one, right)
    remainder = builder.srem(left, divisor)
    # Truncated and floored division differ where the remainder and the divisor differ in sign.
    is_exact = builder.icmp_signed("==", remainder, zero)
    signs_differ = builder.icmp_signed("<", builder.xor(remainder, divisor), zero)
    is_below = builder.and_(builder.not_(is_exact), signs_differ)
    if operator == "mod":
        # By 0 and by -1 it is 0, which is what dividing by 1 instead has given.
        return builder.add(remainder, builder.select(is_below, divisor, zero))
    quotient = builder.sdiv(left, divisor)
    quotient = builder.add(quotient, builder.select(is_below, minus_one, zero))
    quotient = builder.select(by_minus_one, builder.neg(left), quotient)
    return builder.select(by_zero, zero, quotient)


def _unsigned_division(
    builder: ir.IRBuilder, operator: str, left: ir.Value, right: ir.Value
) -> ir.Value:
    zero = left.type(0)
    by_zero = builder.icmp_unsigned("==", right, zero)
    divisor = builder.select(by_zero, left.type(1), right)
    if operator == "mod":
        return builder.urem(left, divisor)
    return builder.select(by_zero, zero, builder.udiv(left, divisor))


def _shift(
    builder: ir.IRBuilder, operator: str, type: ScalarType, left: ir.Value, right: ir.Value
) -> ir.Value:
    # Unsigned, so that a negative count is a wide one.
    if operator == "rshift" and type.kind == "int":
        return builder.ashr(left, _least(builder, right, right.type(type.bits - 1)))
    # What is shifted is chosen, not what was: LLVM 22 for NVIDIA takes the latter for the clamp
    # that PTX's shifts have, and gives these the lower half of a count of 64 bits alone.
    fits = builder.icmp_unsigned("<", right, right.type(type.bits))
    kept = builder.select(fits, left, left.type(0))
    shift = builder.shl if operator == "lshift" else builder.lshr
    return shift(kept, builder.and_(right, right.type(type.bits - 1)))


def _least(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
    """The smaller of two unsigned numbers."""
    width = left.type
    name = f"llvm.umin.i{width.width}"
    return builder.call(declare(builder.module, name, width, [width, width]), [left, right])


# ---------------------------------------------------------------------- power


def emit_power(
    builder: ir.IRBuilder, type: ScalarType, base: ir.Value, exponent: ir.Value
) -> ir.Value:
    """``base ** exponent`` by squaring; a negative exponent gives 0."""
    if isinstance(exponent, ir.Constant):
        return _constant_power(builder, base, int(exponent.constant))
    return builder.call(_power_function(builder.module, type), [base, exponent])


def _constant_power(builder: ir.IRBuilder, base: ir.Value, exponent: int) -> ir.Value:
    if exponent < 0:
        return base.type(0)
    result, square = base.type(1), base
    while exponent:
        if exponent & 1:
            result = square if result == base.type(1) else builder.mul(result, square)
        exponent >>= 1
        if exponent:
            square = builder.mul(square, square)
    return result


def _power_function(module: ir.Module, type: ScalarType) -> ir.Function:
    """The internal function ``(base, exponent) -> power`` of a type, made at its first use."""
    name = f"sharedoa_power_{type.kind}{type.bits}"
    found = module.globals.get(name)
    if found is None:
        width = ir.IntType(type.bits)
        found = ir.Function(module, ir.FunctionType(width, [width, width]), name)
        found.linkage = "internal"
        found.attributes.add("nounwind")
        _define_power(found, type)
    return found


def _define_power(function: ir.Function, type: ScalarType) -> None:
    base, exponent = function.args
    zero, one = base.type(0), base.type(1)
    entry, loop, step, end = (
        function.append_basic_block(name) for name in ("entry", "loop", "step", "end")
    )
    builder = ir.IRBuilder(entry)
    is_negative = I1(0)
    if type.kind == "int":
        is_negative = builder.icmp_signed("<", exponent, zero)
    builder.cbranch(is_negative, end, loop)

    builder.position_at_end(loop)
    result, square, left = (builder.phi(base.type, name) for name in ("result", "square", "left"))
    builder.cbranch(builder.icmp_unsigned("==", left, zero), end, step)

    builder.position_at_end(step)
    is_odd = builder.trunc(left, I1)
    next_result = builder.mul(result, builder.select(is_odd, square, one))
    next_square = builder.mul(square, square)
    next_left = builder.lshr(left, one)
    builder.branch(loop)
    for phi, first, following in (
        (result, one, next_result),
        (square, base, next_square),
        (left, exponent, next_left),
    ):
        phi.add_incoming(first, entry)
        phi.add_incoming(following, step)

    builder.position_at_end(end)
    answer = builder.phi(base.type)
    answer.add_incoming(zero, entry)
    answer.add_incoming(result, loop)
    builder.ret(answer)
