"""Objects that kernels make, end, and ask about: ``oa.new``, ``C(...)``, ``oa.delete``,
``oa.is_alive``."""

from __future__ import annotations

import ast
from typing import Any

from ..model.classes import ClassType
from ..model.object import has_init
from ..model.scalars import boolean
from ..model.types import InlineType, NullType, ReferenceType
from . import tree
from .context import Context
from .conversions import coerce
from .expressions import expression, static_value
from .library import NAMED


def _new(context: Context, node: ast.Call) -> tree.Expression:
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        context.reject(
            node,
            "oa.new makes one object in a kernel",
            "write oa.new(C, field=value) in each thread that makes one",
        )
    return _made(context, static_value(context, node.args[0]), node)


def _construct(context: Context, node: ast.Call) -> tree.Expression:
    if node.args:
        context.reject(node, "fields are given by name", "write C(field=value)")
    return _made(context, static_value(context, node.func), node)


def _made(context: Context, target: Any, node: ast.Call) -> tree.Expression:
    cls = getattr(target, "__sharedoa__", None)
    if not isinstance(cls, ClassType):
        context.reject(node, "oa.new needs a shared class", "name the class itself: oa.new(C)")
    if cls.foreign is not None:
        context.reject(
            node, f"{cls.name} is a class of C++", "make its objects on the host, or in C++"
        )
    if cls.is_abstract:
        missing = ", ".join(cls.abstract_methods)
        context.reject(
            node, f"{cls.name} is abstract: {missing} has no body", "make objects of a subclass"
        )
    if has_init(cls):
        context.reject(
            node,
            f"{cls.name} has an __init__, which kernels do not run",
            "give the fields by name, in a class without __init__",
        )
    names, values = [], []
    for keyword in node.keywords:
        name = keyword.arg
        if name is None or name not in cls.fields:
            context.reject(
                node,
                f"{cls.name} has no field {name}" if name else "** is outside the subset",
                f"its fields are {', '.join(cls.fields) or 'none'}",
            )
        type, what = cls.fields[name], f"{cls.name}.{name}"
        if isinstance(type, InlineType):
            context.reject(
                node, f"{what} is an inline array", "set its elements after the object is made"
            )
        names.append(name)
        value = expression(context, keyword.value)
        values.append(coerce(context, value, type, keyword.value, what))
    return tree.New(ReferenceType(cls), context.locate(node), cls, names, values)


def _delete(context: Context, node: ast.Call) -> tree.Expression:
    return tree.Delete(boolean, context.locate(node), _object(context, node, "oa.delete"))


def _is_alive(context: Context, node: ast.Call) -> tree.Expression:
    return tree.IsAlive(boolean, context.locate(node), _object(context, node, "oa.is_alive"))


def _object(context: Context, node: ast.Call, name: str) -> tree.Expression:
    if len(node.args) != 1 or node.keywords:
        context.reject(node, f"{name} takes one object", f"write {name}(x)")
    found = expression(context, node.args[0])
    if not isinstance(found.type, ReferenceType) or isinstance(found.type, NullType):
        context.reject(node, f"{name} takes an object, not {found.type!r}", "pass a reference")
    return found


NAMED.update(new=_new, construct=_construct, delete=_delete, is_alive=_is_alive)
