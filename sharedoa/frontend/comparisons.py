"""Comparisons of the source, chains of them too, to the typed tree."""

from __future__ import annotations

import ast
import builtins

import numpy as np

from ..model.scalars import ScalarType, boolean, weak_int
from ..model.types import InlineType, ReferenceType, TupleType, ValueType
from . import tree
from .context import Context
from .expressions import expression, is_call_of
from .held_values import HeldValues, items_of_tuple
from .operands import Operand
from .operators import COMPARE, compare


def comparison(context: Context, node: ast.Compare) -> Operand:
    """Chains evaluate each operand once and stop at the first comparison that fails."""
    if any(isinstance(operator, (ast.In, ast.NotIn)) for operator in node.ops):
        return _membership(context, node)
    operands = [expression(context, n) for n in (node.left, *node.comparators)]
    names = [COMPARE[type(operator)][0] for operator in node.ops]
    if len(names) == 1:
        return compare_pair(context, names[0], operands[0], operands[1], node)
    location = context.locate(node)
    return _chain(context, names, operands[0], operands[1:], node, location)


def _membership(context: Context, node: ast.Compare) -> Operand:
    """``x in items`` and ``x not in items``."""
    from .folds import contained

    if len(node.ops) > 1:
        context.reject(
            node, "in is part of a chain of comparisons", "write two comparisons with and"
        )
    value, items = expression(context, node.left), node.comparators[0]
    if is_call_of(context, items, builtins.range):
        assert isinstance(items, ast.Call)
        found = _in_range(context, value, items, node)
    else:
        found = contained(context, value, items, node)
    if isinstance(node.ops[0], ast.In):
        return found
    return tree.Unary(boolean, context.locate(node), "not", found)


def _in_range(
    context: Context, value: tree.Expression, node: ast.Call, inside: ast.Compare
) -> tree.Expression:
    from .iteration import range_arguments, unsigned_bound

    bounds = range_arguments(context, node)
    start, stop, step = (unsigned_bound(each) or each for each in bounds)
    if not isinstance(step, tree.Constant) or step.value != 1:
        context.reject(node, "in a range with a step", "write a <= x < b and (x - a) % step == 0")
    if not (isinstance(value.type, ScalarType) and value.type.is_integer):
        context.reject(
            inside, f"{value.type!r} is looked for in a range", "write start <= x < stop"
        )
    location = context.locate(inside)
    held = HeldValues()
    x, a, b = map(held.hold, (value, start, stop))
    return held.then(tree.Logical(
        boolean, location, "and",
        compare(context, "le", a, x, inside), compare(context, "lt", x, b, inside),
    ))  # fmt: skip


def _chain(
    context: Context,
    names: list[tree.CompareOperator],
    left: tree.Expression,
    rest: list[tree.Expression],
    node: ast.AST,
    location: tree.Location,
) -> tree.Expression:
    held = HeldValues()
    a, b = held.hold_unknown(left), held.hold_unknown(rest[0])
    test = compare_pair(context, names[0], a, b, node)
    if len(names) > 1:
        more = _chain(context, names[1:], b, rest[1:], node, location)
        test = tree.Logical(boolean, location, "and", test, more)
    return held.then(test)


def compare_pair(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    if isinstance(left.type, ValueType):
        return _compare_values(context, name, left, right, node)
    if isinstance(left.type, TupleType) and isinstance(right.type, TupleType):
        return _compare_tuples(context, name, left, right, node)
    if isinstance(left.type, ReferenceType) and f"__{name}__" in left.type.cls.slots:
        from .calls import call_object_method

        return call_object_method(context, left, f"__{name}__", [right], node)
    return compare(context, name, left, right, node)


def _compare_values(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    from .value_operators import call_value_method

    struct = left.type
    assert isinstance(struct, ValueType)
    if f"__{name}__" in struct.methods:
        return call_value_method(context, left, f"__{name}__", [right], node)
    if name not in ("eq", "ne") or right.type is not struct or "__eq__" in struct.methods:
        context.reject(
            node,
            f"{left.type!r} and {right.type!r} cannot be compared so",
            f"define __{name}__ in the value struct, or compare fields",
        )
    location = context.locate(node)
    held = HeldValues()
    both = held.hold(left), held.hold(right)
    result: tree.Expression = tree.Constant(boolean, location, True)
    for field, type in reversed(struct.fields.items()):
        parts = [tree.ValueField(type, location, each, field) for each in both]
        for a, b in reversed(_items(parts[0], parts[1])):
            same = compare_pair(context, "eq", a, b, node)
            result = tree.Logical(boolean, location, "and", same, result)
    if name == "ne":
        result = tree.Unary(boolean, location, "not", result)
    return held.then(result)


def _compare_tuples(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    """By the first items that are not equal."""
    location, held = context.locate(node), HeldValues()
    a, b = (_items_of_tuple(each, held) for each in (left, right))
    if len(a) != len(b) or name in ("is", "is_not"):
        context.reject(
            node, f"{left.type!r} and {right.type!r} cannot be compared", "compare their parts"
        )
    result: tree.Expression = tree.Constant(boolean, location, name not in ("lt", "gt"))
    for x, y in reversed([*zip(a, b, strict=True)]):
        same = compare_pair(context, "eq", x, y, node)
        if name in ("eq", "ne"):
            result = tree.Logical(boolean, location, "and", same, result)
        else:
            test = compare_pair(context, name, x, y, node)
            result = tree.Conditional(boolean, location, same, result, test)
    if name == "ne":
        result = tree.Unary(boolean, location, "not", result)
    return held.then(result)


def _items_of_tuple(value: tree.Expression, held: HeldValues) -> list[tree.Expression]:
    if isinstance(value, tree.MakeTuple):
        return [held.hold_unknown(item) for item in value.items]
    return items_of_tuple(held.hold(value))


def _items(
    left: tree.Expression, right: tree.Expression
) -> list[tuple[tree.Expression, tree.Expression]]:
    """What is compared of two fields: they themselves, or each element of inline arrays."""
    type, location = left.type, left.location
    if not isinstance(type, InlineType):
        return [(left, right)]
    found: list[tuple[tree.Expression, tree.Expression]] = []
    for place in np.ndindex(*type.shape):
        index: list[tree.Expression] = [tree.Constant(weak_int, location, n) for n in place]
        wraps = (False,) * len(index)
        a, b = (
            tree.InlineItem(type.element, location, side, index, wraps) for side in (left, right)
        )
        found.append((a, b))
    return found
