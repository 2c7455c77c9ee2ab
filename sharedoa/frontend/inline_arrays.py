"""Inline arrays, vectors and matrices by index, and inline arrays that are parts of new values."""

from __future__ import annotations

import ast

from ..model.scalars import weak_int
from ..model.types import InlineType, ListType, ScalarType, TupleType, Type, ValueType
from . import tree
from .context import Context
from .conversions import as_variable, coerce
from .expressions import as_value, expression, translate
from .held_values import HeldValues, items_of_tuple
from .operands import InlineArray, Operand
from .subscripts import index_of

Index = tuple[tree.Expression, bool]
"""An index, and whether it may be negative."""


def inline_item(context: Context, base: InlineArray, node: ast.Subscript) -> Operand:
    """``array[i]``, or ``array[i, j]``: an element, or a row of several."""
    indices = _indices(context, base.type.shape, repr(base.type), node)
    location, source, type = context.locate(node), base.source, base.type
    if isinstance(source, tree.Expression):
        if len(indices) < len(type.shape):
            context.reject(node, f"{type!r} has {len(type.shape)} indices", "give all of them")
        return _item_of_value(type.element, source, indices, location)
    place: tree.Place = source
    for index, wraps in indices:
        assert isinstance(place.type, InlineType)
        place = tree.InlinePlace(place.type.item, location, place, index, wraps)
    if isinstance(place.type, InlineType):
        return InlineArray(place)
    return tree.Load(place.type, location, place)


def component(
    context: Context, base: tree.Expression, struct: ValueType, node: ast.Subscript
) -> tree.Expression:
    """``vector[i]``, ``matrix[i, j]``, or the row ``matrix[i]``."""
    location = context.locate(node)
    indices = _indices(context, struct.shape, repr(struct), node)
    known = [index.value for index, _ in indices if isinstance(index, tree.Constant)]
    if len(known) == len(indices):
        found = base
        for number in known:
            found = _field_number(found, int(number), location)
        return found
    held = HeldValues()
    whole = held.hold(as_variable(context, base, node))
    row = next(iter(struct.fields.values()))
    if len(indices) == 2 or isinstance(row, ScalarType):
        found = _item_of_value(struct.component, _components(whole, location), indices, location)
    else:
        assert isinstance(row, ValueType)
        index, wraps = indices[0]
        again = held.hold(index)
        columns = [tree.Constant(index.type, location, n) for n in range(len(row.fields))]
        found = tree.MakeValue(row, location, [
            _item_of_value(
                row.component, _components(whole, location), [(again, wraps), (column, False)],
                location,
            )
            for column in columns
        ])  # fmt: skip
    return held.then(found)


def _indices(
    context: Context, shape: tuple[int, ...], what: str, node: ast.Subscript
) -> list[Index]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(each, ast.Slice) for each in parts):
        context.reject(
            node,
            f"a slice of {what} is no value of its own",
            "go through it, for x in a[1:3] or sum(a[1:3]), or copy it, list(a[1:3]); to write, go "
            "through its indices",
        )
    if len(parts) > len(shape):
        context.reject(
            node,
            f"{what} has {len(shape)} {'index' if len(shape) == 1 else 'indices'}",
            "give one for each length",
        )
    return [
        _known(context, *index_of(context, part), length, what, node)
        for part, length in zip(parts, shape, strict=False)
    ]


def _known(
    context: Context,
    index: tree.Expression,
    wraps: bool,
    length: int,
    what: str,
    node: ast.Subscript,
) -> Index:
    """An index; one that is known counts from the front."""
    if not isinstance(index, tree.Constant):
        return index, wraps
    if not -length <= index.value < length:
        context.reject(
            node,
            f"index {index.value} is outside of {what}",
            f"use an index from {-length} to {length - 1}",
        )
    return tree.Constant(index.type, index.location, int(index.value) % length), False


def _item_of_value(
    type: Type, value: tree.Expression, indices: list[Index], location: tree.Location
) -> tree.Expression:
    numbers, wraps = zip(*indices, strict=True)
    return tree.InlineItem(type, location, value, list(numbers), wraps)


def _field_number(base: tree.Expression, number: int, location: tree.Location) -> tree.Expression:
    """The component or row of that number."""
    assert isinstance(base.type, ValueType)
    name, type = list(base.type.fields.items())[number]
    if isinstance(base, tree.Load):
        return tree.Load(type, location, tree.MemberPlace(type, location, base.place, name))
    return tree.ValueField(type, location, base, name)


def _components(base: tree.Expression, location: tree.Location) -> tree.Expression:
    """A vector or a matrix as an inline array."""
    struct = base.type
    assert isinstance(struct, ValueType)
    type = InlineType(struct.component, struct.shape)
    fields = [tree.ValueField(each, location, base, name) for name, each in struct.fields.items()]
    items = [_components(f, location) if isinstance(f.type, ValueType) else f for f in fields]
    return tree.MakeInline(type, location, items)


def fields_of_vector(
    context: Context, value: tree.Expression, node: ast.AST
) -> list[tree.Expression]:
    """Each component of a vector, or row of a matrix, which is a variable."""
    assert isinstance(value.type, ValueType)
    location = context.locate(node)
    return [_field_number(value, number, location) for number in range(len(value.type.fields))]


# ------------------------------------------------------------- parts of new values


def may_be_inline(node: ast.Assign) -> bool:
    """Whether what is assigned may be told that an inline array takes it, before it is translated:
    an attribute is assigned, whose object names no variable that the value gives."""
    has_names = any(isinstance(each, ast.NamedExpr) for each in ast.walk(node))
    return isinstance(node.targets[0], ast.Attribute) and not has_names


def _repeated(node: ast.expr) -> ast.List | None:
    """The list in ``[x] * n``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    return next((each for each in (node.left, node.right) if isinstance(each, ast.List)), None)


def given(context: Context, node: ast.expr, type: Type) -> tree.Expression:
    """The expression of an argument for a parameter, or a field, of ``type``: where that is an
    inline array, also another one, a tuple or a list of elements."""
    if not isinstance(type, InlineType):
        return expression(context, node)
    if _repeated(node) is not None:
        return _of_repeated(context, node, type)
    if not isinstance(node, (ast.Tuple, ast.List)):
        operand = translate(context, node)
        if isinstance(operand, InlineArray):
            return operand.value
        return of_tuple(context, as_value(context, operand, node), node, type)
    if len(node.elts) != type.shape[0]:
        context.reject(
            node,
            f"{type!r} is given {len(node.elts)} items",
            f"give it {type.shape[0]}",
        )
    items = [
        coerce(context, given(context, each, type.item), type.item, each, f"element {number}")
        for number, each in enumerate(node.elts)
    ]
    return tree.MakeInline(type, context.locate(node), items)


def of_tuple(
    context: Context, value: tree.Expression, node: ast.AST, type: InlineType
) -> tree.Expression:
    """What a tuple, or a list, with as many items gives; an inline array as it is."""
    if isinstance(value.type, InlineType):
        return value
    held, location, count = HeldValues(), context.locate(node), type.shape[0]
    if isinstance(value.type, ListType) and context.length_of_list(value) == count:
        whole, element = held.hold(value), value.type.element
        numbers = [tree.Constant(weak_int, location, n) for n in range(count)]
        places = [tree.ElementPlace(element, location, whole, n, False) for n in numbers]
        loads = [tree.Load(element, location, place) for place in places]
        items = [coerce(context, load, type.item, node, "an element") for load in loads]
        return held.then(tree.MakeInline(type, location, items))
    if not isinstance(value.type, TupleType) or len(value.type.items) != count:
        made = f"a list or tuple of {count}, [x] * {count}"
        if isinstance(value.type, ListType):
            made = f"a list that is known to have {count}"
        context.reject(
            node,
            f"{type!r} takes {count} items, not {value.type!r}",
            f"write {made}, or assign its elements in a loop",
        )
    whole = held.hold(as_variable(context, value, node))
    parts = items_of_tuple(whole)
    items = [coerce(context, part, type.item, node, "an element") for part in parts]
    return held.then(tree.MakeInline(type, location, items))


def _of_repeated(context: Context, node: ast.expr, type: InlineType) -> tree.Expression:
    """``[x] * n``: each item is computed once."""
    made = expression(context, node)
    if not isinstance(made, tree.MakeList) or len(made.items) * made.repeat != type.shape[0]:
        context.reject(
            node, f"{type!r} has {type.shape[0]} items", f"write [...] * {type.shape[0]}"
        )
    held = HeldValues()
    items = [
        coerce(context, held.hold_unknown(each), type.item, node, "an element")
        for each in made.items
    ]
    return held.then(tree.MakeInline(type, context.locate(node), items * made.repeat))
