"""What is between brackets: elements, rows and slices of arrays, and their shapes."""

from __future__ import annotations

import ast

from ..model.array2_type import COLUMNS, FLAT, ROWS, Array2Type
from ..model.scalars import boolean, weak_int
from ..model.types import ArrayType, TupleType, ValueType
from . import tree
from .context import Context
from .conversions import as_index, constant, is_nonnegative
from .expressions import expression
from .held_values import HeldValues


def index_of(context: Context, node: ast.expr) -> tuple[tree.Expression, bool]:
    """An index, and whether it may be negative."""
    value = expression(context, node)
    if isinstance(value.type, TupleType):
        context.reject(
            node,
            "this array has one dimension",
            "compute the index: a[y * width + x], or make it one of two: oa.zeros((height, width), "
            "T), and annotate it with oa.Array[T, 2]",
        )
    index = as_index(context, value, node, "the index")
    return index, not is_nonnegative(context, index)


def array_item(context: Context, base: tree.Expression, node: ast.Subscript) -> tree.Expression:
    """``base[index]``, or a slice, of an array of one dimension."""
    assert isinstance(base.type, ArrayType)
    if isinstance(node.slice, ast.Slice):
        return _sliced(context, base, base.type, node.slice, node)
    index, wraps = index_of(context, node.slice)
    location = context.locate(node)
    place = tree.ElementPlace(base.type.element, location, base, index, wraps)
    return tree.Load(place.type, location, place)


def array2_item(
    context: Context, base: tree.Expression, type: Array2Type, node: ast.Subscript
) -> tree.Expression:
    """``base[y, x]`` or ``base[y]`` of an array of two dimensions."""
    location = context.locate(node)
    given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(given) > 2 or any(isinstance(each, ast.Slice) for each in given):
        context.reject(
            node,
            f"{type!r} takes one or two indices",
            "write a[y, x] for an element, or a[y] for a row, which can be cut: a[y][i:j]",
        )
    row, wraps = index_of(context, given[0])
    found = tree.ArrayRow(
        type.flat, location, part(base, type, FLAT, location), row,
        part(base, type, ROWS, location), part(base, type, COLUMNS, location), wraps,
    )  # fmt: skip
    if len(given) == 1:
        return found
    column, wraps = index_of(context, given[1])
    place = tree.ElementPlace(type.element, location, found, column, wraps)
    return tree.Load(place.type, location, place)


def part(
    base: tree.Expression, type: Array2Type, name: str, location: tree.Location
) -> tree.Expression:
    """All elements of an array of two dimensions, or its number of rows or columns."""
    found = tree.ValueField(type.fields[name], location, base, name)
    return found if name == FLAT else tree.Convert(weak_int, location, found)


def shape_of(base: tree.Expression, location: tree.Location) -> tree.Expression | None:
    """``base.shape``; None of what has none."""
    if isinstance(base.type, ArrayType):
        lengths: list[tree.Expression] = [tree.ArrayLength(weak_int, location, base)]
    elif isinstance(base.type, Array2Type):
        lengths = [part(base, base.type, name, location) for name in (ROWS, COLUMNS)]
    else:
        return None
    element = base.type.element
    if isinstance(element, ValueType):  # of vectors, as NumPy sees them
        lengths += [constant(each, weak_int, location) for each in element.shape]
    return tree.MakeTuple(TupleType((weak_int,) * len(lengths)), location, lengths)


def _sliced(
    context: Context, base: tree.Expression, type: ArrayType, cut: ast.Slice, node: ast.Subscript
) -> tree.Expression:
    """As Python cuts: bounds count from the end where they are negative, and stay inside."""
    location = context.locate(node)
    if cut.step is not None:
        context.reject(cut.step, "a slice of an array has no step", "write a[start:stop]")
    held = HeldValues()
    a = held.hold(base)
    n = held.hold(tree.ArrayLength(weak_int, location, a))
    start, count = bounds_of(context, cut, n, held, node)
    return held.then(tree.ArraySlice(type, location, a, start, count))


def bounds_of(
    context: Context, cut: ast.Slice, n: tree.Expression, held: HeldValues, node: ast.AST
) -> tuple[tree.Expression, tree.Expression]:
    """Where a slice of ``n`` items starts, and how many it has."""
    location = context.locate(node)
    zero = constant(0, weak_int, location)

    def choose(
        operator: tree.CompareOperator, x: tree.Expression, y: tree.Expression,
        then: tree.Expression, other: tree.Expression,
    ) -> tree.Expression:  # fmt: skip
        test = tree.Compare(boolean, location, operator, x, y)
        return tree.Conditional(weak_int, location, test, then, other)

    def bound(given: ast.expr | None, default: tree.Expression) -> tree.Expression:
        if given is None:
            return default
        value, wraps = index_of(context, given)
        of_bound = HeldValues()
        v = of_bound.hold(value)
        inside = choose("lt", v, n, v, n)
        if wraps:
            from_end = HeldValues()
            w = from_end.hold(tree.Binary(weak_int, location, "add", v, n))
            counted = from_end.then(choose("lt", w, zero, zero, w))
            inside = choose("lt", v, zero, counted, inside)
        return of_bound.then(inside)

    s, e = held.hold(bound(cut.lower, zero)), held.hold(bound(cut.upper, n))
    distance = tree.Binary(weak_int, location, "sub", e, s)
    return s, choose("lt", s, e, distance, zero)
