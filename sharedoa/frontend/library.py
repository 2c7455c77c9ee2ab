"""Functions that the compiler itself knows: Python's builtins, mathematics, oa's intrinsics."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..model import intrinsics
from ..model.array2_type import ROWS, Array2Type
from ..model.extent import EXTENT
from ..model.scalars import ScalarType, boolean, f64, u64, weak_float, weak_int
from ..model.types import ArrayType, ListType, ReferenceType, TupleType, Type, ValueType
from . import tree
from .atomics import atomic
from .comparisons import compare_pair
from .conditions import classes_of, type_test
from .constant_tables import length_of, row_of
from .context import Context, may_wrap
from .conversions import coerce, constant, convert_scalar, is_nonnegative, truth
from .expressions import expression, static_value, translate
from .extents import index3, size3
from .folds import extreme, first_of, length_of_comprehension, product, quantified, total
from .held_values import HeldValues
from .lists import list_from
from .operands import ConstantRow, InlineArray
from .operators import binary, unary, unify
from .subscripts import part
from .value_operators import call_value_method

Handler = Callable[[Context, ast.Call], tree.Expression]

_FLOAT_MATH = [
    "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "atan2", "sinh", "cosh", "tanh", "pow", "fmod", "hypot", "fabs", "copysign",
    "isnan", "isinf", "isfinite", "cbrt", "erf", "fma", "rint", "asinh", "acosh", "atanh", "erfc",
    "gamma", "lgamma",
]  # fmt: skip

#: Functions of ``math`` compute in Python's own float (64 bits, weak), as CPython does.
_PYTHON_MATH: dict[int, str] = {
    id(getattr(math, name)): name for name in _FLOAT_MATH if hasattr(math, name)
}
_PYTHON_ROUNDING = {id(getattr(math, name)): name for name in ("floor", "ceil", "trunc")}

_NUMPY_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "power": "pow",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
}  # fmt: skip
_SAME_NAMES = [name for name in _FLOAT_MATH if name not in ("asin", "acos", "atan", "atan2", "pow")]

#: NumPy's functions keep the width of their argument: ``np.sqrt`` of an f32 is an f32.
_NUMPY_MATH: dict[int, str] = {
    id(getattr(np, name)): _NUMPY_NAMES.get(name, name)
    for name in [*_SAME_NAMES, *_NUMPY_NAMES, "floor", "ceil", "trunc"]
    if hasattr(np, name)
}

_ARITY = {"atan2": 2, "pow": 2, "fmod": 2, "hypot": 2, "copysign": 2, "fma": 3}


def is_math(target: Any) -> bool:
    return id(target) in _PYTHON_MATH or id(target) in _PYTHON_ROUNDING or id(target) in _NUMPY_MATH


def arguments(context: Context, node: ast.Call, *counts: int) -> list[tree.Expression]:
    """The positional arguments of a call that takes as many as one of ``counts``."""
    if node.keywords or (counts and len(node.args) not in counts):
        expected = " or ".join(map(str, counts))
        context.reject(
            node,
            f"{ast.unparse(node.func)} takes {expected + ' ' if counts else ''}plain arguments",
            "pass them by position",
        )
    return [expression(context, argument) for argument in node.args]


def math_call(context: Context, target: Any, node: ast.Call) -> tree.Expression:
    """A function of ``math`` or a ufunc of NumPy."""
    location = context.locate(node)
    if id(target) in _NUMPY_MATH:
        name = _NUMPY_MATH[id(target)]
        values = arguments(context, node, _ARITY.get(name, 1))
        type = _numpy_type(context, values, node)
    else:
        name = _PYTHON_MATH.get(id(target)) or _PYTHON_ROUNDING[id(target)]
        counts = (1, 2) if name == "log" else (_ARITY.get(name, 1),)
        if name == "hypot" and len(node.args) > 2:
            context.reject(
                node,
                "math.hypot of more than two",
                "write math.sqrt(x * x + y * y + z * z), or oa.length of a vector",
            )
        values = arguments(context, node, *counts)
        if id(target) in _PYTHON_ROUNDING and values[0].type in (weak_int, u64):
            return _whole(context, values[0], node)
        type = weak_float
    floats = [_number(context, value, type, node, "pass a number") for value in values]
    if name == "log" and len(floats) == 2:
        logs = [tree.MathCall(type, location, "log", [value]) for value in floats]
        return tree.Binary(type, location, "truediv", logs[0], logs[1])
    if name in ("isnan", "isinf", "isfinite"):
        return tree.MathCall(boolean, location, name, floats)
    result = tree.MathCall(type, location, name, floats)
    if id(target) in _PYTHON_ROUNDING:
        return tree.Convert(weak_int, location, result)
    return result


def _whole(context: Context, value: tree.Expression, node: ast.Call) -> tree.Expression:
    """What ``math.floor`` and its like make of an integer that a float would round."""
    if value.type == u64:
        context.reject(
            node, f"{ast.unparse(node.func)} of a u64", "it is whole: leave the call out"
        )
    return value


def _numpy_type(context: Context, values: list[tree.Expression], node: ast.Call) -> ScalarType:
    floats = {v.type for v in values if isinstance(v.type, ScalarType) and v.type.is_float}
    typed = {type for type in floats if isinstance(type, ScalarType) and not type.weak}
    if len(typed) == 1 and all(
        isinstance(v.type, ScalarType) and (v.type in typed or v.type.weak) for v in values
    ):
        found = typed.pop()
        assert isinstance(found, ScalarType)
        return found
    return f64


def _int(context: Context, node: ast.Call) -> tree.Expression:
    (value,) = arguments(context, node, 1)
    return _number(context, value, weak_int, node)


def _float(context: Context, node: ast.Call) -> tree.Expression:
    text = static_value(context, node.args[0]) if len(node.args) == 1 else None
    if isinstance(text, str):
        if text.strip().lower().lstrip("+-") not in ("inf", "infinity", "nan"):
            context.reject(
                node, "kernels read no numbers from text", "write a number, or float('inf')"
            )
        return constant(float(text), weak_float, context.locate(node))
    (value,) = arguments(context, node, 1)
    return _number(context, value, weak_float, node)


def _number(
    context: Context,
    value: tree.Expression,
    type: ScalarType,
    node: ast.AST,
    help: str = "convert a number",
) -> tree.Expression:
    if not isinstance(value.type, ScalarType):
        context.reject(node, f"{value.type!r} is no number", help)
    return convert_scalar(context, value, type, node)


def _round(context: Context, node: ast.Call) -> tree.Expression:
    """``round(x)``: to the nearest integer, of two as near to the even one."""
    if len(node.args) == 2:
        context.reject(
            node, "round to a number of digits", "write round(x * 100) / 100 for two digits"
        )
    (value,) = arguments(context, node, 1)
    location = context.locate(node)
    if not isinstance(value.type, ScalarType) or not value.type.is_float:
        return _number(context, value, weak_int, node)
    rounded = tree.MathCall(value.type, location, "rint", [value])
    return tree.Convert(weak_int, location, rounded)


def _scaled(factor: float) -> Handler:
    def scale(context: Context, node: ast.Call) -> tree.Expression:
        (value,) = arguments(context, node, 1)
        number = _number(context, value, weak_float, node)
        return binary(context, "mul", number, constant(factor, weak_float, number.location), node)

    return scale


def _bool(context: Context, node: ast.Call) -> tree.Expression:
    (value,) = arguments(context, node, 1)
    return truth(context, value, node)


def _abs(context: Context, node: ast.Call) -> tree.Expression:
    (value,) = arguments(context, node, 1)
    if isinstance(value.type, ReferenceType):
        from .calls import call_object_method

        return call_object_method(context, value, "__abs__", [], node)
    if isinstance(value.type, ValueType):
        return call_value_method(context, value, "__abs__", [], node)
    return unary(context, "abs", value, node)


def _extreme(operator: tree.CompareOperator) -> Handler:
    def choose(context: Context, node: ast.Call) -> tree.Expression:
        has_key = any(keyword.arg == "key" for keyword in node.keywords)
        if has_key and len(node.args) > 1:
            row = ast.copy_location(ast.Tuple(node.args, ast.Load()), node)
            node = ast.copy_location(ast.Call(node.func, [row], node.keywords), node)
        if len(node.args) == 1:
            return extreme(context, node, operator)
        values = arguments(context, node)
        if len(values) < 2:
            context.reject(
                node, "min and max take values, or what has some", "write min(a, b) or min(array)"
            )
        best, type = values[0], values[0].type
        if isinstance(type, ValueType) and "minimum" in type.methods:
            context.reject(node, f"{type!r} has no order", "oa.min and oa.max go by component")
        for value in values[1:]:
            best = _better(context, operator, best, value, node)
        return best

    return choose


def _better(
    context: Context,
    operator: tree.CompareOperator,
    best: tree.Expression,
    value: tree.Expression,
    node: ast.Call,
) -> tree.Expression:
    """``value`` where it compares so with ``best``, which wins among equals, as in Python."""
    location = context.locate(node)
    given = [best, value]
    is_mixed = {each.type for each in given} == {u64, weak_int}
    if is_mixed and any(may_wrap(each, u64, is_nonnegative(context, each)) for each in given):
        # The greater one is not negative, and the other one no greater than an int.
        type: Type = u64 if operator == "gt" else weak_int
    else:
        type, given = unify(context, given, node, "min or max")
    held = HeldValues()
    a, b = map(held.hold, given)
    test = compare_pair(context, operator, b, a, node)
    chosen, other = (coerce(context, each, type, node, "min or max") for each in (b, a))
    return held.then(tree.Conditional(type, location, test, chosen, other))


def _len(context: Context, node: ast.Call) -> tree.Expression:
    if len(node.args) != 1 or node.keywords:
        context.reject(node, "len takes one array", "write len(a)")
    if isinstance(node.args[0], ast.ListComp):
        return length_of_comprehension(context, node.args[0])
    operand = row_of(context, translate(context, node.args[0]), node)
    location = context.locate(node)
    if isinstance(operand, InlineArray):
        return constant(operand.type.shape[0], weak_int, location)
    if isinstance(operand, ConstantRow):
        length = length_of(operand)
        if length is not None:
            return constant(length, weak_int, location)
    if isinstance(operand, tree.Expression):
        if isinstance(operand.type, (ArrayType, ListType)):
            return tree.ArrayLength(weak_int, location, operand)
        if isinstance(operand.type, Array2Type):
            return part(operand, operand.type, ROWS, location)
        if isinstance(operand.type, TupleType):
            return constant(len(operand.type.items), weak_int, location)
        if isinstance(operand.type, ValueType) and operand.type.shape:
            return constant(operand.type.shape[0], weak_int, location)
    context.reject(node, "this has no length", "arrays, inline arrays and tuples have one")


def _isinstance(context: Context, node: ast.Call) -> tree.Expression:
    if len(node.args) != 2 or node.keywords:
        context.reject(node, "isinstance takes an object and a class", "isinstance(x, C)")
    value = expression(context, node.args[0])
    if not isinstance(value.type, ReferenceType):
        context.reject(
            node, f"{value.type!r} is no object of a shared class", "types of numbers are fixed"
        )
    found = classes_of(context, node.args[1])
    if not found:
        context.reject(
            node, "isinstance needs shared classes", "name the class, or several: (A, B)"
        )
    location = context.locate(node)
    held = HeldValues()
    local = held.hold(value)
    test: tree.Expression = type_test(context, local, found[0], node)
    for cls in found[1:]:
        test = tree.Logical(boolean, location, "or", test, type_test(context, local, cls, node))
    return held.then(test)


def _grid(context: Context, node: ast.Call) -> tree.Expression:
    return _per_axis(context, node, tree.ThreadIndex, index3)


def _gridsize(context: Context, node: ast.Call) -> tree.Expression:
    return _per_axis(context, node, tree.GridSize, size3)


def _per_axis(context: Context, node: ast.Call, make: Any, three: Handler) -> tree.Expression:
    name = ast.unparse(node.func)
    if context.kind != "kernel":
        context.reject(node, f"{name} is only known in kernels", "pass the index on as an argument")
    axes = arguments(context, node, 1)[0]
    location = context.locate(node)
    if not isinstance(axes, tree.Constant) or axes.value not in (1, 2, 3):
        help = f"write {name}(1), x, y = {name}(2), or x, y, z = {name}(3)"
        context.reject(node, f"{name} takes 1, 2 or 3", help)
    if EXTENT in context.parameters:
        found = three(context, node)
        assert isinstance(found, tree.MakeTuple)
        items = found.items[: int(axes.value)]
        if len(items) == 1:
            return items[0]
        return tree.MakeTuple(TupleType((weak_int,) * len(items)), location, items)
    items = [make(weak_int, location, axis) for axis in range(int(axes.value))]
    if len(items) == 1:
        return items[0]
    return tree.MakeTuple(TupleType((weak_int, weak_int)), location, items)


def _statement_only(context: Context, node: ast.Call) -> tree.Expression:
    context.reject(
        node, f"{ast.unparse(node.func)} gives no value", "write it as a statement of its own"
    )


def _tile_only(context: Context, node: ast.Call) -> tree.Expression:
    context.reject(
        node,
        "oa.shared is used as a value",
        "give it a name first, in a statement of the kernel itself: tile = oa.shared(f32, 256)",
    )


def _range(context: Context, node: ast.Call) -> tree.Expression:
    context.reject(node, "range is only known in for loops", "write for i in range(...)")


def _for_loops(context: Context, node: ast.Call) -> tree.Expression:
    name = ast.unparse(node.func)
    context.reject(
        node, f"{name} is only gone through", f"write for ... in {name}(...), or give it to sum"
    )


def _divmod(context: Context, node: ast.Call) -> tree.Expression:
    left, right = arguments(context, node, 2)
    held = HeldValues()
    x, y = held.hold(left), held.hold(right)
    items = [binary(context, "floordiv", x, y, node), binary(context, "mod", x, y, node)]
    types = tuple(each.type for each in items)
    return held.then(tree.MakeTuple(TupleType(types), context.locate(node), items))


def _pow(context: Context, node: ast.Call) -> tree.Expression:
    if len(node.args) == 3:
        context.reject(node, "pow takes two arguments in kernels", "write x ** y % n")
    left, right = arguments(context, node, 2)
    return binary(context, "pow", left, right, node)


def handler_of(target: Any) -> Handler | None:
    """What translates a call of a function that the compiler knows."""
    name = getattr(target, "__sharedoa_intrinsic__", None)
    return HANDLERS.get(id(target)) if name is None else NAMED.get(name)


#: Of functions of the host that are marked with ``intrinsics.known_in_kernels``.
NAMED: dict[str, Handler] = {}

HANDLERS: dict[int, Handler] = {
    id(builtins.int): _int,
    id(builtins.float): _float,
    id(builtins.bool): _bool,
    id(builtins.abs): _abs,
    id(builtins.round): _round,
    id(math.radians): _scaled(math.pi / 180.0),
    id(math.degrees): _scaled(180.0 / math.pi),
    id(builtins.min): _extreme("lt"),
    id(builtins.max): _extreme("gt"),
    id(builtins.len): _len,
    id(builtins.isinstance): _isinstance,
    id(builtins.list): list_from,
    id(builtins.divmod): _divmod,
    id(builtins.pow): _pow,
    id(builtins.sum): total,
    id(math.prod): product,
    id(builtins.next): first_of,
    id(builtins.any): lambda context, node: quantified(context, node, True),
    id(builtins.all): lambda context, node: quantified(context, node, False),
    id(builtins.range): _range,
    **dict.fromkeys(map(id, (builtins.enumerate, builtins.zip, builtins.reversed)), _for_loops),
    id(builtins.print): _statement_only,
    id(np.absolute): _abs,
    id(intrinsics.grid): _grid,
    id(intrinsics.gridsize): _gridsize,
    id(intrinsics.syncthreads): _statement_only,
    id(intrinsics.fence): _statement_only,
    id(intrinsics.shared): _tile_only,
    id(intrinsics.atomic_add): atomic("add", 3),
    id(intrinsics.count_in_warp): atomic("count", 3),
    id(intrinsics.atomic_sub): atomic("sub", 3),
    id(intrinsics.atomic_min): atomic("min", 3),
    id(intrinsics.atomic_max): atomic("max", 3),
    id(intrinsics.atomic_exch): atomic("exch", 3),
    id(intrinsics.atomic_cas): atomic("cas", 4),
}
