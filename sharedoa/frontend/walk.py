"""All nodes of a typed tree, for whoever looks for some kind of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from . import tree

#: What fields of nodes are declared as when no node is in them.
_NO_NODES = frozenset({
    "Type", "Location", "Variable", "ClassType", "str", "int", "bool", "int | float | bool",
    "UnaryOperator", "BinaryOperator", "CompareOperator", "Literal['and', 'or']", "list[Type]",
    "list[ClassType]", "list[str]", "int | None", "ConstantTable", "tuple[bool, ...]",
})  # fmt: skip


def nodes_in(part: Any) -> Iterator[Any]:
    """A node, or a list of them, with every node below."""
    pending: list[Any] = [part]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
            continue
        names = _part_names(node.__class__)
        if names is not None:
            yield node
            pending += [getattr(node, name) for name in names]


@cache
def _part_names(kind: Any) -> tuple[str, ...] | None:
    """The fields in which nodes of a class may have others; None for what is no node."""
    is_node = (
        issubclass(kind, (tree.Expression, tree.Statement)) or kind.__module__ == tree.__name__
    )
    if kind is tree.Variable or not (is_node and is_dataclass(kind)):
        return None
    return tuple(field.name for field in fields(kind) if field.type not in _NO_NODES)
