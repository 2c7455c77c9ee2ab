"""Which classes' fields a program uses."""

from __future__ import annotations

from ..model.classes import Family
from . import tree
from .walk import nodes


def families_used(program: tree.Program) -> frozenset[Family]:
    """The families of the classes whose fields a program reads or writes."""
    owners = (node.owner for node in nodes(program) if isinstance(node, tree.FieldPlace))
    return frozenset(owner.family for owner in owners)
