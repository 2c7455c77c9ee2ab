"""All nodes of a typed tree, for whoever looks for some kind of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from dispatch.dataclass import fields, is_dataclass

from . import tree

T = TypeVar("T")

#: What fields of nodes are declared as when no node is in them.
_NO_NODES = frozenset({
    "Type", "Location", "Variable", "ClassType", "str", "int", "bool", "int | float | bool",
    "UnaryOperator", "BinaryOperator", "CompareOperator", "Literal['and', 'or']", "list[Type]",
    "list[ClassType]", "list[str]", "int | None", "ConstantTable", "tuple[bool, ...]",
})  # fmt: skip


def found_below(part: Any, look: Callable[[Any], T | None]) -> dict[int, Sequence[T]]:
    """What ``look`` finds in ``part``, a node or a list of them, and in all nodes and lists below:
    for each of these, by its identity, what is found in it and below, each thing once."""
    order: list[tuple[Any, Sequence[Any]]] = []
    pending: list[Any] = [part]
    while pending:
        node = pending.pop()
        parts: Sequence[Any] = node
        if not isinstance(node, list):
            names = _part_names(node.__class__)
            if names is None:
                continue
            parts = [getattr(node, name) for name in names]
        order.append((node, parts))
        pending += parts
    found: dict[int, Sequence[T]] = {}
    for node, parts in reversed(order):
        some = [more for each in parts if (more := found.get(id(each)))]
        if not isinstance(node, list) and (own := look(node)) is not None:
            some.append((own,))
        found[id(node)] = some[0] if len(some) == 1 else (*dict.fromkeys(chain(*some)),)
    return found


@cache
def _part_names(kind: Any) -> tuple[str, ...] | None:
    """The fields in which nodes of a class may have others; None for what is no node."""
    is_node = (
        issubclass(kind, (tree.Expression, tree.Statement)) or kind.__module__ == tree.__name__
    )
    if kind is tree.Variable or not (is_node and is_dataclass(kind)):
        return None
    return tuple(field.name for field in fields(kind) if field.type not in _NO_NODES)
