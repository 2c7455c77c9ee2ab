"""Objects that kernels make, end, and ask about: ``oa.new``, ``C(...)``, ``oa.delete``,
``oa.is_alive``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..model.classes import ClassType, Method
from ..model.functions import user_function
from ..model.object import has_init
from ..model.scalars import boolean
from ..model.types import InlineType, NullType, ReferenceType
from . import tree
from .calls import bind
from .context import Context
from .conversions import coerce, constant_of
from .dependencies import InitialiserDependency
from .expressions import expression, static_value
from .kept_translations import noted
from .library import NAMED
from .source import source_of

if TYPE_CHECKING:
    from .program import ProgramBuilder


def _new(context: Context, node: ast.Call) -> tree.Expression:
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        context.reject(
            node,
            "oa.new makes one object in a kernel",
            "write oa.new(C, field=value) in each thread that makes one",
        )
    named = ast.copy_location(ast.Call(node.func, [], node.keywords), node)
    return _made(context, static_value(context, node.args[0]), named)


def _construct(context: Context, node: ast.Call) -> tree.Expression:
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
        context.reject(node, cls.why_abstract(), "make objects of a subclass")
    initialiser = cls.find_initialiser()
    context.depend(InitialiserDependency(cls, initialiser))
    if has_init(cls):
        return _initialised(context, cls, initialiser, node)
    if node.args:
        context.reject(node, "fields are given by name", "write C(field=value)")
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
    for name, value in _defaults(context, cls, node):
        if name not in names:
            names.append(name)
            values.append(value)
    return tree.New(ReferenceType(cls), context.locate(node), cls, names, values)


def _defaults(
    context: Context, cls: ClassType, node: ast.Call
) -> Iterator[tuple[str, tree.Expression]]:
    """What fields begin with that are not zero or null."""
    fields = cls.fields
    for name, default in cls.defaults.items():
        value, what = constant_of(context, default, node), f"{cls.name}.{name}"
        yield name, coerce(context, value, fields[name], node, what)


def _initialised(
    context: Context, cls: ClassType, method: Method | None, node: ast.Call
) -> tree.Expression:
    """A new object whose ``__init__`` takes the arguments."""
    known: Any = cls.python_class.__init__  # type: ignore[misc]
    if method is None or method.function is not user_function(known):
        context.reject(
            node,
            f"kernels cannot run the __init__ of {cls.name}",
            "write it as def __init__(self, ...) in a shared class",
        )
    arguments, wrap = bind(context, method.signature, node, cls.name)
    symbol = _constructor(context.program, cls, method)
    defaults, here = dict(_defaults(context, cls, node)), context.locate(node)
    # Made here, after the arguments, so that a HeapError names the line that wanted it.
    new = tree.New(ReferenceType(cls), here, cls, [*defaults], [*defaults.values()])
    return wrap(tree.DirectCall(ReferenceType(cls), here, symbol, [*arguments, new]))


@noted
def _constructor(program: ProgramBuilder, cls: ClassType, initialiser: Method) -> str:
    """The symbol of a function that runs ``__init__`` of ``cls`` on its last argument, unless that
    is null, as there was no room, and returns it."""
    symbol = f"{cls.name}.{cls.type_index}.__init__.made"  # which no method is called
    if symbol in program.functions:
        return symbol
    run = program.require_method(initialiser)
    signature, reference = initialiser.signature, ReferenceType(cls)
    source = source_of(initialiser.function, f"{initialiser.owner.name}.__init__")
    here = source.locate(source.definition)
    parameters = [tree.Variable(*p) for p in zip(signature.names, signature.types, strict=True)]
    made = tree.Variable("made", reference)
    there = tree.Local(reference, here, made)
    itself = tree.Convert(ReferenceType(initialiser.owner), here, there)
    given = [tree.Local(each.type, here, each) for each in parameters]
    initialise = tree.DirectCall(signature.result, here, run, [itself, *given])
    has_room = tree.Compare(boolean, here, "is_not", there, tree.Null(reference, here))
    program.functions[symbol] = tree.Function(
        symbol, cls.name, "func", [*parameters, made], reference, [
            tree.If(here, has_room, [tree.Evaluate(here, initialise)], []),
            tree.Return(here, there),
        ], here,
    )  # fmt: skip
    return symbol


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
