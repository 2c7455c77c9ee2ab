"""Arithmetic, comparisons and logic, with NumPy 2's promotion (NEP 50) made explicit."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, NoReturn

from ..model.scalars import ScalarType, boolean, f64, i64, promote, u64, weak_float, weak_int
from ..model.types import NullType, ReferenceType, Type
from . import tree
from .context import Context, join_types, may_wrap
from .conversions import coerce, constant, convert_scalar, is_nonnegative, weak_to_typed
from .held_values import HeldValues

BINARY: dict[type[ast.operator], tuple[tree.BinaryOperator, str, str]] = {
    ast.Add: ("add", "+", "add"),
    ast.Sub: ("sub", "-", "sub"),
    ast.Mult: ("mul", "*", "mul"),
    ast.Div: ("truediv", "/", "truediv"),
    ast.FloorDiv: ("floordiv", "//", "floordiv"),
    ast.Mod: ("mod", "%", "mod"),
    ast.Pow: ("pow", "**", "pow"),
    ast.LShift: ("lshift", "<<", "lshift"),
    ast.RShift: ("rshift", ">>", "rshift"),
    ast.BitAnd: ("and", "&", "and"),
    ast.BitOr: ("or", "|", "or"),
    ast.BitXor: ("xor", "^", "xor"),
}

COMPARE: dict[type[ast.cmpop], tuple[tree.CompareOperator, str]] = {
    ast.Eq: ("eq", "=="),
    ast.NotEq: ("ne", "!="),
    ast.Lt: ("lt", "<"),
    ast.LtE: ("le", "<="),
    ast.Gt: ("gt", ">"),
    ast.GtE: ("ge", ">="),
    ast.Is: ("is", "is"),
    ast.IsNot: ("is_not", "is not"),
}

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
    "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor,
}  # fmt: skip

_BITWISE = ("and", "or", "xor")
_SHIFTS = ("lshift", "rshift")


def binary(
    context: Context,
    name: tree.BinaryOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    """``left op right`` of scalars (operators of value structs are calls, made elsewhere)."""
    a, b = left.type, right.type
    if not (isinstance(a, ScalarType) and isinstance(b, ScalarType)):
        context.reject(
            node,
            f"{a!r} and {b!r} have no operator {name}",
            "operators work on numbers and on value structs that define them",
        )
    if isinstance(left, tree.Constant) and isinstance(right, tree.Constant) and _plain(a, b):
        return _fold_binary(context, name, left, right, node)
    target = _result_type(context, name, a, b, node)
    left = weak_to_typed(context, left, target, node)
    right = weak_to_typed(context, right, target, node)
    negative = isinstance(right, tree.Constant) and right.value < 0
    if name == "pow" and target.is_integer and negative:
        context.reject(node, "an integer to a negative power is no integer", "use a float base")
    return tree.Binary(target, context.locate(node), name, left, right)


def _plain(a: ScalarType, b: ScalarType) -> bool:
    return all(type.weak or type == boolean for type in (a, b))


def _fold_binary(
    context: Context,
    name: tree.BinaryOperator,
    left: tree.Constant,
    right: tree.Constant,
    node: ast.AST,
) -> tree.Constant:
    """Python's own numbers compute as Python does, before anything runs."""
    try:
        value = _FOLD[name](left.value, right.value)
    except (ArithmeticError, TypeError, ValueError) as error:
        context.reject(node, f"this constant cannot be computed: {error}", "correct the constant")
    if isinstance(value, complex):
        context.reject(node, "this constant is complex", "kernels compute with real numbers")
    kind = weak_int if isinstance(value, int) else weak_float
    if isinstance(value, bool):
        kind = boolean
    return constant(value, kind, context.locate(node))


def _result_type(
    context: Context, name: tree.BinaryOperator, a: ScalarType, b: ScalarType, node: ast.AST
) -> ScalarType:
    if a == boolean and b == boolean:
        if name in _BITWISE:
            return boolean
        _reject_arithmetic_of_bools(context, node)
    target = promote(a, b)
    if name in _BITWISE + _SHIFTS and not target.is_integer:
        context.reject(
            node,
            f"bit operations need integers of one signedness, not {a} and {b}",
            "convert with i64(...) or u64(...)",
        )
    if name == "truediv" and not target.is_float:
        return weak_float if target.weak else f64
    return target


def _reject_arithmetic_of_bools(context: Context, node: ast.AST) -> NoReturn:
    # Python's bools are ints, NumPy's are not, and in CPython comparisons give NumPy's.
    context.reject(
        node,
        "arithmetic of bools means one thing in Python and another in NumPy",
        "count with numbers: i32(a) + i32(b); combine conditions with and, or, not",
    )


def unary(
    context: Context, name: tree.UnaryOperator, value: tree.Expression, node: ast.AST
) -> tree.Expression:
    """``-x``, ``~x`` or ``abs(x)``."""
    if not isinstance(value.type, ScalarType):
        context.reject(node, f"{value.type!r} has no operator {name}", "use a number")
    if value.type == boolean:
        _reject_arithmetic_of_bools(context, node)
    if name == "invert" and not value.type.is_integer:
        context.reject(node, f"~ needs an integer, not {value.type}", "convert it first")
    if isinstance(value, tree.Constant) and value.type.weak:
        fold: dict[str, Callable[[Any], Any]] = {
            "neg": operator.neg, "invert": operator.invert, "abs": abs,
        }  # fmt: skip
        return constant(fold[name](value.value), value.type, context.locate(node))
    if name == "abs" and value.type.kind == "uint":
        return value
    return tree.Unary(value.type, context.locate(node), name, value)


def compare(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    """One comparison; numbers compare by value whatever their types."""
    a, b = left.type, right.type
    location = context.locate(node)
    if isinstance(a, (ReferenceType, NullType)) and isinstance(b, (ReferenceType, NullType)):
        return _compare_references(context, name, left, right, node)
    if name in ("is", "is_not"):
        context.reject(
            node, f"is compares references, not {a!r} and {b!r}", "compare numbers with == or !="
        )
    if not (isinstance(a, ScalarType) and isinstance(b, ScalarType)):
        context.reject(node, f"{a!r} and {b!r} cannot be compared", "compare their parts")
    if isinstance(left, tree.Constant) and isinstance(right, tree.Constant):
        return _fold_compare(context, name, left, right, node)
    if isinstance(left, tree.Constant) and a == weak_int and not _holds(b, left.value):
        return _compare_out_of_range(context, _MIRRORED[name], right, left, node)
    if isinstance(right, tree.Constant) and b == weak_int and not _holds(a, right.value):
        return _compare_out_of_range(context, name, left, right, node)
    if a.is_integer and b.is_integer and not _same_sign(a, b):
        return _compare_mixed_signs(context, name, left, right, node)
    if {a, b} == {weak_int, weak_float} and _rounding_matters(left, right):
        return _compare_exactly(context, name, left, right, node)
    target = boolean if a == b == boolean else _comparison_type(left, right, a, b)
    left = convert_scalar(context, left, target, node)
    right = convert_scalar(context, right, target, node)
    return tree.Compare(boolean, location, name, left, right)


_COMPARE_FOLD: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


_MIRRORED: dict[tree.CompareOperator, tree.CompareOperator] = {
    "eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le",
}  # fmt: skip


def _fold_compare(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Constant,
    right: tree.Constant,
    node: ast.AST,
) -> tree.Constant:
    """Integers, and Python's own numbers, compare exactly; others as NumPy promotes them."""
    a, b = left.type, right.type
    assert isinstance(a, ScalarType) and isinstance(b, ScalarType)
    first: Any = left.value
    second: Any = right.value
    if not _plain(a, b) and (a.is_float or b.is_float):
        target = promote(a, b)
        converted = [convert_scalar(context, value, target, node) for value in (left, right)]
        first, second = (value.value for value in converted if isinstance(value, tree.Constant))
    return constant(_COMPARE_FOLD[name](first, second), boolean, context.locate(node))


def _holds(type: ScalarType, value: Any) -> bool:
    """Whether ``type``, or the 64 bits that it is widened to for a comparison, can hold the integer
    ``value``; a float can, rounded."""
    if type.is_float:
        return True
    low, high = u64.range if type == u64 else weak_int.range
    return bool(low <= value <= high)


def _compare_out_of_range(
    context: Context,
    name: tree.CompareOperator,
    value: tree.Expression,
    limit: tree.Constant,
    node: ast.AST,
) -> tree.Expression:
    """``value`` against a constant beyond all that its type holds: the result is known, but what
    ``value`` does besides is still done."""
    location = context.locate(node)
    # Any number on the same side of the constant compares as the value does: 0 is one.
    result = constant(_COMPARE_FOLD[name](0, limit.value), boolean, location)
    held = HeldValues()
    held.hold(value)
    return held.then(result)


def _same_sign(a: ScalarType, b: ScalarType) -> bool:
    """Whether one integer type holds all values of both."""
    return u64 not in (a, b) or a == b


def _comparison_type(
    left: tree.Expression, right: tree.Expression, a: ScalarType, b: ScalarType
) -> ScalarType:
    if a.is_integer and b.is_integer and (a.weak or b.weak):
        literal, typed = (left, b) if a.weak else (right, a)
        if isinstance(literal, tree.Constant) and typed.is_integer and not typed.weak:
            low, high = typed.range
            if low <= literal.value <= high:
                return typed
        return weak_int  # exact: every 32-bit number is a 64-bit one
    if a == boolean or b == boolean:
        other = b if a == boolean else a
        return weak_int if other == boolean else other
    return promote(a, b)


def _compare_mixed_signs(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    """u64 against a signed integer, exactly: a negative number is below every unsigned one."""
    location = context.locate(node)
    signed_side = right if left.type == u64 else left
    if isinstance(signed_side, tree.Constant) and 0 <= signed_side.value <= u64.range[1]:
        left, right = (convert_scalar(context, value, u64, node) for value in (left, right))
        return tree.Compare(boolean, location, name, left, right)
    held = HeldValues()
    a, b = held.hold(left), held.hold(right)
    signed = a if left.type != u64 else b
    zero = constant(0, i64, location)
    wide = convert_scalar(context, signed, i64, node)
    negative = tree.Compare(boolean, location, "lt", wide, zero)
    when_negative = name in ("lt", "le", "ne") if signed is a else name in ("gt", "ge", "ne")
    unsigned = tree.Compare(
        boolean,
        location,
        name,
        convert_scalar(context, a, u64, node),
        convert_scalar(context, b, u64, node),
    )
    answer = constant(when_negative, boolean, location)
    return held.then(tree.Conditional(boolean, location, negative, answer, unsigned))


def _rounding_matters(left: tree.Expression, right: tree.Expression) -> bool:
    """Whether an integer and a float may compare otherwise once the integer is rounded to a float.
    Rounding keeps the order, so it matters only where the rounded integer equals the float."""
    for value in (left, right):
        if isinstance(value, tree.Constant):
            if isinstance(value.value, float):
                return 2.0**53 <= abs(value.value) < float("inf")
            return abs(value.value) <= weak_int.range[1] and int(float(value.value)) != value.value
    return True


def _compare_exactly(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    """An ``int`` of Python's own against a ``float``, which Python compares without rounding."""
    location = context.locate(node)
    held = HeldValues()
    a, b = held.hold(left), held.hold(right)
    whole, real, order = (a, b, name) if a.type == weak_int else (b, a, _MIRRORED[name])
    rounded = convert_scalar(context, whole, weak_float, node)
    limit = constant(2.0**63, weak_float, location)  # above all 64-bit integers
    exact = tree.Conditional(
        boolean,
        location,
        tree.Compare(boolean, location, "lt", real, limit),
        tree.Compare(boolean, location, order, whole, tree.Convert(weak_int, location, real)),
        constant(order in ("lt", "le", "ne"), boolean, location),
    )
    test = tree.Conditional(
        boolean,
        location,
        tree.Compare(boolean, location, "eq", rounded, real),
        exact,
        tree.Compare(boolean, location, order, rounded, real),
    )
    return held.then(test)


def _compare_references(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    if name not in ("is", "is_not", "eq", "ne"):
        context.reject(node, "references have no order", "compare a field of the objects")
    identity: tree.CompareOperator = "is" if name in ("is", "eq") else "is_not"
    location = context.locate(node)
    base = join_types(left.type, right.type)
    if isinstance(base, NullType):
        return constant(identity == "is", boolean, location)
    if base is None:
        context.reject(
            node,
            f"{left.type!r} and {right.type!r} have no common base class, so they never are "
            "the same object",
            "compare references of one class hierarchy",
        )
    return tree.Compare(
        boolean,
        location,
        identity,
        coerce(context, left, base, node, "the comparison"),
        coerce(context, right, base, node, "the comparison"),
    )


def unify(
    context: Context, values: list[tree.Expression], node: ast.AST, what: str
) -> tuple[Type, list[tree.Expression]]:
    """Give several values the one type that a variable holding any of them would have."""
    joined = values[0].type
    for value in values[1:]:
        found = join_types(joined, value.type)
        if found is None:
            cure = "convert so that both have one type"
            if boolean in (joined, value.type):
                cure = "ask for a truth of the number: bool(x), or x != 0"
            context.reject(
                node, f"{what} is {joined!r} in one case and {value.type!r} in another", cure
            )
        joined = found
    if any(may_wrap(value, joined, is_nonnegative(context, value)) for value in values):
        joined = context.wider((context.locate(node), what), joined, node, what)
    return joined, [coerce(context, value, joined, node, what) for value in values]
