"""``oa.grid(3)`` and ``oa.gridsize(3)``: places of a launch along three axes (``model.extent``)."""

from __future__ import annotations

import ast

from ..model.extent import EXTENT
from ..model.scalars import u32, weak_int
from ..model.types import TupleType
from . import tree
from .context import Context


def index3(context: Context, node: ast.Call) -> tree.Expression:
    """Along x, y and z."""
    location = context.locate(node)
    x: tree.Expression = tree.ThreadIndex(weak_int, location, 0)
    return _three(location, x, _of_row(context, "y", node), _of_row(context, "z", node))


def size3(context: Context, node: ast.Call) -> tree.Expression:
    """Along x, y and z."""
    location = context.locate(node)
    extent = _extent(context, node)
    fields = [tree.ValueField(u32, location, extent, name) for name in ("height", "depth")]
    return _three(location, tree.GridSize(weak_int, location, 0), *fields)


def within_extent(context: Context, body: list[tree.Statement]) -> list[tree.Statement]:
    """The body of a kernel along three axes, for threads that there are."""
    if EXTENT not in context.parameters:
        return body
    node = context.source.definition
    return [tree.If(context.locate(node), _of_row(context, "holds", node), body, [])]


def _three(location: tree.Location, *items: tree.Expression) -> tree.Expression:
    wide = [
        item if item.type == weak_int else tree.Convert(weak_int, location, item) for item in items
    ]
    return tree.MakeTuple(TupleType((weak_int,) * len(wide)), location, wide)


def _extent(context: Context, node: ast.AST) -> tree.Expression:
    variable = context.parameters[EXTENT]
    return tree.Local(variable.type, context.locate(node), variable)


def _of_row(context: Context, method: str, node: ast.AST) -> tree.Expression:
    from .value_operators import call_value_method

    location = context.locate(node)
    row = tree.Convert(u32, location, tree.ThreadIndex(weak_int, location, 1))
    return call_value_method(context, _extent(context, node), method, [row], node)
