"""What a translation was made from, so that a later launch can tell whether it still holds.

Negative facts count too: "no subclass overrides this method" is part of a method resolution.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import cached_property, partial
from types import CodeType
from typing import Any, Literal, Protocol

import numpy as np

from dispatch.dataclass import dataclass

from ..model.classes import ClassType, Method
from ..model.functions import DeviceFunction


class Dependency(Protocol):
    """A fact about the world; ``current`` says whether it is still true."""

    def current(self) -> bool: ...


ABSENT = object()


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


@dataclass(frozen=True, eq=False)
class NameDependency:
    """A name that was bound to ``value``: in ``owner``, the names of a module and those of Python
    behind them, a closure's cell, or what has an attribute of that name."""

    kind: Literal["global", "cell", "attribute"]
    owner: Any
    name: str
    value: Any

    def read(self) -> Any:
        """What it is bound to now. Raises if it is no more."""
        if self.kind == "cell":
            return self.owner.cell_contents
        if self.kind == "attribute":
            return getattr(self.owner, self.name)
        if self.name in self.owner:
            return self.owner[self.name]
        return getattr(builtins, self.name)

    def current(self) -> bool:
        try:
            now = self.read()
        except Exception:  # whatever the ``__getattr__`` of a module raises
            return False
        if now is self.value:
            return True
        plain = (bool, int, float, str, tuple)
        # As it is written: 0.0 equals -0.0, and (1,) equals (1.0,).
        return type(now) is type(self.value) and isinstance(now, plain) and repr(now) == self.text

    def bind(self, value: Any) -> None:
        """Let it mean ``value``; what ``ABSENT`` stands for is that it means nothing there."""
        if self.kind == "cell":
            if value is ABSENT:
                del self.owner.cell_contents
            else:
                self.owner.cell_contents = value
        elif self.kind == "global":
            if value is ABSENT:
                self.owner.pop(self.name, None)
            else:
                self.owner[self.name] = value
        elif value is ABSENT:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, value)

    def restore(self) -> Callable[[], None]:
        """Let it mean again what it meant. The result undoes that."""
        own = self.owner if self.kind == "global" else {}
        if self.kind == "attribute":
            own = getattr(self.owner, "__dict__", {})
        elif self.kind == "cell":
            own = {} if _is_empty(self.owner) else {self.name: self.owner.cell_contents}
        now = own.get(self.name, ABSENT)
        self.bind(self.value)
        return partial(self.bind, now)

    @cached_property
    def text(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, eq=False)
class ContentDependency:
    """What a NumPy array held that is a constant table."""

    array: np.ndarray
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    data: bytes

    @classmethod
    def of(cls, array: np.ndarray) -> ContentDependency:
        return cls(array, array.shape, array.dtype, array.tobytes())

    def restore(self) -> Callable[[], None]:
        """Let the array hold again what it held. The result undoes that. Raises ValueError if
        that cannot be."""
        array = self.array
        if array.shape != self.shape or array.dtype != self.dtype:
            raise ValueError("it has another shape or type")
        now = array.copy()
        array[...] = np.frombuffer(self.data, self.dtype).reshape(self.shape)
        return partial(np.copyto, array, now)

    def current(self) -> bool:
        array = self.array
        return (
            array.tobytes() == self.data and array.shape == self.shape and array.dtype == self.dtype
        )


@dataclass(frozen=True, eq=False)
class CodeDependency:
    """What a function of the user's does; tools that reload modules replace it in place."""

    function: Callable[..., Any]
    code: CodeType

    def current(self) -> bool:
        return self.function.__code__ is self.code


@dataclass(frozen=True)
class GradientDependency:
    """The way back that a function was given, or None."""

    function: DeviceFunction[..., Any]
    gradient: DeviceFunction[..., Any] | None

    def current(self) -> bool:
        return self.function.gradient is self.gradient


@dataclass(frozen=True)
class InitialiserDependency:
    """The ``__init__`` that objects of a class begin with, or None."""

    cls: ClassType
    method: Method | None

    def current(self) -> bool:
        return self.cls.find_initialiser() is self.method


@dataclass(frozen=True)
class MethodDependency:
    """The method that one class itself defines or inherits."""

    cls: ClassType
    name: str
    method: Method

    def current(self) -> bool:
        return self.cls.find_method(self.name) is self.method


@dataclass(frozen=True)
class ResolutionDependency:
    """What a virtual call on ``cls`` runs, for every concrete class at or below it."""

    cls: ClassType
    name: str
    overridden: bool
    resolution: tuple[tuple[ClassType, Method | None], ...]

    @classmethod
    def of(cls, static_class: ClassType, name: str) -> ResolutionDependency:
        resolution = tuple((c, c.find_method(name)) for c in static_class.concrete())
        return cls(static_class, name, static_class.is_overridden(name), resolution)

    def current(self) -> bool:
        return self == ResolutionDependency.of(self.cls, self.name)


@dataclass(frozen=True)
class SubclassDependency:
    """The concrete classes at or below ``cls``, which a type test looks for."""

    cls: ClassType
    concrete: tuple[ClassType, ...]

    def current(self) -> bool:
        return tuple(self.cls.concrete()) == self.concrete
