"""Functions of numbers that are made of others: ``math.gcd``, ``isqrt``, ``ldexp``, and NumPy's
``minimum``, ``maximum``, ``clip`` and ``sign`` of scalars."""

from __future__ import annotations

import ast
import math
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from ..model.functions import DeviceFunction
from ..model.scalars import ScalarType, boolean, f64, i64, promote, u64, weak_float, weak_int
from ..number_functions import greatest_divisor, scaled, whole_root
from . import tree
from .context import Context
from .conversions import constant, convert_scalar, weak_to_typed
from .expressions import expression
from .held_values import HeldValues
from .library import HANDLERS, Handler, arguments
from .operators import compare, unary


def _integer(context: Context, value: tree.Expression, node: ast.Call) -> tree.Expression:
    type, name = value.type, ast.unparse(node.func)
    if not (isinstance(type, ScalarType) and (type.is_integer or type == boolean)):
        context.reject(node, f"{name} takes integers, not {type!r}", "write int(...)")
    if type == u64:
        context.reject(node, f"{name} takes integers that i64 has, not u64", "write i64(...)")
    return convert_scalar(context, value, i64, node)


def call(
    context: Context,
    function: DeviceFunction[..., Any],
    given: list[tree.Expression],
    node: ast.Call,
) -> tree.Expression:
    """A call of one of ``number_functions``."""
    symbol = context.program.require_function(function)
    return tree.DirectCall(function.signature.result, context.locate(node), symbol, given)


def _gcd(context: Context, node: ast.Call) -> tree.Expression:
    given = [_integer(context, each, node) for each in arguments(context, node, *_ANY_NUMBER)]
    zero: tree.Expression = constant(0, i64, context.locate(node))
    found = reduce(lambda a, b: call(context, greatest_divisor, [a, b], node), given, zero)
    return convert_scalar(context, found, weak_int, node)


def _ldexp(context: Context, node: ast.Call) -> tree.Expression:
    value, exponent = arguments(context, node, 2)
    if not isinstance(value.type, ScalarType):
        context.reject(node, f"{value.type!r} is no number", "pass a number")
    if exponent.type != weak_int:
        context.reject(
            node, f"CPython's math.ldexp takes its own int, not {exponent.type!r}", "write int(k)"
        )
    given = [convert_scalar(context, value, f64, node), _integer(context, exponent, node)]
    return convert_scalar(context, call(context, scaled, given, node), weak_float, node)


def _isqrt(context: Context, node: ast.Call) -> tree.Expression:
    (value,) = arguments(context, node, 1)
    found = call(context, whole_root, [_integer(context, value, node)], node)
    return convert_scalar(context, found, weak_int, node)


def _numbers(
    context: Context, node: ast.Call, count: int
) -> tuple[ScalarType, list[tree.Expression]]:
    """Arguments of a function of NumPy's in the type in which it computes, which is never weak."""
    name = ast.unparse(node.func)
    if len(node.args) != count or node.keywords:
        context.reject(node, f"{name} takes {count} plain numbers", "pass them by position")
    values = [expression(context, each) for each in node.args]
    types = [value.type for value in values]
    numbers = [each for each in types if isinstance(each, ScalarType) and each != boolean]
    if len(numbers) < count:
        wrong = next(each for each in types if each not in numbers)
        context.reject(node, f"{name} takes numbers in kernels, not {wrong!r}", _ELEMENTS)
    typed = [each for each in numbers if not each.weak]
    type = reduce(promote, typed) if typed else numbers[0]
    for each in numbers:
        type = promote(type, each)
    strong = {weak_int: i64, weak_float: f64}.get(type, type)
    return strong, [weak_to_typed(context, value, strong, node) for value in values]


_ELEMENTS = "go through an array in a loop, one element after another"


def _least(operator: tree.CompareOperator) -> Handler:
    def handle(context: Context, node: ast.Call) -> tree.Expression:
        type, (left, right) = _numbers(context, node, 2)
        return _chosen(context, operator, type, left, right, node)

    return handle


def _clip(context: Context, node: ast.Call) -> tree.Expression:
    type, (value, low, high) = _numbers(context, node, 3)
    above = _chosen(context, "gt", type, value, low, node)
    return _chosen(context, "lt", type, above, high, node)


def _chosen(
    context: Context,
    operator: tree.CompareOperator,
    type: ScalarType,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.Call,
) -> tree.Expression:
    """The left number if it compares so with the right one, or is NaN, else the right one."""
    location = context.locate(node)
    held = HeldValues()
    a, b = held.hold(left), held.hold(right)
    test = compare(context, operator, a, b, node)
    if type.is_float:
        is_nan = tree.MathCall(boolean, location, "isnan", [a])
        test = tree.Logical(boolean, location, "or", test, is_nan)
    return held.then(tree.Conditional(type, location, test, a, b))


def _sign(context: Context, node: ast.Call) -> tree.Expression:
    type, (value,) = _numbers(context, node, 1)
    location = context.locate(node)
    held = HeldValues()
    a = held.hold(value)
    zero, one = constant(0, type, location), constant(1, type, location)
    is_below, is_above = (compare(context, each, a, zero, node) for each in ("lt", "gt"))
    found: tree.Expression = a if type.is_float else zero  # NaN is its own sign
    if type.is_float:
        is_zero = compare(context, "eq", a, zero, node)
        found = tree.Conditional(type, location, is_zero, zero, found)
    if type.kind != "uint":
        minus = unary(context, "neg", one, node)
        found = tree.Conditional(type, location, is_below, minus, found)
    return held.then(tree.Conditional(type, location, is_above, one, found))


def _where(context: Context, node: ast.Call) -> NoReturn:
    context.reject(node, "np.where makes an array", "write a if test else b")


_ANY_NUMBER = range(9)

HANDLERS.update({
    id(math.gcd): _gcd,
    id(math.isqrt): _isqrt,
    id(math.ldexp): _ldexp,
    id(np.minimum): _least("lt"),
    id(np.maximum): _least("gt"),
    id(np.clip): _clip,
    id(np.sign): _sign,
    id(np.where): _where,
})  # fmt: skip
