"""Classes that are their fields, as those of ``dataclasses``, made sooner: a frozen one of five
fields in a twelfth of the time, another one in a sixth.

There are hundreds here, and making them was half of what importing us, and a fifth of what a first
kernel took: ``dataclasses`` compiles up to seven functions for each. This compiles one,
``__init__``; how objects are compared, hashed and printed is the same code for all. That nobody
changes frozen ones is left to the type checker. The functions of ``dataclasses`` take objects of
these classes, too, but its classes cannot inherit from these.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_NOTHING: Any = object()


class Field:
    """What a class says of one of its fields."""

    __slots__ = ("default", "factory", "init", "kw_only", "name", "repr", "type")

    def __init__(self, default: Any, factory: Any, init: bool, repr: bool, kw_only: bool) -> None:
        self.default, self.factory = default, factory
        self.init, self.repr, self.kw_only = init, repr, kw_only
        self.name = self.type = ""

    def usual(self) -> Any:
        """What objects have that are not told another."""
        return self.default if self.factory is _NOTHING else self.factory()


def field(
    *,
    default: Any = _NOTHING,
    default_factory: Callable[[], Any] = _NOTHING,
    init: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """A field that is more than its type and its default."""
    return Field(default, default_factory, init, repr, kw_only)


@overload
def dataclass(cls: type[T], /) -> type[T]: ...


@overload
def dataclass(
    *, frozen: bool = False, eq: bool = True, repr: bool = True, slots: bool = False
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    cls: Any = None,
    /,
    *,
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,
    slots: bool = False,
) -> Any:
    """As ``dataclasses.dataclass``: a class with ``__init__``, and with ``__repr__``, ``__eq__``
    and, if it is frozen, ``__hash__`` of its fields, if it does not define them itself."""
    if cls is None:
        return lambda cls: _made(cls, frozen, eq, repr, slots)
    return _made(cls, frozen, eq, repr, slots)


def fields(cls: Any) -> tuple[Field, ...]:
    """Of a class that ``dataclass`` made, or of an object of it."""
    return tuple(cls.__fields__.values())


def is_dataclass(cls: Any) -> bool:
    """Whether ``dataclass`` made the class."""
    return hasattr(cls, "__fields__")


def replace(one: T, /, **changes: Any) -> T:
    """An object as ``one`` but for some of its fields."""
    for each in one.__fields__.values():  # type: ignore[attr-defined]
        if each.init and each.name not in changes:
            changes[each.name] = getattr(one, each.name)
    return type(one)(**changes)


def asdict(one: Any) -> dict[str, Any]:
    """The values of the fields by name; those that are such objects themselves are dicts, too."""
    values = {each.name: getattr(one, each.name) for each in fields(one)}
    return {name: asdict(v) if is_dataclass(v) else v for name, v in values.items()}


class _Standard:
    """``__dataclass_fields__``: the fields as ``dataclasses`` has them."""

    def __get__(self, one: Any, cls: Any) -> Any:
        import dataclasses  # here: hardly any program needs it

        made = []
        for each in fields(cls):
            values = {"default": each.default, "default_factory": each.factory}
            given = {name: value for name, value in values.items() if value is not _NOTHING}
            more = dataclasses.field(init=each.init, repr=each.repr, kw_only=each.kw_only, **given)
            made.append((each.name, each.type, more))
        standard: Any = dataclasses.make_dataclass(cls.__name__, made)
        cls.__dataclass_fields__ = standard.__dataclass_fields__
        return standard.__dataclass_fields__


_STANDARD = _Standard()


def _made(cls: Any, frozen: bool, eq: bool, repr: bool, slots: bool) -> Any:
    own: dict[str, Field] = {}
    for name, type in cls.__annotations__.items():
        if type.startswith("ClassVar"):
            continue
        given = cls.__dict__.get(name, _NOTHING)
        if not isinstance(given, Field):
            given = Field(given, _NOTHING, True, True, False)
        elif given.default is not _NOTHING:
            setattr(cls, name, given.default)
        elif name in cls.__dict__:
            delattr(cls, name)
        given.name, given.type = name, type
        own[name] = given
    found = {**getattr(cls, "__fields__", {}), **own}
    if slots:
        cls = _with_slots(cls, own)
    cls.__fields__, cls.__dataclass_fields__ = found, _STANDARD
    matched = tuple(f.name for f in found.values() if f.init and not f.kw_only)
    setattr(cls, "__match_args__", matched)  # noqa: B010  mypy has it be assigned in a class alone
    if "__init__" not in cls.__dict__:
        cls.__init__ = _initialiser(cls, [*found.values()])
    if repr and "__repr__" not in cls.__dict__:
        cls.__repr__ = _shown
    if eq and "__eq__" not in cls.__dict__:
        values = _values(tuple(found))
        cls.__eq__ = _comparison(values)
        if "__hash__" not in cls.__dict__ or cls.__hash__ is None:
            cls.__hash__ = _hash(values) if frozen else None
    return cls


def _with_slots(cls: Any, own: dict[str, Field]) -> Any:
    body = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in own and name not in ("__dict__", "__weakref__")
    }
    made = type(cls)(cls.__name__, cls.__bases__, {**body, "__slots__": tuple(own)})
    made.__qualname__ = cls.__qualname__
    return made


def _initialiser(cls: Any, fields: list[Field]) -> Any:
    names: dict[str, Any] = {"_N": _NOTHING}
    places, body = ["self"], list[str]()
    only_named: list[str] = []
    for number, each in enumerate(fields):
        name, value = each.name, each.name
        if each.factory is not _NOTHING:
            names[f"_{number}"] = each.factory
            given = f"{name}=_N"
            value = f"_{number}() if {name} is _N else {name}" if each.init else f"_{number}()"
        elif each.default is not _NOTHING:
            names[f"_{number}"] = each.default
            given = f"{name}=_{number}"
            value = name if each.init else f"_{number}"
        elif each.init:
            given = name
        else:
            continue
        if each.init:
            (only_named if each.kw_only else places).append(given)
        body.append(f" self.{name} = {value}")
    if only_named:
        places += ["*", *only_named]
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(places)}):\n" + ("\n".join(body) or " pass"), names)
    made = names["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


def _shown(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _values(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """The values of an object as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return attrgetter(names[0], names[0]) if names else lambda one: ()


def _comparison(values: Callable[[Any], Any]) -> Callable[[Any, object], Any]:
    def __eq__(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hash(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__
