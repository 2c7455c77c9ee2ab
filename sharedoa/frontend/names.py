"""What a name in a function's body means when it is not a local: closure, global, builtin."""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
from collections.abc import Callable
from types import ModuleType, WrapperDescriptorType
from typing import Any, TypeVar

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


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node


Node = TypeVar("Node", bound=ast.expr)


def renamed(node: Node, names: dict[str, str]) -> Node:
    """A copy of an expression in which variables have other names."""
    found: Node = _Renamed(names).visit(copy.deepcopy(node))
    return found


def attribute(owner: Any, name: str) -> tuple[Any, NameDependency]:
    """The value of an attribute of a module, a class, a named tuple or any other object of the
    user's whose ``__dict__`` or class has it. Raises AttributeError, and TypeError for other
    objects and for attributes that are computed, which may be another one each time."""
    if not (isinstance(owner, (type, ModuleType)) or _keeps(owner, name)):
        is_there = isinstance(getattr(owner, "__dict__", None), dict) and not is_ours(type(owner))
        computes = (
            f"whose attribute {name} may be computed" if is_there else "which kernels cannot use"
        )
        raise TypeError(computes)
    value = getattr(owner, name)
    found = NameDependency("attribute", owner, name, value)
    # Else launches would look for code that holds, without end.
    if not (found.current() or inspect.isroutine(value)):
        raise TypeError(f"whose attribute {name} is another one each time")
    return value, found


def _keeps(owner: Any, name: str) -> bool:
    """Whether reading the attribute takes what is kept under its name, and runs no code. Raises
    AttributeError where nothing has that name."""
    kind = type(owner)
    if is_ours(kind) or not isinstance(kind.__getattribute__, WrapperDescriptorType):
        return False
    if isinstance(owner, tuple):
        is_own = not isinstance(inspect.getattr_static(kind, name, None), property)
        return is_own and name in getattr(kind, "_fields", ())
    kept = getattr(owner, "__dict__", None)
    if kept is None:
        return False
    found = inspect.getattr_static(kind, name, None)
    if name in kept:
        return not (hasattr(found, "__set__") or hasattr(found, "__delete__"))
    if not hasattr(kind, "__getattr__"):
        inspect.getattr_static(owner, name)
    return found is not None and not hasattr(found, "__get__")


def is_ours(kind: type) -> bool:
    """Whether a class is of this package, or a shared one."""
    return kind.__module__.startswith("sharedoa.") or hasattr(kind, "__sharedoa__")
