"""All nodes of a typed tree, for whoever looks for some kind of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from . import tree

#: What fields of nodes are declared as when no node is in them.
_NO_NODES = frozenset({
    "Type", "Location", "Variable", "ClassType", "str", "int", "bool", "int | float | bool",
    "UnaryOperator", "BinaryOperator", "CompareOperator", "Literal['and', 'or']", "list[Type]",
    "list[ClassType]", "int | None",
})  # fmt: skip


def nodes(program: tree.Program) -> Iterator[Any]:
    """Every statement, expression, place and candidate of the program's functions."""
    for function in program.functions.values():
        yield from nodes_of(function)


def nodes_of(function: tree.Function) -> Iterator[Any]:
    """Those of one function; a node that is part of several is there several times."""
    return nodes_in(function.body)


def nodes_in(part: Any) -> Iterator[Any]:
    """A node, or a list of them, with every node below."""
    pending: list[Any] = [part]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
            continue
        names = part_names(node.__class__)
        if names is not None:
            yield node
            pending += [getattr(node, name) for name in names]


def statements_in(statements: Sequence[tree.Statement]) -> Iterator[tree.Statement]:
    """The statements with all that are within others; much less than ``nodes_in``."""
    pending = [*statements]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, tree.If):
            pending += [*node.then, *node.otherwise]
        elif isinstance(node, (tree.ForRange, tree.While)):
            pending += [*node.body, *node.otherwise]


def methods_met(call: tree.VirtualCall, populated: Collection[int] | None) -> list[str]:
    """The symbols of the methods that a call may run, where receivers can have the classes whose
    type indices are ``populated``; None: all."""
    met = (
        candidate.symbol
        for candidate in call.candidates
        if populated is None or candidate.cls.type_index in populated
    )
    return list(dict.fromkeys(met))


@cache
def part_names(kind: Any) -> tuple[str, ...] | None:
    """The fields in which nodes of a class may have others; None for what is no node."""
    is_node = (
        issubclass(kind, (tree.Expression, tree.Statement)) or kind.__module__ == tree.__name__
    )
    if kind is tree.Variable or not (is_node and is_dataclass(kind)):
        return None
    return tuple(field.name for field in fields(kind) if field.type not in _NO_NODES)
