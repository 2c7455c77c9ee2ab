"""From annotations to types: ``f32``, ``Cell``, ``"Cell"``, ``oa.Array[T]``, ``oa.inline[T, N]``.

Annotations may be strings (quoted, or all of them with ``from __future__ import annotations``), so
they are resolved at first use: by then classes that refer to each other all exist.
"""

from __future__ import annotations

import enum
import math
import sys
import types as python_types
import typing
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from dispatch.dataclass import dataclass, field

from ..errors import ClassError, UnresolvedNameError
from .scalars import SCALARS, NeverNull, ScalarType, boolean, never_null
from .types import (
    VOID,
    ArrayType,
    InlineType,
    ListType,
    ReferenceType,
    TupleType,
    Type,
    ValueType,
)


@dataclass(frozen=True)
class ArrayAnnotation(NeverNull):
    """What ``oa.Array[T]`` or ``oa.Array[T, 2]`` evaluates to."""

    element: Any
    dimensions: int = 1

    def __repr__(self) -> str:
        return f"Array[{_named(self.element)}]"


@dataclass(frozen=True)
class InlineAnnotation(NeverNull):
    """What ``oa.inline[T, N]`` or ``oa.inline[T, N, M]`` evaluates to."""

    element: Any
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f"inline[{_named(self.element)}, {', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class GridAnnotation(NeverNull):
    """What ``oa.HashGrid[T]`` evaluates to; ``python_class`` is ``oa.HashGrid``."""

    python_class: type
    element: Any

    def __repr__(self) -> str:
        return f"HashGrid[{_named(self.element)}]"

    def __call__(self, *given: Any, **named: Any) -> Any:
        """A grid, as Python's own generic classes make one."""
        return self.python_class(*given, **named)


def _named(element: Any) -> str:
    return element.__name__ if isinstance(element, type) else repr(element)


_MOST_INLINE = 1 << 20
"""Elements of an inline array: a region holds many objects."""


class InlineMarker:
    """``oa.inline[T, N]``: N elements of T inside the object; ``oa.inline[T, N, M]``: N rows."""

    def __getitem__(self, item: tuple[Any, ...]) -> InlineAnnotation:
        if not (isinstance(item, tuple) and len(item) >= 2):
            raise ClassError(
                "oa.inline takes an element type and a length",
                "write oa.inline[f32, 4], or with two indices oa.inline[f32, 3, 3]",
            )
        element, *shape = item
        for length in shape:
            if isinstance(length, bool) or not isinstance(length, int) or length < 1:
                raise ClassError(
                    f"the length of an inline array is {length!r}",
                    "give a positive int; an array whose length is known only at run time is "
                    "oa.Array",
                )
        count = math.prod(shape)
        if count > _MOST_INLINE:
            raise ClassError(
                f"an inline array of {count} elements is too large",
                f"at most {_MOST_INLINE} lie in an object; for more hold an oa.Array",
            )
        return InlineAnnotation(element, tuple(shape))


inline = InlineMarker()

#: Most recent shared or value class of each (module, name): what a forward reference means.
_declared: WeakValueDictionary[tuple[str, str], type] = WeakValueDictionary()
#: They live as long as their module: a class may be known by its name alone, and modules may be
#: made and dropped without end.
_of_module: WeakKeyDictionary[python_types.ModuleType, dict[str, type]] = WeakKeyDictionary()


def declare(python_class: type) -> None:
    """Make a class known to annotations that refer to it by name before it exists."""
    _declared[python_class.__module__, python_class.__name__] = python_class
    module = sys.modules.get(python_class.__module__)
    if module is not None:
        _of_module.setdefault(module, {})[python_class.__name__] = python_class


def find_declared(module: str, name: str) -> type | None:
    """The most recent shared or value class of that name in that module."""
    return _declared.get((module, name))


@dataclass(frozen=True)
class Scope:
    """Where the names of an annotation are looked up."""

    namespace: dict[str, Any]
    module: str
    local: Mapping[str, Any] = field(default_factory=dict)


OWN_CLASS = "class of Self"
"""By this, which is no name, ``Scope.local`` has the class that annotations stand in."""


def local_names(frame: FrameType) -> dict[str, Any]:
    """What annotations written in ``frame`` may name besides globals: the locals of a function that
    defines classes or kernels, as they are now."""
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


class _Names(Mapping[str, Any]):
    """Locals of the defining function, then classes declared in the same module."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __getitem__(self, name: str) -> Any:
        if name in self._scope.local:
            return self._scope.local[name]
        if name in self._scope.namespace:
            raise KeyError(name)
        return _declared[self._scope.module, name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.local)

    def __len__(self) -> int:
        return len(self._scope.local)


def resolve(annotation: Any, scope: Scope, where: str) -> Type:
    """The type that ``annotation`` means. ``where`` names the field or parameter in errors.

    Raises ClassError for names that do not exist and for types that the device does not have.
    """
    if isinstance(annotation, str):
        annotation = _evaluate(annotation, scope, where)
        if isinstance(annotation, str):
            annotation = _evaluate(annotation, scope, where)
    if isinstance(annotation, typing.ForwardRef):
        return resolve(annotation.__forward_arg__, scope, where)
    if isinstance(annotation, ScalarType):
        return annotation
    if annotation is bool:
        return boolean
    if annotation is None or annotation is type(None):
        return VOID
    if annotation is typing.Self:
        return _resolve_self(scope, where)
    if isinstance(annotation, ArrayAnnotation):
        return _resolve_array(annotation, scope, where)
    if isinstance(annotation, GridAnnotation):
        return _resolve_grid(annotation, scope, where)
    if isinstance(annotation, InlineAnnotation):
        return InlineType(_element(annotation.element, scope, where), annotation.shape)
    if isinstance(annotation, type):
        return _resolve_class(annotation, where)
    return _resolve_generic(annotation, scope, where)


def _resolve_self(scope: Scope, where: str) -> Type:
    """The class that the annotation stands in, in its subclasses, too."""
    own = scope.local.get(OWN_CLASS)
    if own is None:
        raise ClassError(
            f"{where}: Self stands in no class", "write it in a class, or name the class"
        )
    return _resolve_class(own, where)


def _evaluate(text: str, scope: Scope, where: str) -> Any:
    try:
        return eval(text, scope.namespace, _Names(scope))
    except (NameError, KeyError) as error:
        raise UnresolvedNameError(
            f"{where}: the annotation {text!r} refers to a name that does not exist",
            "define or import it before the class is first used",
        ) from error
    except ClassError as error:
        raise ClassError(f"{where}: {error.message}", error.help) from error
    except Exception as error:
        raise ClassError(
            f"{where}: the annotation {text!r} cannot be evaluated: {error}",
            "use scalar types, shared classes, oa.Array[T] or oa.inline[T, N]",
        ) from error


def _resolve_array(annotation: ArrayAnnotation, scope: Scope, where: str) -> Type:
    from .array2_type import array2_type

    element = _element(annotation.element, scope, where)
    if annotation.dimensions == 1:
        return ArrayType(element)
    if annotation.dimensions == 2:
        return array2_type(element)
    raise ClassError(
        f"{where}: an array of {annotation.dimensions!r} dimensions", "arrays have one or two"
    )


def _resolve_grid(annotation: GridAnnotation, scope: Scope, where: str) -> Type:
    from .grid_type import grid_type  # its functions are compiled from annotations, too

    element = resolve(annotation.element, scope, where)
    if isinstance(element, ReferenceType):
        return grid_type(element.cls, annotation.python_class)
    raise ClassError(
        f"{where}: a grid finds objects, not {element!r}",
        "name the class of the objects: oa.HashGrid[Bird]",
    )


def refuse_list(type: Type, where: str) -> None:
    """Raise ClassError for a list, which only its thread can reach, and only while the function
    that made it runs."""
    if isinstance(type, TupleType):
        for item in type.items:
            refuse_list(item, where)
    if isinstance(type, ListType):
        raise ClassError(
            f"{where}: {type!r} is only known in kernels, functions and methods",
            "a list is passed to functions and methods, which may fill it; objects hold "
            f"oa.inline[{type.element!r}, N] or oa.Array[{type.element!r}]",
        )


def refuse_grid(type: Type, where: str) -> None:
    """Raise ClassError for what is only passed on, where memory, or a result, is to hold it."""
    if isinstance(type, TupleType):
        for item in type.items:
            refuse_grid(item, where)
    if isinstance(type, ValueType) and not type.in_memory:
        raise ClassError(
            f"{where}: {type!r} cannot be kept, it is passed to kernels, functions and methods",
            f"pass it as an argument where it is used: x: oa.{type!r}",
        )


def _element(annotation: Any, scope: Scope, where: str) -> Type:
    element = resolve(annotation, scope, where)
    refuse_grid(element, where)
    if isinstance(element, (ScalarType, ReferenceType, ValueType)):
        return element
    raise ClassError(
        f"{where}: an array cannot hold {element!r}",
        "elements are scalars, references to shared classes, or value structs",
    )


def _resolve_class(annotation: type, where: str) -> Type:
    shared = getattr(annotation, "__sharedoa__", None)
    if shared is not None:
        return ReferenceType(shared)
    value = annotation.__dict__.get("__sharedoa_value__")
    if value is not None:
        found: ValueType = value
        return found
    if annotation in (int, float):
        names = "i32 or i64" if annotation is int else "f32 or f64"
        raise ClassError(
            f"{where}: {annotation.__name__} says nothing about the width", f"use {names}"
        )
    scalar = next((each for each in SCALARS.values() if each.dtype.type is annotation), None)
    if scalar is not None:
        raise ClassError(f"{where}: {annotation!r} is NumPy's", f"write sharedoa's {scalar.name}")
    if issubclass(annotation, enum.IntEnum):
        raise ClassError(
            f"{where}: {annotation.__name__} says nothing about the width",
            f"use i32: kernels compare it with constants as {annotation.__name__}.NAME",
        )
    if annotation.__name__ == "Object" and annotation.__module__.startswith("sharedoa."):
        raise ClassError(
            f"{where}: oa.Object itself cannot be a type",
            "declare a common base class: class Base(oa.Object)",
        )
    raise ClassError(
        f"{where}: {annotation.__name__} is not a type that kernels know", _instead_of(annotation)
    )


def _instead_of(annotation: type) -> str:
    name = annotation.__name__
    if issubclass(annotation, (str, bytes)):
        return "kernels have no text: number what has a name, and keep names on the host"
    if issubclass(annotation, enum.Enum):
        return f"use i32, and make it an enum.IntEnum, whose members are numbers: {name}.NAME"
    if annotation.__module__ in ("builtins", "typing", "collections", "numpy"):
        return _TYPES
    return (
        f"make it a shared class, class {name}(oa.Object), or a value that is copied, @oa.value; "
        "what is only for the host stays outside of shared classes"
    )


_TYPES = (
    f"use one of {', '.join(SCALARS)}, a subclass of oa.Object, an @oa.value class, "
    "oa.Array[T] or oa.inline[T, N]"
)


def _resolve_generic(annotation: Any, scope: Scope, where: str) -> Type:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union or isinstance(annotation, python_types.UnionType):
        others = [argument for argument in arguments if argument is not type(None)]
        if len(others) == 1:  # every reference may be null, so Optional[C] is C
            found = resolve(others[0], scope, where)
            if isinstance(found, ReferenceType):
                return found
            error = never_null(found)
            raise ClassError(f"{where}: {error.message}", error.help)
        raise ClassError(
            f"{where}: a union of several types has no one layout",
            "use a common base class as the type",
        )
    if origin is list and len(arguments) == 1:
        return ListType(_element(arguments[0], scope, where))
    if origin is tuple and Ellipsis not in arguments:
        return TupleType(tuple(resolve(argument, scope, where) for argument in arguments))
    raise ClassError(f"{where}: {annotation!r} is not a type that kernels know", _TYPES)
