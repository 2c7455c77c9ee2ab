"""Operators of value structs, which are calls of their methods."""

from __future__ import annotations

import ast

from ..model.classes import Signature
from ..model.scalars import can_store
from ..model.types import NullType, ReferenceType, ScalarType, Type, ValueType
from . import tree
from .context import Context
from .conversions import as_variable, coerce
from .held_values import HeldValues


def value_operator(
    context: Context,
    symbol: str,
    method: str,
    left: tree.Expression,
    right: tree.Expression,
    node: ast.AST,
) -> tree.Expression:
    """``left op right``: the left operand's method if it takes the right one, else the method of
    the right one for reflected operands."""
    name, reflected = f"__{method}__", f"__r{method}__"
    of_left, of_right = (_form(context, a, n, b) for a, n, b in (
        (left.type, name, right.type), (right.type, reflected, left.type),
    ))  # fmt: skip
    has_left = isinstance(left.type, ValueType) and name in left.type.methods
    has_right = isinstance(right.type, ValueType) and reflected in right.type.methods
    if of_left is not None or (has_left and of_right is None):
        return call_value_method(context, left, of_left or name, [right], node)
    if has_right:
        # Python evaluates the left operand first, then calls the right one's method.
        held = HeldValues()
        a, b = held.hold(as_variable(context, left, node)), held.hold(right)
        return held.then(call_value_method(context, b, of_right or reflected, [a], node))
    context.reject(
        node,
        f"{left.type!r} {symbol} {right.type!r} is not defined",
        f"define {name} in the value struct",
    )


def _form(context: Context, struct: Type, name: str, argument: Type) -> str | None:
    """The first form of a method that takes an argument."""
    if not isinstance(struct, ValueType) or name not in struct.methods:
        return None
    for form in (name, *struct.forms.get(name, ())):
        types = context.program.value_signature(struct, form).types
        if len(types) == 1 and _takes(types[0], argument):
            return form
    return None


def _takes(type: Type, argument: Type) -> bool:
    if isinstance(type, ScalarType):
        return isinstance(argument, ScalarType) and can_store(argument, type)
    if isinstance(type, ReferenceType):
        return isinstance(argument, NullType) or (
            isinstance(argument, ReferenceType) and argument.cls.is_subclass_of(type.cls)
        )
    return argument == type


def call_value_method(
    context: Context,
    receiver: tree.Expression,
    name: str,
    arguments: list[tree.Expression],
    node: ast.AST,
) -> tree.Expression:
    """A method of a value struct with arguments that are translated already (an operator)."""
    struct = receiver.type
    assert isinstance(struct, ValueType)
    if name not in struct.methods:
        context.reject(
            node, f"{struct.name} does not define {name}", f"define {name} in the value struct"
        )
    signature = context.program.value_signature(struct, name)
    given = operands(context, signature, f"{struct.name}.{name}", arguments, node)
    symbol = context.program.require_value_method(struct, name)
    return tree.DirectCall(signature.result, context.locate(node), symbol, [receiver, *given])


def operands(
    context: Context,
    signature: Signature,
    label: str,
    arguments: list[tree.Expression],
    node: ast.AST,
) -> list[tree.Expression]:
    """What a method that stands for an operator is given."""
    if not len(arguments) == len(signature.types) == signature.most_by_position:
        by_position = " by position" if signature.only_named else ""
        context.reject(
            node,
            f"{label} takes {signature.most_by_position} operands{by_position}, not "
            f"{len(arguments)}",
            "give it the parameters that Python passes to this operator",
        )
    return [
        coerce(context, value, type, node, f"{label}: {parameter}")
        for parameter, type, value in zip(signature.names, signature.types, arguments, strict=True)
    ]
