"""What a translation was made from, so that a later launch can tell whether it still holds.

Negative facts count too: "no subclass overrides this method" is part of a method resolution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from ..model.classes import ClassType, Method


class Dependency(Protocol):
    """A fact about the world; ``current`` says whether it is still true."""

    def current(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class NameDependency:
    """A global, closure or module name that was bound to ``value``."""

    name: str
    read: Callable[[], Any]
    value: Any

    def current(self) -> bool:
        try:
            now = self.read()
        except (KeyError, AttributeError, ValueError):
            return False
        if now is self.value:
            return True
        plain = (bool, int, float, str, tuple)
        # As it is written: 0.0 equals -0.0, and (1,) equals (1.0,).
        return type(now) is type(self.value) and isinstance(now, plain) and repr(now) == self.text

    @cached_property
    def text(self) -> str:
        return repr(self.value)


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
