"""Calls: methods (virtual or direct), functions, conversions, constructors and intrinsics."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np

from ..model.classes import ClassType, Method, Signature
from ..model.functions import DeviceFunction
from ..model.scalars import ScalarType, boolean, from_dtype
from ..model.types import ReferenceType, ValueType
from . import inline_arrays, library, tree
from .context import Context
from .conversions import coerce, constant_of, convert_scalar, truth
from .dependencies import InitialiserDependency, MethodDependency, ResolutionDependency
from .expressions import expression, translate
from .held_values import HeldValues
from .local_functions import call_local
from .number_methods import method_of_number
from .operands import BoundMethod, Initialiser, Static, UnboundMethod
from .value_operators import operands

#: What a call is given, in the order of the parameters, and what to put around the call.
Bound = tuple[list[tree.Expression], Callable[[tree.Expression], tree.Expression]]


def call(context: Context, node: ast.Call) -> tree.Expression:
    """Translate a call expression."""
    if isinstance(node.func, ast.Name) and node.func.id in context.functions:
        return call_local(context, context.functions[node.func.id], node)
    callee = translate(context, node.func)
    if isinstance(callee, BoundMethod):
        return bound_call(context, callee, node)
    if isinstance(callee, UnboundMethod):
        return unbound_call(context, callee, node)
    if isinstance(callee, Initialiser):
        return _initialiser_call(context, callee, node)
    if isinstance(callee, Static):
        return _static_call(context, callee, node)
    type = callee.type if isinstance(callee, tree.Expression) else None
    if isinstance(type, ReferenceType) and "__call__" in type.cls.slots:
        assert isinstance(callee, tree.Expression)
        return method_call(context, callee, "__call__", node)
    context.reject(node, "this is not a function", "call functions, methods and types")


def _static_call(context: Context, callee: Static, node: ast.Call) -> tree.Expression:
    target = callee.value
    if isinstance(target, ScalarType):
        return _conversion(context, target, node)
    if isinstance(target, DeviceFunction):
        symbol = context.program.require_function(target)
        return _direct(context, symbol, target.signature, [], node, target.name)
    handler = library.handler_of(target)
    if handler is not None:
        return handler(context, node)
    if isinstance(target, type):
        return _construct(context, target, callee.name, node)
    if library.is_math(target):
        return library.math_call(context, target, node)
    if not callable(target):
        context.reject(node, f"{callee.name} is not a function", "call functions and methods")
    context.reject(
        node,
        f"{callee.name} is a Python function that kernels cannot call",
        _instead_of(target),
    )


def _instead_of(target: Callable[..., object]) -> str:
    if id(target) in _INSTEAD_OF:
        return _INSTEAD_OF[id(target)]
    owner = getattr(target, "__self__", None)
    is_method = owner is not None and not inspect.ismodule(owner)
    module = type(owner).__module__ if is_method else str(getattr(target, "__module__", ""))
    if module == "random" or module.startswith("numpy.random"):
        return "write oa.random(seed, turn, self.id), or oa.randint: the same numbers everywhere"
    kernels_know = "use those of math and NumPy that kernels know, and oa's own"
    if not inspect.isfunction(target):
        return kernels_know
    if module.startswith("sharedoa."):
        return "it is for the host: call it there, and pass what it gives as an argument"
    return f"decorate it with @oa.func, or {kernels_know}"


_ASK_ISINSTANCE = "ask isinstance(x, C), or call a method that subclasses override"
_OF_TYPE = f"{_ASK_ISINSTANCE}; constants of its class are read of an object: self.LIMIT"
_LIST = "a few items of a thread's own are a list: [f32(0)] * 16; more are an argument"
#: What to write for functions of Python and NumPy that kernels do not know.
_INSTEAD_OF: dict[int, str] = {
    id(builtins.id): "compare references with is; give objects a field that numbers them",
    id(builtins.getattr): "write x.name",
    id(builtins.setattr): "write x.name = value",
    id(builtins.hasattr): _ASK_ISINSTANCE,
    id(math.isclose): "write abs(a - b) <= 1e-9 * max(abs(a), abs(b))",
    id(np.square): "write x * x",
    id(np.sum): "write sum(a)",
    id(
        math.dist
    ): "write math.sqrt((ax - bx) ** 2 + (ay - by) ** 2), or oa.length(a - b) of vectors",
    id(math.fsum): "write sum(a), with more digits sum(f64(x) for x in a)",
    id(builtins.sorted): "sort arrays on the host, a.sort(), and a list by loops over it",
    **{id(getattr(np, name)): _LIST for name in ("zeros", "ones", "empty", "full", "array")},
}
_GENERATOR = "write what it gives as a generator: sum(abs(x) for x in a if x > 0)"
#: For classes that kernels cannot make.
_INSTEAD_OF_CLASS: dict[type, str] = {
    type: _OF_TYPE,
    str: "numbers become text in print(f'{x}') and in the message of an assert alone",
    map: _GENERATOR,
    filter: _GENERATOR,
    **dict.fromkeys((set, frozenset, dict), "look in a tuple, x in (1, 2, 3), or in an array"),
}


def _conversion(context: Context, target: ScalarType, node: ast.Call) -> tree.Expression:
    if len(node.args) != 1 or node.keywords:
        context.reject(node, f"{target} takes one value", f"write {target}(x)")
    value = expression(context, node.args[0])
    if target == boolean:
        return truth(context, value, node)
    if not isinstance(value.type, ScalarType):
        context.reject(node, f"{value.type!r} does not convert to {target}", "convert a number")
    return convert_scalar(context, value, target, node)


def _construct(context: Context, target: type, name: str, node: ast.Call) -> tree.Expression:
    struct = target.__dict__.get("__sharedoa_value__")
    if isinstance(struct, ValueType):
        make = struct.constructors.get(len(node.args))
        if make is not None and not node.keywords:
            symbol = context.program.require_function(make)
            return _direct(context, symbol, make.signature, [], node, struct.name)
        fields = tuple(struct.fields)
        signature = Signature(fields, tuple(struct.fields.values()), struct, struct.defaults)
        arguments, wrap = bind(context, signature, node, struct.name)
        return wrap(tree.MakeValue(struct, context.locate(node), arguments))
    if isinstance(getattr(target, "__sharedoa__", None), ClassType):
        return library.NAMED["construct"](context, node)
    scalar = None
    if issubclass(target, np.generic):
        scalar = from_dtype(np.dtype(target))
    if scalar is not None:
        return _conversion(context, scalar, node)
    instead = "use @oa.value structs and shared classes"
    if issubclass(target, Enum):
        instead = "use the number itself: members are numbers in kernels"
    instead = _INSTEAD_OF_CLASS.get(target, instead)
    context.reject(node, f"{name} cannot be called in a kernel", instead)


def bound_call(context: Context, callee: BoundMethod, node: ast.Call) -> tree.Expression:
    """A method of an object, a value or a number."""
    type = callee.receiver.type
    if isinstance(type, ValueType):
        symbol = context.program.require_value_method(type, callee.name)
        signature = context.program.value_signature(type, callee.name)
        label = f"{type.name}.{callee.name}"
        return _direct(context, symbol, signature, [callee.receiver], node, label)
    if isinstance(type, ScalarType):
        return method_of_number(context, callee.receiver, callee.name, node)
    assert isinstance(type, ReferenceType)
    return method_call(context, callee.receiver, callee.name, node)


def method_call(
    context: Context, receiver: tree.Expression, name: str, node: ast.Call
) -> tree.Expression:
    """A method of an object: virtual when a subclass overrides it or its class leaves it abstract,
    else direct."""
    assert isinstance(receiver.type, ReferenceType)
    method = receiver.type.cls.find_method(name)
    assert method is not None
    label = f"{receiver.type.cls.name}.{name}"
    (receiver, *arguments), wrap = bind(context, method.signature, node, label, [receiver])
    return wrap(_call_of_object(context, receiver, name, arguments, node))


def call_object_method(
    context: Context,
    receiver: tree.Expression,
    name: str,
    arguments: list[tree.Expression],
    node: ast.AST,
) -> tree.Expression:
    """A method of an object with arguments that are translated already (an operator)."""
    assert isinstance(receiver.type, ReferenceType)
    cls = receiver.type.cls
    method = cls.find_method(name) if name in cls.slots else None
    if method is None:
        context.reject(
            node,
            f"{cls.name} does not define {name}",
            f"define it with the types of parameters and result: def {name}(self, ...)",
        )
    given = operands(context, method.signature, f"{cls.name}.{name}", arguments, node)
    return _call_of_object(context, receiver, name, given, node)


def _call_of_object(
    context: Context,
    receiver: tree.Expression,
    name: str,
    arguments: list[tree.Expression],
    node: ast.AST,
) -> tree.Expression:
    assert isinstance(receiver.type, ReferenceType)
    cls = receiver.type.cls
    method = cls.find_method(name)
    assert method is not None
    context.depend(ResolutionDependency.of(cls, name))
    label, location = f"{cls.name}.{name}", context.locate(node)
    concrete = cls.concrete()
    is_one = not cls.is_overridden(name) and (method.kind != "class" or concrete == [cls])
    if is_one:
        symbol = context.program.require_method(method, cls)
        upcast = coerce(context, receiver, ReferenceType(method.owner), node, "the receiver")
        return tree.DirectCall(method.signature.result, location, symbol, [upcast, *arguments])
    candidates = [
        tree.Candidate(c, context.program.require_method(_concrete_method(c, name), c))
        for c in concrete
    ]
    if not candidates:
        context.reject(
            node,
            f"{label} is abstract and no class implements it",
            "define a subclass that overrides every abstract method before the launch",
        )
    signature = method.signature
    virtual = tree.VirtualCall(
        signature.result,
        location,
        receiver,
        cls,
        name,
        cls.slots[name],
        list(signature.types),
        arguments,
        candidates,
    )
    return virtual


def _concrete_method(cls: ClassType, name: str) -> Method:
    method = cls.find_method(name)
    assert method is not None and not method.abstract
    cls.fields  # noqa: B018  resolves the class, which checks that overrides keep the signature
    return method


def unbound_call(context: Context, callee: UnboundMethod, node: ast.Call) -> tree.Expression:
    method = callee.cls.find_method(callee.name)
    assert method is not None
    if not method.has_body:
        context.reject(
            node,
            f"{method.owner.name}.{callee.name} is abstract and has no body to run",
            "do not call it through super() or the class; override it",
        )
    context.depend(MethodDependency(callee.cls, callee.name, method))
    if method.kind in ("static", "class"):
        symbol = context.program.require_method(method, callee.cls)
        nobody = tree.Null(ReferenceType(method.owner), context.locate(node))
        return _direct(context, symbol, method.signature, [nobody], node, callee.name)
    return _call_of_class(context, method, callee.receiver, node)


def _initialiser_call(context: Context, callee: Initialiser, node: ast.Call) -> tree.Expression:
    """``super().__init__(...)`` or ``Class.__init__(self, ...)``."""
    cls = callee.cls
    method = cls.find_initialiser() if cls is not None else None
    if cls is not None:
        context.depend(InitialiserDependency(cls, method))
    if method is not None:
        return _call_of_class(context, method, callee.receiver, node)
    if callee.receiver is None or node.args or node.keywords:
        context.reject(
            node,
            f"{cls or 'oa.Object'} has no __init__ that takes anything",
            "set the fields instead",
        )
    return callee.receiver  # as CPython's, which does nothing


def _call_of_class(
    context: Context, method: Method, receiver: tree.Expression | None, node: ast.Call
) -> tree.Expression:
    """A call of exactly this method, on the first argument where no receiver is given."""
    symbol = context.program.require_method(method)
    label = f"{method.owner.name}.{method.name}"
    target = ReferenceType(method.owner)
    if receiver is not None:
        self = coerce(context, receiver, target, node, "self")
        return _direct(context, symbol, method.signature, [self], node, label)
    if not node.args:
        context.reject(node, f"{label} lacks its object", "pass the object first")
    self = coerce(context, expression(context, node.args[0]), target, node, "self")
    rest = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
    return _direct(context, symbol, method.signature, [self], rest, label)


def _direct(
    context: Context,
    symbol: str,
    signature: Signature,
    receiver: list[tree.Expression],
    node: ast.Call,
    label: str,
) -> tree.Expression:
    arguments, wrap = bind(context, signature, node, label, receiver)
    location = context.locate(node)
    return wrap(tree.DirectCall(signature.result, location, symbol, arguments))


def bind(
    context: Context,
    signature: Signature,
    node: ast.Call,
    label: str,
    receiver: Sequence[tree.Expression] = (),
) -> Bound:
    """The receiver, if there is one, and the arguments in the order of the parameters, converted;
    and a function that wraps the call in what keeps Python's evaluation order, the receiver first,
    when keywords stand in another order."""
    if len(node.args) > (most := signature.most_by_position):
        by_position = " by position" if signature.only_named else ""
        context.reject(
            node,
            f"{label} takes {most} arguments{by_position}, not {len(node.args)}",
            f"its parameters are ({', '.join(signature.names)})",
        )
    for keyword in node.keywords:
        if keyword.arg in signature.names and keyword.arg not in signature.by_name:
            context.reject(
                node, f"{label} takes {keyword.arg} by position only", "leave out its name"
            )
    given: dict[str, tree.Expression] = {}
    types = dict(zip(signature.names, signature.types, strict=True))
    pairs: list[tuple[str | None, ast.expr]] = [
        *zip(signature.names, node.args, strict=False),
        *((keyword.arg, keyword.value) for keyword in node.keywords),
    ]
    for name, argument in pairs:
        if name is None or name not in types:
            context.reject(
                node,
                f"{label} has no parameter {name}" if name else "** is outside the subset",
                f"its parameters are ({', '.join(signature.names)})",
            )
        if name in given:
            context.reject(node, f"{label} gets {name} twice", "pass it once")
        value = inline_arrays.given(context, argument, types[name])
        given[name] = coerce(context, value, types[name], argument, f"{label}: {name}")
    order = list(given)
    for name, default in signature.defaults.items():
        if name not in given:
            value = constant_of(context, default, node, f"the default of {name}")
            given[name] = coerce(context, value, types[name], node, f"{label}: {name}")
    missing = [name for name in signature.names if name not in given]
    if missing:
        context.reject(
            node,
            f"{label} lacks {', '.join(missing)}",
            f"its parameters are ({', '.join(signature.names)})",
        )
    if order == [name for name in signature.names if name in order]:
        return [*receiver, *(given[name] for name in signature.names)], lambda made: made
    return _reordered(signature, given, order, receiver)


def _reordered(
    signature: Signature,
    given: dict[str, tree.Expression],
    order: list[str],
    receiver: Sequence[tree.Expression],
) -> Bound:
    held = HeldValues()
    first = [held.hold(each) for each in receiver]
    by_name = {**given, **{name: held.hold(given[name]) for name in order}}
    return [*first, *(by_name[name] for name in signature.names)], held.then
