"""Conversions that Python or NumPy would make silently, written into the tree; constants fold."""

from __future__ import annotations

import ast
from enum import Enum
from typing import Any

import numpy as np

from ..model.array2_type import Array2Type
from ..model.scalars import (
    ScalarType,
    boolean,
    can_store,
    from_dtype,
    weak_float,
    weak_int,
)
from ..model.types import (
    NULL,
    ArrayType,
    ListType,
    NullType,
    ReferenceType,
    TupleType,
    Type,
    ValueType,
    VoidType,
)
from ..model.values import InlineValue
from . import tree
from .context import Context


def constant(value: Any, type: ScalarType, location: tree.Location) -> tree.Constant:
    return tree.Constant(type, location, value)


def constant_of(context: Context, value: Any, node: ast.AST, name: str = "this") -> tree.Expression:
    """A host value that the source names, as a constant of the tree."""
    location = context.locate(node)
    if value is None:
        return tree.Null(NULL, location)
    if isinstance(value, (bool, np.bool_)):
        return constant(bool(value), boolean, location)
    if isinstance(value, np.generic):
        scalar = from_dtype(value.dtype)
        if scalar is not None:
            return constant(value.item(), scalar, location)
    elif isinstance(value, int):
        return constant(value, weak_int, location)
    elif isinstance(value, float):
        return constant(value, weak_float, location)
    elif isinstance(value, tuple):
        items = [constant_of(context, item, node, name) for item in value]
        return tree.MakeTuple(TupleType(tuple(item.type for item in items)), location, items)
    elif isinstance(value, InlineValue):
        items = [constant_of(context, item, node, name) for item in value]
        return tree.MakeInline(value.type, location, items)
    struct = getattr(type(value), "__sharedoa_value__", None)
    if isinstance(struct, ValueType):
        fields = [constant_of(context, getattr(value, f), node, name) for f in struct.fields]
        return tree.MakeValue(struct, location, fields)
    kind = type(value).__name__
    cure = "constants are numbers, None, tuples and values; pass arrays and objects as arguments"
    if isinstance(value, Enum):
        cure = f"let its members be numbers: class {kind}(IntEnum)"
    context.reject(node, f"{name} is a Python {kind}, which kernels cannot use", cure)


def convert_scalar(
    context: Context, value: tree.Expression, target: ScalarType, node: ast.AST
) -> tree.Expression:
    """An explicit or already allowed conversion between scalars; constants fold."""
    if value.type == target:
        return value
    if isinstance(value, tree.Constant):
        try:
            return _fold(value, target)
        except (OverflowError, ValueError) as error:
            context.reject(
                node, f"this constant does not convert to {target}: {error}", "correct the constant"
            )
    return tree.Convert(target, value.location, value)


def _fold(value: tree.Constant, target: ScalarType) -> tree.Constant:
    if target == weak_int:
        folded: Any = int(value.value)
    elif target == weak_float:
        folded = float(value.value)
    else:
        with np.errstate(all="ignore"):
            folded = target(value.value)
        folded = folded if isinstance(folded, bool) else folded.item()
    return constant(folded, target, value.location)


def weak_to_typed(
    context: Context, value: tree.Expression, target: ScalarType, node: ast.AST
) -> tree.Expression:
    """A literal meeting a typed operand takes its type; one that does not fit is an error."""
    if (
        isinstance(value, tree.Constant)
        and isinstance(value.type, ScalarType)
        and value.type == weak_int
        and target.is_integer
    ):
        low, high = target.range
        if not low <= value.value <= high:
            wrapping = "u64 or f64" if target.weak else f"{target}({value.value}) to wrap it"
            context.reject(
                node,
                f"{value.value} does not fit {target} ({low} to {high})",
                f"use a wider type, or {wrapping}",
            )
    return convert_scalar(context, value, target, node)


def coerce(
    context: Context, value: tree.Expression, target: Type, node: ast.AST, what: str | ast.expr
) -> tree.Expression:
    """``value`` as ``target``, as an argument, assignment or return converts (same_kind); ``what``
    it is for is words, or the source of the target."""
    source = value.type
    if source == target and not isinstance(value, (tree.Constant, tree.MakeTuple)):
        return value
    if isinstance(source, ScalarType) and isinstance(target, ScalarType):
        if can_store(source, target):
            return weak_to_typed(context, value, target, node)
        context.reject(
            node,
            f"{_words(what)} takes {target}, and {source} does not convert to it by itself",
            f"write {target}(...)",
        )
    if isinstance(target, ReferenceType):
        if isinstance(source, NullType):
            return tree.Null(target, value.location)
        if isinstance(source, ReferenceType) and source.cls.is_subclass_of(target.cls):
            return tree.Convert(target, value.location, value)
    if isinstance(target, TupleType) and isinstance(value, tree.MakeTuple):
        return _coerce_tuple(context, value, target, node, what)
    context.reject(
        node, f"{_words(what)} takes {target!r}, not {source!r}", _advice(source, target)
    )


def _coerce_tuple(
    context: Context,
    value: tree.MakeTuple,
    target: TupleType,
    node: ast.AST,
    what: str | ast.expr,
) -> tree.Expression:
    if len(value.items) != len(target.items):
        context.reject(
            node,
            f"{_words(what)} takes {len(target.items)} values, not {len(value.items)}",
            "give one value for each",
        )
    items = [
        coerce(context, item, type, node, what)
        for item, type in zip(value.items, target.items, strict=True)
    ]
    return tree.MakeTuple(target, value.location, items)


def _words(what: str | ast.expr) -> str:
    return what if isinstance(what, str) else ast.unparse(what)


def _advice(source: Type, target: Type) -> str:
    if isinstance(source, ReferenceType) and isinstance(target, ReferenceType):
        if target.cls.is_subclass_of(source.cls):
            return (
                f"put it into a variable x and use it inside `if isinstance(x, {target.cls.name}):`"
            )
        return f"{source.cls.name} is not a subclass of {target.cls.name}"
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return "an array's element type must be exactly the declared one"
    if isinstance(source, ListType) and isinstance(target, ListType):
        return f"make a list of {target.element!r}: [{target.element!r}(0)] * 8"
    return f"pass a value of type {target!r}"


def require_value(context: Context, value: tree.Expression, node: ast.AST) -> tree.Expression:
    """``value``, unless it is the call of a function without result."""
    if isinstance(value.type, VoidType):
        context.reject(node, "this call gives no value", "call it as a statement")
    return value


def as_variable(context: Context, value: tree.Expression, node: ast.AST) -> tree.Expression:
    """``value`` as a variable of its own type holds it; an integer constant that does not fit is an
    error."""
    return coerce(context, require_value(context, value, node), value.type, node, "this")


def truth(context: Context, value: tree.Expression, node: ast.AST) -> tree.Expression:
    """``bool(value)``, as ``if`` and ``not`` take it."""
    type, location = value.type, value.location
    if type == boolean:
        return value
    if isinstance(value, tree.Constant):
        return constant(bool(value.value), boolean, location)
    if isinstance(type, NullType):
        return constant(False, boolean, location)
    if isinstance(type, (ScalarType, ReferenceType, ArrayType)):
        return tree.Truth(boolean, location, value)
    context.reject(node, f"{type!r} has no truth value", "compare it, or test one of its parts")


def as_index(context: Context, value: tree.Expression, node: ast.AST, what: str) -> tree.Expression:
    """An integer expression as a weak int."""
    if isinstance(value.type, ScalarType) and (value.type.is_integer or value.type == boolean):
        index = convert_scalar(context, value, weak_int, node)
        return weak_to_typed(context, index, weak_int, node)
    context.reject(
        node, f"{what} is {value.type!r}, not an integer", "convert it: int(x) or i32(x)"
    )


def is_nonnegative(context: Context, value: tree.Expression) -> bool:
    """Whether an integer expression is surely 0 or more, so that an index need not wrap."""
    if isinstance(value, tree.Constant):
        return value.value >= 0
    if isinstance(value, (tree.ThreadIndex, tree.GridSize, tree.ArrayLength)):
        return True
    if isinstance(value.type, ScalarType) and value.type.kind in ("uint", "bool"):
        return True
    if isinstance(value, tree.TableElement):
        return bool((value.table.values >= 0).all())
    if isinstance(value, tree.Local):
        is_known = context.nonnegative.get(value.variable.name, False)
        return value.type == weak_int and (is_known or value.variable in context.counters)
    if isinstance(value, tree.ValueField):
        return isinstance(value.value.type, Array2Type)  # a number of rows or columns
    if isinstance(value, tree.Convert):
        inner = value.value.type
        widens = isinstance(inner, ScalarType) and (
            inner.bits < 64 or inner.kind == "int" or inner.kind == "bool"
        )
        return value.type == weak_int and widens and is_nonnegative(context, value.value)
    if isinstance(value, tree.Binary):
        positive = isinstance(value.right, tree.Constant) and value.right.value > 0
        if value.operator == "mod" and positive:
            return True
        if value.operator in ("add", "mul", "floordiv", "rshift", "and"):
            both = is_nonnegative(context, value.left) and is_nonnegative(context, value.right)
            return both and (value.type == weak_int or value.operator not in ("add", "mul"))
    if isinstance(value, tree.Conditional):
        return is_nonnegative(context, value.then) and is_nonnegative(context, value.otherwise)
    return False
