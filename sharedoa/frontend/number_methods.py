"""Methods of numbers: ``n.bit_count()``, ``n.bit_length()``, ``x.is_integer()``."""

from __future__ import annotations

import ast

from ..model.scalars import ScalarType, boolean, i64, u64, weak_int
from ..number_functions import length_in_bits, magnitude, ones
from . import tree
from .context import Context
from .conversions import convert_scalar
from .held_values import HeldValues
from .library import arguments
from .number_calls import call
from .operators import compare

METHODS = ("bit_count", "bit_length", "is_integer")


def method_of_number(
    context: Context, value: tree.Expression, name: str, node: ast.Call
) -> tree.Expression:
    """``value.name()``."""
    arguments(context, node, 0)
    type = value.type
    assert isinstance(type, ScalarType)
    if name == "is_integer":
        return _is_whole(context, value, type, node)
    if not type.is_integer:
        context.reject(node, f"{type!r} has no {name}", "integers have it: int(x)")
    if name == "bit_length" and not type.weak:
        context.reject(node, "NumPy's integers have no bit_length", "write int(n).bit_length()")
    if type == u64:
        whole = value
    else:
        whole = call(context, magnitude, [convert_scalar(context, value, i64, node)], node)
    found = call(context, ones if name == "bit_count" else length_in_bits, [whole], node)
    return convert_scalar(context, found, weak_int, node)


def _is_whole(
    context: Context, value: tree.Expression, type: ScalarType, node: ast.Call
) -> tree.Expression:
    if not type.is_float:
        context.reject(node, f"{type!r} is whole, or a truth", "leave the question out")
    location, held = context.locate(node), HeldValues()
    number = held.hold(value)
    finite = tree.MathCall(boolean, location, "isfinite", [number])
    same = compare(context, "eq", tree.MathCall(type, location, "floor", [number]), number, node)
    return held.then(tree.Logical(boolean, location, "and", finite, same))
