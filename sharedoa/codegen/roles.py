"""Which memory accesses can meet, and which memory a launch never changes.

Every byte that kernels see has one role as long as a launch lasts: it belongs to one field of one
class, or is an element of arrays of one type. Nothing else can be made of it, as references and
arrays cannot be cast. So accesses in different roles never meet, and memory in a role that the
program stores to nowhere is constant; LLVM is told both (type-based alias metadata,
``invariant.load``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

from llvmlite import ir

from ..frontend import tree
from ..frontend.effects import STORE, all_known
from ..frontend.walk import nodes
from ..model.classes import class_of_index
from ..model.types import ArrayType, ReferenceType, Type
from .types import I64

Role = tuple[Hashable, ...]
"""A field or element, then the names of the members (or indices) that lead to a part of it."""
ANY = None
"""In the place of an index: that of any element."""
_EVERYTHING: Role = ()


AN_ELEMENT = "an element of an array"


def field_role(place: tree.FieldPlace) -> Role:
    return ("field", place.owner.type_index, place.name)


def element_role(type: Type) -> Role:
    """Of elements of arrays. An array of objects is also one of their base class."""
    if isinstance(type, ReferenceType):
        return ("reference",)
    if isinstance(type, ArrayType):
        return ("array",)
    return ("element", type)


def describe(role: Role) -> str:
    """What messages call a place: ``Body.position.x``, or ``x of an element of an array``."""
    kind, *rest = role
    if kind == "field":
        index, *names = rest
        assert isinstance(index, int)
        cls = class_of_index(index)
        return ".".join([cls.name if cls else "?", *_names(names)])
    members = ".".join(_names(rest[1:]))
    return f"{members} of {AN_ELEMENT}" if members else AN_ELEMENT


def _names(path: Sequence[Hashable]) -> list[str]:
    return [str(part) for part in path if part is not ANY]


def is_unordered(role: Role) -> bool:
    """Whether the class of a field says that the order of accesses to it is all the same."""
    if role[0] != "field":
        return False
    _, index, name, *_ = role
    assert isinstance(index, int)
    cls = class_of_index(index)
    return cls is not None and name in cls.unordered


def stored_roles(program: tree.Program) -> frozenset[Role]:
    """The roles of everything that the program writes to, by stores or atomics."""
    if not all_known(program):
        return frozenset([_EVERYTHING])
    return frozenset(role_of(node.place) for node in nodes(program) if node.__class__ in STORE)


def role_of(
    place: tree.Place, index_of: Callable[[tree.Expression], int | None] = lambda index: None
) -> Role:
    """The role of a place. The index of an element of an inline array follows the array's role, as
    a member's name does: ``ANY`` where ``index_of`` does not know it."""
    if isinstance(place, tree.FieldPlace):
        return field_role(place)
    if isinstance(place, tree.ElementPlace):
        return element_role(place.type)
    base = role_of(place.base, index_of)
    if isinstance(place, tree.MemberPlace):
        return (*base, place.name)
    index = index_of(place.index)
    return (*base, ANY if index is None or index < 0 else index)


def may_meet(one: Role, other: Role) -> bool:
    """Whether places of the two roles may be the same, or one a part of the other."""
    return all(a == b or a is ANY or b is ANY for a, b in zip(one, other, strict=False))


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
        if isinstance(access, ir.LoadInstr) and not self.is_stored(role):
            access.set_metadata("invariant.load", self._nothing)

    def is_stored(self, role: Role) -> bool:
        """Whether the program writes to memory in ``role``."""
        return any(role[:length] in self._stored for length in range(len(role) + 1))

    def _tag(self, role: Role) -> Any:
        found = self._tags.get(role)
        if found is None:
            add = self._module.add_metadata
            root = add(["sharedoa"])
            node = add([f"role {len(self._tags)}", root, I64(0)])
            found = self._tags[role] = add([node, node, I64(0)])
        return found
