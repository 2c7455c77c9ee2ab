"""What kernels know of members of a class besides plain methods: properties, static and class
methods, operators; and what a class takes from mixins."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Literal, Protocol

from ..errors import ClassError
from . import lazy_annotations
from .classes import attribute_name
from .functions import converting, stand_in, user_function

MemberKind = Literal["method", "property", "setter", "static", "class"]

_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or",
    "xor", "matmul",
)  # fmt: skip
#: Special methods of shared classes that kernels call as Python does.
OPERATORS = frozenset(
    f"__{name}__"
    for name in (
        *_BINARY, *(f"r{name}" for name in _BINARY), "neg", "pos", "invert", "abs", "lt", "le",
        "gt", "ge", "call", "getitem",
    )
)  # fmt: skip


def member_of(name: str, value: Any) -> tuple[MemberKind, Callable[..., Any]] | None:
    """What kernels can call of a class's attribute, and the user's function; None for what runs on
    the host only. Methods are theirs but for those with a type of the host, anything else where its
    types are written."""
    if inspect.isfunction(value):
        if not name.startswith("__"):
            return None if is_of_the_host(value) else ("method", user_function(value))
        return ("method", user_function(value)) if name in OPERATORS and _has_types(value) else None
    if isinstance(value, property):
        return ("property", user_function(value.fget)) if _has_types(value.fget) else None
    if isinstance(value, (staticmethod, classmethod)):
        kind: MemberKind = "static" if isinstance(value, staticmethod) else "class"
        function = user_function(value.__func__)
        return (kind, function) if _has_types(function, kind == "static") else None
    return None


def setter_of(name: str, value: Any) -> Callable[..., Any] | None:
    """The user's function that kernels call to assign to an attribute, if they know it as a
    property; None if they cannot."""
    if not isinstance(value, property) or member_of(name, value) is None:
        return None
    function = user_function(value.fset)
    return function if _has_types(function, is_assigning=True) else None


def _has_types(function: Any, all_of_them: bool = False, is_assigning: bool = False) -> bool:
    if not inspect.isfunction(function):
        return False
    signature = lazy_annotations.signature(function)
    parameters = list(signature.parameters.values())
    given = [each.annotation for each in (parameters if all_of_them else parameters[1:])]
    types = given if is_assigning else [*given, signature.return_annotation]
    names = [each.__name__ if isinstance(each, type) else str(each).strip("'\"") for each in types]
    return inspect.Parameter.empty not in types and _OF_THE_HOST.isdisjoint(names)


def is_of_the_host(function: Any) -> bool:
    """Whether a plain method takes or gives text, say. What has no types, or numbers without a
    width, is a kernel's in which they are missing."""
    signature = lazy_annotations.signature(function)
    types = [each.annotation for each in [*signature.parameters.values()][1:]]
    types.append(signature.return_annotation)
    texts = (each.__name__ if isinstance(each, type) else str(each) for each in types)
    return any(not _TEXTS.isdisjoint(re.findall(r"\w+", text)) for text in texts)


#: Types that no kernel knows: who writes one means a member that Python alone calls.
_TEXTS = frozenset({"str", "bytes", "dict", "set", "frozenset", "Any", "object", "Callable"})
_OF_THE_HOST = _TEXTS | {"int", "float", "list"}


def wrapped(
    kind: MemberKind, original: Any, function: Callable[..., Any], signature: Any, where: str
) -> Any:
    """What stands in the class for CPython: arguments and results convert as in kernels."""
    converted = converting(function, signature, where, receiver=kind != "static")
    made: Any = converted if kind == "method" else _for_both(converted, function, signature)
    if kind == "property":
        return property(made, original.fset, original.fdel, original.__doc__)
    if kind == "setter":
        return property(original.fget, made, original.fdel, original.__doc__)
    return {"static": staticmethod, "class": classmethod}.get(kind, lambda made: made)(made)


def _for_both(
    converted: Callable[..., Any], function: Callable[..., Any], signature: Callable[[], Any]
) -> Any:
    """What is called as in kernels if they can: the types may be those of the host."""
    chosen: list[Callable[..., Any]] = []

    def run(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if not chosen:
            try:
                signature()
            except ClassError:
                chosen.append(function)
            else:
                chosen.append(converted)
        return chosen[0](*arguments, **named)

    return stand_in(function, run)


def check_kind(name: str, attribute: str, kind: MemberKind | None, inherited: MemberKind) -> None:
    """Raise ClassError where a member overrides one of another kind."""
    if kind != inherited:
        words = {"method": "a plain method", "property": "a property", "static": "a staticmethod",
                 "class": "a classmethod", None: "something else"}  # fmt: skip
        raise ClassError(
            f"class {name}: {attribute} is {words[kind]}, but overrides {words[inherited]} of its "
            "base",
            "write both alike, with the types of parameters and results",
        )


def split_bases(name: str, bases: tuple[type, ...], is_shared: Callable[[type], bool]) -> type:
    """The shared class among the bases; the others are mixins. Raises ClassError."""
    shared = [base for base in bases if is_shared(base)]
    if len(shared) != 1:
        raise ClassError(
            f"class {name} has {len(shared)} shared classes as bases",
            "shared classes inherit from one, and methods from classes that are no shared ones and "
            "have no fields; hold a reference to the other instead",
        )
    for base in bases:
        if base is not shared[0]:
            _check_mixin(name, base)
    return shared[0]


def _check_mixin(name: str, mixin: type) -> None:
    for cls in mixin.__mro__[:-1]:
        if is_protocol(cls):  # which names what classes are to have
            continue
        given = lazy_annotations.of(cls)
        fields = [each for each, type in given.items() if not lazy_annotations.is_constant(type)]
        if fields or "__init__" in vars(cls):
            raise ClassError(
                f"class {name}: its base {mixin.__name__} has {'fields' if fields else '__init__'}",
                "a class that is mixed in has methods only; declare fields in shared classes",
            )


class _SomeProtocol(Protocol):
    pass


def is_protocol(cls: type) -> bool:
    """Whether a class is a ``typing.Protocol`` itself, and not one that follows it."""
    return bool(vars(cls).get("_is_protocol"))


def pass_over_protocols(cls: type) -> None:
    """Give a class the ``__init__`` that it has without the protocols that it follows, each of
    which has one that would look for it at the first call."""
    if cls.__init__ is _SomeProtocol.__init__:  # type: ignore[misc]
        kept = (vars(each).get("__init__") for each in cls.__mro__ if not is_protocol(each))
        type.__setattr__(cls, "__init__", next(each for each in kept if each is not None))


def called_by_cpython(cls: type, name: str) -> Any:
    """The function that stands for a member in the class (``wrapped``)."""
    value = vars(cls)[attribute_name(name)]
    if isinstance(value, property):
        return value.fget if attribute_name(name) == name else value.fset
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def has_mixins(cls: type) -> bool:
    """Whether a shared class inherits from classes that are none."""
    return any(not hasattr(each, "__sharedoa__") for each in cls.__mro__[:-1])


#: What all shared objects have, unless a class or mixin declares it.
GIVES_WAY = ("grad",)


def mixed_in(cls: type, shared: type) -> dict[str, Any]:
    """Members that a class takes from mixins, as CPython looks them up."""
    found: dict[str, Any] = {}
    own = cls.__mro__[1 : cls.__mro__.index(shared)]
    behind = [each for each in cls.__mro__ if each not in shared.__mro__ and each not in own]
    for mixin in (*own, *behind[1:]):
        for name, value in vars(mixin).items():
            is_of_shared = name not in GIVES_WAY and hasattr(shared, name)
            is_hidden = name in vars(cls) or (mixin not in own and is_of_shared)
            if not is_hidden and member_of(name, value) is not None:
                found.setdefault(name, value)
    return found
