"""Assignments to several targets: ``x, y = p``, ``first, *others = self.marks``."""

from __future__ import annotations

import ast

from ..model.scalars import weak_int
from ..model.types import ListType, TupleType, ValueType
from . import tree
from .context import Context
from .conversions import as_variable, constant, is_nonnegative
from .expressions import as_value, translate
from .held_values import items_of_tuple
from .inline_arrays import fields_of_vector
from .iteration import items_of_operand
from .lists import made_of
from .operands import InlineArray


def taken_apart(context: Context, node: ast.expr, before: list[tree.Statement]) -> tree.Expression:
    """What is to be unpacked; of an inline array or a list a tuple of its elements, for which
    ``before`` computes whose they are."""
    if isinstance(node, ast.List):
        node = ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
    operand = translate(context, node)
    is_list = isinstance(operand, tree.Expression) and isinstance(operand.type, ListType)
    if not isinstance(operand, InlineArray) and not is_list:
        return as_value(context, operand, node)
    items, location = items_of_operand(context, operand, node), context.locate(node)
    if not isinstance(items.length, tree.Constant):
        return as_value(context, operand, node)
    before += items.before
    numbers = range(int(items.length.value))
    parts = [items.at(constant(number, weak_int, location)) for number in numbers]
    return tree.MakeTuple(TupleType(tuple(part.type for part in parts)), location, parts)


def unpack(
    context: Context, targets: list[ast.expr], value: tree.Expression, node: ast.AST
) -> list[tree.Statement]:
    """Assign each item of a tuple, or component of a vector, to its target."""
    from .statements import assign_to

    if isinstance(value.type, ValueType) and value.type.shape:
        return _unpack_vector(context, targets, value, node)
    stars = [place for place, each in enumerate(targets) if isinstance(each, ast.Starred)]
    least = len(targets) - len(stars)
    count = len(value.type.items) if isinstance(value.type, TupleType) else -1
    if count < least or not (stars or count == least):
        context.reject(
            node,
            f"{value.type!r} cannot be unpacked into {len(targets)} targets",
            "unpack a tuple of as many items",
        )
    made, parts = _parts(context, value, node)
    if stars:
        (place,) = stars
        starred, end = targets[place], place + count - least
        assert isinstance(starred, ast.Starred)
        is_read = _is_read(context, starred.value)
        rest = [made_of(context, parts[place:end], 1, starred)] if is_read else []
        parts = [*parts[:place], *rest, *parts[end:]]
        targets = [*targets[:place], *([starred.value] if is_read else []), *targets[place + 1 :]]
    for target, part in zip(targets, parts, strict=True):
        made += assign_to(context, target, part, node)
    return made


def _parts(
    context: Context, value: tree.Expression, node: ast.AST
) -> tuple[list[tree.Statement], list[tree.Expression]]:
    """The items of a tuple, and what computes them: all before the first is assigned."""
    location = context.locate(node)
    assert isinstance(value.type, TupleType)
    if not isinstance(value, tree.MakeTuple):
        whole = context.temporary(value.type)
        local = tree.Local(value.type, location, whole)
        return [tree.Assign(location, whole, value)], items_of_tuple(local)
    made: list[tree.Statement] = []
    parts: list[tree.Expression] = []
    for item in value.items:
        variable = context.temporary(item.type)
        if not isinstance(item, tree.Constant):
            if is_nonnegative(context, item):
                context.counters.add(variable)
            length = context.length_of_list(item)
            if length is not None:
                context.made_lists[variable] = length
            made.append(tree.Assign(location, variable, as_variable(context, item, node)))
        parts.append(_known_sign(item, tree.Local(item.type, location, variable)))
    return made, parts


def _is_read(context: Context, target: ast.expr) -> bool:
    """Whether anybody wants the list: where its name is not read, it may hold anything, or
    nothing."""
    name = target.id if isinstance(target, ast.Name) else None
    return name is None or any(
        isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
        for each in ast.walk(context.source.definition)
    )


def _unpack_vector(
    context: Context, targets: list[ast.expr], value: tree.Expression, node: ast.AST
) -> list[tree.Statement]:
    variable, location = context.temporary(value.type), context.locate(node)
    parts = fields_of_vector(context, tree.Local(value.type, location, variable), node)
    whole = tree.MakeTuple(TupleType(tuple(part.type for part in parts)), location, parts)
    return [tree.Assign(location, variable, value), *unpack(context, targets, whole, node)]


def _known_sign(item: tree.Expression, local: tree.Local) -> tree.Expression:
    # x, y = oa.grid(2) stays known to be nonnegative.
    return item if is_pure(item) else local


def is_pure(value: tree.Expression) -> bool:
    """Needs no temporary: a constant in one would be an int of any size, and widen variables."""
    if isinstance(value, tree.MakeTuple):
        return all(map(is_pure, value.items))
    return isinstance(value, (tree.ThreadIndex, tree.GridSize, tree.Constant))
