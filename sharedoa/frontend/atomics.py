"""Atomic operations on fields and elements; of vectors and matrices, on each component."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal

from ..model.scalars import ScalarType, boolean, u32
from ..model.types import ReferenceType, Type, ValueType
from . import tree
from .context import Context
from .conversions import coerce
from .expressions import expression, translate
from .held_values import HeldValues

Operator = Literal["add", "sub", "min", "max", "exch", "cas", "count"]
#: What is evaluated once, before the operation, and the variable that stands for it.


def atomic(operator: Operator, counts: int) -> Callable[[Context, ast.Call], tree.Expression]:
    """What translates calls of one atomic function, which takes ``counts`` arguments."""

    def handle(context: Context, node: ast.Call) -> tree.Expression:
        if len(node.args) != counts or node.keywords:
            context.reject(
                node,
                f"{ast.unparse(node.func)} takes {counts} arguments",
                'write (obj, "field", value) or (array, index, value); cas takes the expected '
                "value before the new one",
            )
        place = _place(context, node)
        type = place.type
        values = [expression(context, argument) for argument in node.args[2:]]
        if not _is_atomic(operator, type):
            context.reject(
                node,
                f"{operator} on {type!r} cannot be atomic",
                "use numbers of 32 or 64 bits, or add and subtract vectors; references only with "
                "atomic_exch and atomic_cas",
            )
        values = [coerce(context, value, type, node, "the atomic") for value in values]
        if isinstance(type, ValueType):
            return _by_component(context, operator, place, type, values[0], node)
        expected = values[0] if operator == "cas" else None
        return tree.Atomic(type, context.locate(node), operator, place, values[-1], expected)

    return handle


def _is_atomic(operator: Operator, type: Type) -> bool:
    if isinstance(type, ReferenceType):
        return operator in ("exch", "cas")
    if isinstance(type, ValueType):
        return bool(type.shape) and operator in ("add", "sub") and type.component.bits >= 32
    if operator == "count":
        return type == u32
    return isinstance(type, ScalarType) and type.bits >= 32 and type != boolean


def _by_component(
    context: Context,
    operator: Operator,
    place: tree.Place,
    type: ValueType,
    value: tree.Expression,
    node: ast.Call,
) -> tree.Expression:
    """The old components, each as it was when its turn came; what ``place`` names and ``value`` are
    evaluated once."""
    held = HeldValues()
    place = _evaluated_once(place, held)
    added = held.hold(value)
    return held.then(_members(operator, place, type, added, context.locate(node)))


def _members(
    operator: Operator,
    place: tree.Place,
    type: ValueType,
    value: tree.Expression,
    location: tree.Location,
) -> tree.Expression:
    old: list[tree.Expression] = []
    for name, part in type.fields.items():
        member = tree.MemberPlace(part, location, place, name)
        added = tree.ValueField(part, location, value, name)
        if isinstance(part, ValueType):  # a row of a matrix
            old.append(_members(operator, member, part, added, location))
        else:
            old.append(tree.Atomic(part, location, operator, member, added))
    return tree.MakeValue(type, location, old)


def _evaluated_once(place: tree.Place, held: HeldValues) -> tree.Place:
    match place:
        case tree.FieldPlace():
            object = held.hold(place.object)
            return tree.FieldPlace(place.type, place.location, object, place.owner, place.name)
        case tree.ElementPlace():
            array = held.hold(place.array)
            index = held.hold(place.index)
            negative = place.may_be_negative
            return tree.ElementPlace(place.type, place.location, array, index, negative)
        case tree.InlinePlace():
            base = _evaluated_once(place.base, held)
            index = held.hold(place.index)
            negative = place.may_be_negative
            return tree.InlinePlace(place.type, place.location, base, index, negative)
    return place  # a tile, which nothing has to be evaluated for


def _place(context: Context, node: ast.Call) -> tree.Place:
    """The field or element that the first two arguments name."""
    target, key = node.args[0], node.args[1]
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        attribute = ast.copy_location(ast.Attribute(target, key.value, ast.Load()), key)
        operand = translate(context, attribute)
    else:
        element = ast.copy_location(ast.Subscript(target, key, ast.Load()), node)
        operand = translate(context, element)
    is_own = isinstance(operand, tree.Load) and tree.is_own(operand.place)
    if isinstance(operand, tree.Load) and not (is_own or tree.is_in_value(operand.place)):
        return operand.place
    context.reject(
        node,
        "an atomic needs a field of an object or an element of an array",
        'write (obj, "field", value) or (array, index, value)',
    )
