"""Which memory accesses can meet, and which memory a launch never changes.

Every byte that kernels see has one role as long as a launch lasts: it belongs to one field of one
class, or is an element of arrays of one type. Nothing else can be made of it, as references and
arrays cannot be cast. So accesses in different roles never meet, and memory in a role that the
program stores to nowhere is constant; LLVM is told both (type-based alias metadata,
``invariant.load``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any

from llvmlite import ir

from ..frontend import tree
from ..frontend.walk import nodes
from ..model.types import ArrayType, ReferenceType, Type
from .types import I64

Role = tuple[Hashable, ...]
"""A field or element, then the names of the members (or indices) that lead to a part of it."""


def field_role(place: tree.FieldPlace) -> Role:
    return ("field", place.owner.type_index, place.name)


def element_role(type: Type) -> Role:
    """Of elements of arrays. An array of objects is also one of their base class."""
    if isinstance(type, ReferenceType):
        return ("reference",)
    if isinstance(type, ArrayType):
        return ("array",)
    return ("element", type)


def stored_roles(program: tree.Program) -> frozenset[Role]:
    """The roles of everything that the program writes to, by stores or atomics."""
    writes = (tree.Store, tree.AugmentedStore, tree.Atomic)
    return frozenset(role_of(node.place) for node in nodes(program) if isinstance(node, writes))


def role_of(
    place: tree.Place, index_of: Callable[[tree.Expression], int | None] = lambda index: None
) -> Role:
    """The role of a place. Where ``index_of`` knows the index of an element of an inline array, it
    follows the array's role, as a member's name would."""
    if isinstance(place, tree.FieldPlace):
        return field_role(place)
    if isinstance(place, tree.ElementPlace):
        return element_role(place.type)
    base = role_of(place.base, index_of)
    if isinstance(place, tree.MemberPlace):
        return (*base, place.name)
    index = index_of(place.index)
    # An element that is not known may be any, whatever is part of it.
    return base if index is None or index < 0 else (*base, index)


class RoleMetadata:
    """The metadata of one module's accesses."""

    def __init__(self, module: ir.Module, stored: frozenset[Role]) -> None:
        self._module = module
        self._stored = stored
        self._tags: dict[Role, Any] = {}

    @cached_property
    def _nothing(self) -> Any:
        return self._module.add_metadata([])

    def mark(self, access: ir.Instruction, role: Role) -> None:
        """Describe a load or store of a scalar in ``role``."""
        access.set_metadata("tbaa", self._tag(role))
        if isinstance(access, ir.LoadInstr) and not self._is_stored(role):
            access.set_metadata("invariant.load", self._nothing)

    def _is_stored(self, role: Role) -> bool:
        return any(role[:length] in self._stored for length in range(1, len(role) + 1))

    def _tag(self, role: Role) -> Any:
        found = self._tags.get(role)
        if found is None:
            add = self._module.add_metadata
            root = add(["sharedoa"])
            node = add([f"role {len(self._tags)}", root, I64(0)])
            found = self._tags[role] = add([node, node, I64(0)])
        return found
