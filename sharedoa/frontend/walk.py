"""All nodes of a typed tree, for whoever looks for some kind of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from . import tree


def nodes(program: tree.Program) -> Iterator[Any]:
    """Every statement, expression, place and candidate of the program's functions."""
    for function in program.functions.values():
        yield from nodes_of(function)


def nodes_of(function: tree.Function) -> Iterator[Any]:
    """Those of one function; a node that is part of several is there several times."""
    pending: list[Any] = [function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, (list, tuple)):
            pending += node
        elif _is_node(node):
            yield node
            pending += [getattr(node, field.name) for field in fields(node)]


def _is_node(value: Any) -> bool:
    is_ours = is_dataclass(value) and type(value).__module__ == tree.__name__
    return is_ours and not isinstance(value, (tree.Variable, tree.Location))
