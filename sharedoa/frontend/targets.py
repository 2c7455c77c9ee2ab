"""What is assigned to: fields and elements, which are places in memory, and properties, whose
setters are called."""

from __future__ import annotations

import ast

from dispatch.dataclass import dataclass

from ..model.classes import setter_name
from ..model.types import ReferenceType
from . import tree
from .attributes import attribute_in, is_super
from .calls import call_object_method, method_call
from .context import Context
from .conversions import as_variable
from .expressions import expression, operate, translate
from .operands import InlineArray

_CALLS = (tree.DirectCall, tree.VirtualCall)


@dataclass
class AssignedProperty:
    """A property of ``receiver`` and its setter."""

    receiver: tree.Expression
    setter: str
    node: ast.Attribute


def target_of(context: Context, target: ast.expr) -> tree.Place | AssignedProperty:
    """What an assignment target names, other than a variable; a field that is an inline array, too,
    which takes what ``inline_arrays.given`` makes."""
    if not isinstance(target, (ast.Attribute, ast.Subscript)):
        context.reject(
            target,
            "this cannot be assigned to",
            "assign to a variable, a field or an element",
        )
    if isinstance(target, ast.Attribute) and not is_super(target.value):
        base = translate(context, target.value)
        type, setter = getattr(base, "type", None), setter_name(target.attr)
        if isinstance(type, ReferenceType) and setter in type.cls.slots:
            assert isinstance(base, tree.Expression)
            return AssignedProperty(base, setter, target)
        operand = attribute_in(context, base, target)
    else:
        operand = translate(context, target)
    if isinstance(operand, InlineArray) and isinstance(operand.source, tree.FieldPlace):
        return operand.source
    if isinstance(operand, InlineArray):
        context.reject(
            target,
            "a part of an inline array, or of a value, cannot be assigned as a whole",
            "assign its elements",
        )
    if isinstance(operand, (tree.ValueField, tree.InlineItem)) or (
        isinstance(operand, tree.Load) and tree.is_in_value(operand.place)
    ):
        context.reject(
            target,
            "a field of a value struct cannot be assigned: values do not change",
            f"assign the whole of it: {ast.unparse(target.value)} = a new value",
        )
    if isinstance(operand, tree.Load):
        return operand.place
    if isinstance(target, ast.Attribute) and isinstance(operand, _CALLS):
        context.reject(
            target,
            f"{ast.unparse(target)} is a property without a setter that kernels can call",
            f"write @{target.attr}.setter def {target.attr}(self, value: f32), with its type, or a "
            "method that assigns the fields",
        )
    cure = "assign to a field of an object or an element"
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
        cure = "assign its elements in a loop: for i in range(start, stop): a[i] = x"
    context.reject(target, "this cannot be assigned to", cure)


def assign_property(
    context: Context, target: AssignedProperty, value: tree.Expression, node: ast.AST
) -> list[tree.Statement]:
    """The value is computed before the object, as in Python."""
    made: list[tree.Statement] = []
    if not isinstance(value, tree.Constant):
        value = _named(context, made, value, node)
    call = call_object_method(context, target.receiver, target.setter, [value], node)
    return [*made, tree.Evaluate(context.locate(node), call)]


def augment_property(
    context: Context, target: AssignedProperty, node: ast.AugAssign
) -> list[tree.Statement]:
    """The object is computed once, for the getter and the setter."""
    made: list[tree.Statement] = []
    receiver = _named(context, made, target.receiver, node)
    read = ast.copy_location(ast.Call(target.node, [], []), target.node)
    old = method_call(context, receiver, target.node.attr, read)
    value = operate(context, node.op, old, expression(context, node.value), node)
    call = call_object_method(context, receiver, target.setter, [value], node)
    return [*made, tree.Evaluate(context.locate(node), call)]


def _named(
    context: Context, before: list[tree.Statement], value: tree.Expression, node: ast.AST
) -> tree.Expression:
    """``value``, computed by a statement after those of ``before``."""
    variable = context.temporary(value.type)
    value = as_variable(context, value, node)
    before.append(tree.Assign(context.locate(node), variable, value))
    return tree.Local(value.type, value.location, variable)
