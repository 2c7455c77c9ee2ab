"""What a name in a function's body means when it is not a local: closure, global, builtin."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from .dependencies import NameDependency


class NameScope:
    """Looks names up as CPython would; every lookup becomes a dependency."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._globals = function.__globals__
        cells = function.__closure__ or ()
        self._cells = dict(zip(function.__code__.co_freevars, cells, strict=True))

    def lookup(self, name: str) -> tuple[Any, NameDependency]:
        """The value bound to ``name`` now. Raises KeyError when there is none."""
        cell = self._cells.get(name)
        if cell is not None:
            try:
                value = cell.cell_contents
            except ValueError as error:
                raise KeyError(name) from error
            return value, NameDependency("cell", cell, name, value)
        if name in self._globals:
            value = self._globals[name]
        elif hasattr(builtins, name):
            value = getattr(builtins, name)
        else:
            raise KeyError(name)
        return value, NameDependency("global", self._globals, name, value)


def attribute(owner: Any, name: str) -> tuple[Any, NameDependency]:
    """The value of an attribute of a module or class. Raises AttributeError."""
    value = getattr(owner, name)
    return value, NameDependency("attribute", owner, name, value)
