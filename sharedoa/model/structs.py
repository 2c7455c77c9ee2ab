"""``@oa.value``: small immutable structs that are copied, with methods and operators.

A value has no identity and is never shared: assigning one copies it. To change a field, make a new
value: ``v = Vec3(v.x, f32(0), v.z)``.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from ..errors import ArgumentError, ClassError
from . import lazy_annotations
from .annotations import OWN_CLASS, Scope, declare, local_names, refuse_grid, resolve
from .class_body import declared_fields
from .classes import Signature
from .functions import DeviceFunction, converting, refuse_lambda, stand_in, user_function
from .members import is_of_the_host, member_of
from .shown import shown
from .signatures import resolve_signature, scope_of
from .source_text import remember_source
from .types import InlineType, ReferenceType, ScalarType, Type, ValueType
from .values import convert, takes
from .world import World

T = TypeVar("T", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass_transform(frozen_default=True)
def value(python_class: T) -> T:
    """Make a class a value struct (``@oa.value``). Fields are scalars, references, inline arrays or
    values.

    Raises ClassError for bases, fields without annotation or fields that have no fixed size.
    """
    if not isinstance(python_class, type):
        raise ClassError(
            f"@oa.value decorates classes, not {python_class!r}", "put it directly above a class"
        )
    if python_class.__bases__ != (object,):
        raise ClassError(
            f"value struct {python_class.__name__} has a base class",
            "values have no inheritance; use a field of the other struct's type",
        )
    frame = sys._getframe(1)
    local = {**local_names(frame), OWN_CLASS: python_class}
    define(python_class, Scope(frame.f_globals, python_class.__module__, local))
    return python_class


def form_of(name: str) -> Callable[[Function], Function]:
    """Marks a method of a value struct: it is what the method ``name`` does for other arguments."""

    def mark(function: Function) -> Function:
        function.__sharedoa_form__ = name  # type: ignore[attr-defined]
        return function

    return mark


def define(
    python_class: type,
    scope: Scope,
    dtype: Any = None,
    constructors: dict[int, Any] | None = None,
) -> ValueType:
    """Make a class a value struct whose annotations are resolved in ``scope``; what else is given
    is that of ``ValueType``. Raises ClassError as ``value``."""
    declare(python_class)
    where = f"value struct {python_class.__name__}"
    given = declared_fields(where, lazy_annotations.of(python_class), vars(python_class))
    fields = {
        name: _field_type(annotation, scope, f"{where}, field {name}")
        for name, annotation in given.items()
    }
    if not fields:
        raise ClassError(
            f"value struct {python_class.__name__} has no fields", "annotate at least one"
        )
    _check_members(python_class, fields)
    defaults = _defaults(python_class, fields)
    methods: dict[str, Callable[..., Any]] = {
        name: user_function(function)
        for name, function in python_class.__dict__.items()
        if inspect.isfunction(function)
        and name not in _HOST_ONLY
        and (name.startswith("__") or not is_of_the_host(function))
    }
    properties: dict[str, Callable[..., Any]] = {}
    for name, member in vars(python_class).items():
        known = member_of(name, member)
        if known is not None and known[0] == "property":
            properties[name] = known[1]
    methods |= properties
    forms: dict[str, tuple[str, ...]] = {}
    for name, function in methods.items():
        remember_source(function)
        base = getattr(function, "__sharedoa_form__", None)
        if base is not None:
            forms[base] = (*forms.get(base, ()), name)
    struct = ValueType(
        python_class.__name__, python_class, fields, methods, dtype, forms, constructors or {},
        defaults, frozenset(properties),
    )  # fmt: skip
    _install(python_class, struct, scope)
    _make_static_methods_functions(python_class, scope)
    World.advance()
    return struct


def foreign_value(name: str, module: str, fields: dict[str, Type], dtype: Any) -> ValueType:
    """A value struct that another compiler has laid out as ``dtype``; it has no methods."""
    python_class = type(name, (), {"__module__": module})
    declare(python_class)
    struct = ValueType(name, python_class, fields, {}, dtype)
    _install(python_class, struct, Scope({}, module))
    World.advance()
    return struct


def method_signature(struct: ValueType, name: str) -> Signature:
    """The signature of a method of a value struct, without its receiver.

    Raises ClassError when another function has taken the method's place in the Python class.
    """
    if user_function(called_by_cpython(struct, name)) is not struct.methods[name]:
        raise ClassError(
            f"method {struct.name}.{name} was replaced after @oa.value had read the class",
            "methods of values stay what they are: define the struct again",
        )
    return _signature(struct, name)


def called_by_cpython(struct: ValueType, name: str) -> Any:
    """What stands in the class for a method, or for the getter of a property."""
    found = vars(struct.python_class).get(name)
    return found.fget if isinstance(found, property) else found


def change_method(struct: ValueType, name: str, function: Callable[..., Any]) -> None:
    """Let a method be another function, which is called as the one that it was."""
    with World.changing:
        struct.methods[name] = function
        setattr(struct.python_class, name, _member(struct, name))
        World.advance()


def _signature(struct: ValueType, name: str) -> Signature:
    """Resolved at first use, as that of a method of a shared class."""
    function = struct.methods[name]
    key = ("signature", function)
    if key not in struct.made:
        scope: Scope = vars(struct.python_class)["__sharedoa_scope__"]
        where, scope = f"method {struct.name}.{name}", scope_of(function, scope.local)
        struct.made[key] = resolve_signature(function, scope, where, receiver=True)
    found: Signature = struct.made[key]
    return found


#: Elements of an inline array in a value.
_MOST_INLINE = 256
#: Methods that kernels have no use for: they stay as the user wrote them.
_HOST_ONLY = ("__repr__", "__hash__")
#: What @oa.value gives a class itself, and what a value, which is made whole, has no use for.
_OWN = ("__new__", "__init__", "__post_init__", "__setattr__", "__delattr__")


def _check_members(python_class: type, fields: dict[str, Type]) -> None:
    """Raise ClassError for members that would have no effect."""
    where = f"value struct {python_class.__name__}"
    if hasattr(python_class, "__dataclass_params__"):
        raise ClassError(
            f"{where} is decorated as a dataclass, too",
            "leave @dataclass out: values are made, compared and shown as those of a frozen "
            "dataclass are",
        )
    for name, member in vars(python_class).items():
        if name in _OWN:
            raise ClassError(
                f"{where} defines {name}",
                "values take their fields, in order or by name, and do not change: write an "
                "@oa.func function that makes one from something else",
            )
        if inspect.isfunction(member):
            refuse_lambda(member, f"method {python_class.__name__}.{name}")


def _defaults(python_class: type, fields: dict[str, Type]) -> dict[str, Any]:
    """What fields are that a program does not give, converted to their types."""
    found: dict[str, Any] = {}
    for name, type in fields.items():
        default = vars(python_class).get(name, _NO_DEFAULT)
        # __slots__ puts a descriptor where a default would be.
        if default is _NO_DEFAULT or isinstance(default, types.MemberDescriptorType):
            if found:
                raise ClassError(
                    f"value struct {python_class.__name__}: field {name} has no default, and comes "
                    f"after {next(iter(found))}, which has one",
                    f"give {name} a default, or put it before",
                )
            continue
        where = f"value struct {python_class.__name__}, the default of {name}"
        if isinstance(type, ReferenceType) and default is not None:
            raise ClassError(f"{where} is an object", "let references begin with None")
        try:
            found[name] = convert(type, default, where)
        except ArgumentError as error:
            raise ClassError(error.message, error.help) from None
    return found


_NO_DEFAULT = object()


def _field_type(annotation: Any, scope: Scope, where: str) -> Type:
    type = resolve(annotation, scope, where)
    refuse_grid(type, where)
    if not isinstance(type, (ScalarType, ReferenceType, ValueType, InlineType)):
        raise ClassError(
            f"{where}: {type!r} cannot be part of a value",
            "values hold scalars, references, inline arrays and other values; put arrays into "
            "objects",
        )
    if isinstance(type, InlineType) and type.length > _MOST_INLINE:
        raise ClassError(
            f"{where}: an inline array of {type.length} elements is too long for a value",
            f"values are copied, and at most {_MOST_INLINE} elements with them: put it into an "
            "object",
        )
    return type


def _install(python_class: type, struct: ValueType, scope: Scope) -> None:
    def initialise(self: Any, *arguments: Any, **named: Any) -> None:
        names = list(struct.fields)
        make = None if named else struct.constructors.get(len(arguments))
        if make is not None:
            made = make(*arguments)
            arguments = tuple(getattr(made, name) for name in names)
        if len(arguments) > len(names) or set(named) - set(names[len(arguments) :]):
            raise ArgumentError(
                f"{struct.name} has the fields {', '.join(names)}",
                "pass each at most once, in this order or by name",
            )
        given = {**struct.defaults, **dict(zip(names, arguments, strict=False)), **named}
        missing = [name for name in names if name not in given]
        if missing:
            raise ArgumentError(
                f"{struct.name} lacks {', '.join(missing)}",
                "values are made whole: pass every field that has no default",
            )
        for name, type in struct.fields.items():
            object.__setattr__(self, name, convert(type, given[name], f"{struct.name}.{name}"))

    def refuse(self: Any, name: str, value: Any) -> None:
        raise ArgumentError(
            f"{struct.name}.{name} cannot be assigned: values do not change",
            f"make a new one: {struct.name}({', '.join(struct.fields)})",
        )

    def equal(self: Any, other: object) -> Any:
        if type(other) is not python_class:
            return NotImplemented
        # Not as tuples: those call a NaN equal to itself when it is the same Python object.
        return all(bool(getattr(self, n) == getattr(other, n)) for n in struct.fields)

    def hash_of_fields(self: Any) -> int:
        return hash(tuple(getattr(self, n) for n in struct.fields))

    def text(self: Any) -> str:
        inner = ", ".join(f"{name}={shown(getattr(self, name))}" for name in struct.fields)
        return f"{struct.name}({inner})"

    installed: dict[str, Any] = {
        "__init__": initialise,
        "__setattr__": refuse,
        "__sharedoa_value__": struct,
        "__sharedoa_scope__": scope,
    }
    if python_class.__dict__.get("__hash__") is None:  # which is what defining __eq__ makes it
        installed["__hash__"] = hash_of_fields
    if "__repr__" not in python_class.__dict__:
        installed["__repr__"] = text
    if "__match_args__" not in python_class.__dict__:
        installed["__match_args__"] = tuple(struct.fields)
    if "__eq__" not in struct.methods:
        installed["__eq__"] = equal
    for name in struct.methods:
        installed[name] = _member(struct, name)
    for name, attribute in installed.items():
        setattr(python_class, name, attribute)


def _make_static_methods_functions(python_class: type, scope: Scope) -> None:
    """Let those with types of kernels be what ``@oa.func`` makes of functions."""
    names = {**scope.local, python_class.__name__: python_class, OWN_CLASS: python_class}
    for name, member in [*vars(python_class).items()]:
        known = member_of(name, member)
        if known is not None and known[0] == "static":
            setattr(python_class, name, DeviceFunction(known[1], names))


def _member(struct: ValueType, name: str) -> Any:
    made = _method_of_forms(struct, name)
    return property(made) if name in struct.properties else made


#: Methods that stand for operators with two operands, but for the underscores.
_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and",
    "or", "xor",
)  # fmt: skip
_OPERATORS = frozenset(f"__{side}{name}__" for name in _BINARY for side in ("", "r"))


def _method_of_forms(struct: ValueType, name: str) -> Any:
    """What CPython calls: the first form of the method that takes the argument."""
    own = _converting_method(struct, name)
    if name not in _OPERATORS:
        return own
    names = name, *struct.forms.get(name, ())
    forms = [own, *(_converting_method(struct, each) for each in names[1:])]
    signatures: list[Signature] = []

    def run(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self, other = arguments
        if not signatures:
            signatures.extend(_signature(struct, each) for each in names)
        for signature, form in zip(signatures, forms, strict=True):
            if takes(signature.types[0], other):
                return form(self, other)
        foreign = getattr(type(other), "__sharedoa_value__", None)
        if foreign not in (None, struct) and f"__r{name[2:]}" in foreign.methods:
            return NotImplemented  # so that CPython asks the other one
        return own(self, other)

    return stand_in(struct.methods[name], run)


def _converting_method(struct: ValueType, name: str) -> Any:
    found: list[Signature] = []

    def signature() -> Signature:
        if not found:
            found.append(_signature(struct, name))
        return found[0]

    where = f"method {struct.name}.{name}"
    return converting(struct.methods[name], signature, where, receiver=True)
