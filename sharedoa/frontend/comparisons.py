"""Comparisons of the source, chains of them too, to the typed tree."""

from __future__ import annotations

import ast

from ..model.scalars import boolean
from ..model.types import ValueType
from . import tree
from .context import Context
from .expressions import expression
from .operands import Operand
from .operators import COMPARE, compare


def comparison(context: Context, node: ast.Compare) -> Operand:
    """Chains evaluate each operand once and stop at the first comparison that fails."""
    for operator in node.ops:
        if type(operator) not in COMPARE:
            context.reject(
                node, "in is outside the subset that kernels can use", _instead_of_in(node)
            )
    operands = [expression(context, n) for n in (node.left, *node.comparators)]
    names = [COMPARE[type(operator)][0] for operator in node.ops]
    if len(names) == 1:
        return _compare_pair(context, names[0], operands[0], operands[1], node)
    location = context.locate(node)
    return _chain(context, names, operands[0], operands[1:], node, location)


def _instead_of_in(node: ast.Compare) -> str:
    items = node.comparators[0]
    if len(node.ops) > 1 or not isinstance(items, (ast.Tuple, ast.List, ast.Set)) or not items.elts:
        return "compare in a loop"
    same, word = ("==", " or ") if isinstance(node.ops[0], ast.In) else ("!=", " and ")
    left = ast.unparse(node.left)
    return "write " + word.join(f"{left} {same} {ast.unparse(item)}" for item in items.elts)


def _chain(
    context: Context,
    names: list[tree.CompareOperator],
    left: tree.Expression,
    rest: list[tree.Expression],
    node: ast.AST,
    location: tree.Location,
) -> tree.Expression:
    first, second = context.temporary(left.type), context.temporary(rest[0].type)
    a, b = (_once(value, variable) for value, variable in ((left, first), (rest[0], second)))
    test = _compare_pair(context, names[0], a, b, node)
    if len(names) > 1:
        more = _chain(context, names[1:], b, rest[1:], node, location)
        test = tree.Logical(boolean, location, "and", test, more)
    for variable, value in ((second, rest[0]), (first, left)):
        if not isinstance(value, tree.Constant):
            test = tree.Let(boolean, location, variable, value, test)
    return test


def _once(value: tree.Expression, variable: tree.Variable) -> tree.Expression:
    """What stands for ``value`` where ``variable`` holds it; a constant, which may be larger than
    any variable, stands for itself."""
    if isinstance(value, tree.Constant):
        return value
    return tree.Local(value.type, value.location, variable)


def _compare_pair(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    if isinstance(left.type, ValueType):
        return _compare_values(context, name, left, right, node)
    return compare(context, name, left, right, node)


def _compare_values(
    context: Context,
    name: tree.CompareOperator,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    from .calls import call_value_method

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
    first, second = context.temporary(struct), context.temporary(struct)
    result: tree.Expression = tree.Constant(boolean, location, True)
    for field, type in reversed(struct.fields.items()):
        parts = [
            tree.ValueField(type, location, tree.Local(struct, location, v), field)
            for v in (first, second)
        ]
        same = _compare_pair(context, "eq", parts[0], parts[1], node)
        result = tree.Logical(boolean, location, "and", same, result)
    if name == "ne":
        result = tree.Unary(boolean, location, "not", result)
    inner = tree.Let(boolean, location, second, right, result)
    return tree.Let(boolean, location, first, left, inner)
