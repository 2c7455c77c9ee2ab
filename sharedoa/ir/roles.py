"""Which memory accesses can meet.

Every byte that kernels see has one role as long as a launch lasts: it belongs to one field of one
class, or is an element of arrays of one type. Nothing else can be made of it, as references and
arrays cannot be cast. So accesses in different roles never meet.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ..model.classes import class_of_index
from ..model.types import ArrayType, ReferenceType, Type
from .core import LvalueType, Operation, Program, Value, constant_of, operations_in
from .operations import kind_of

Role = tuple[Hashable, ...]
"""A field or element, then the names of the members (or indices) that lead to a part of it."""
ANY = None
"""In the place of an index: that of any element."""
EVERYTHING: Role = ()
"""The role of memory of which nothing is known: it may meet every other."""

AN_ELEMENT, LIST_ELEMENT = "an element of an array", "an element of a list"


def field_role(field: Operation) -> Role:
    """Of the field that the operation names."""
    return ("field", field["owner"].type_index, field["name"])


def element_role(type: Type) -> Role:
    """Of elements of arrays. An array of objects is also one of their base class."""
    if isinstance(type, ReferenceType):
        return ("reference",)
    if isinstance(type, ArrayType):
        return ("array",)
    return ("element", type)


def tile_role(tile: Operation) -> Role:
    """Of memory that the threads of a block share."""
    return ("tile", tile["number"], tile["name"])


def list_role(type: Type) -> Role:
    """Of elements of lists, which are in memory of their own."""
    return ("list", type)


def role_of(lvalue: Value) -> Role:
    """The role of what lies at an lvalue. The index of an element of an inline array follows the
    array's role, as a member's name does: ``ANY`` where it is not known. Of an lvalue that an
    operation makes which nobody declared, ``EVERYTHING``."""
    made, type = lvalue.source, lvalue.type
    if made is None or not isinstance(type, LvalueType):
        return EVERYTHING
    if made.kind == "field":
        return field_role(made)
    if made.kind == "tile":
        return tile_role(made)
    if made.kind == "list_element":
        return list_role(type.element)
    if made.kind == "element":
        return element_role(type.element)
    if made.kind == "shadow":
        return role_of(made.operands[0])  # no adjoint meets what is in another role, nor its own
    if made.kind not in ("inline_element", "member"):
        return EVERYTHING
    base = role_of(made.operands[0])
    if base == EVERYTHING:
        return EVERYTHING
    if made.kind == "member":
        return (*base, made["name"])
    index = constant_of(made.operands[1])
    return (*base, ANY if index is None or index < 0 else index)


def may_meet(one: Role, other: Role) -> bool:
    """Whether memory in the two roles may be the same, or one a part of the other."""
    return all(a == b or a is ANY or b is ANY for a, b in zip(one, other, strict=False))


def kin_of(role: Role) -> Role:
    """What roles that may meet have in common, but for ``EVERYTHING``: where there are many, only
    those of one kin need be compared."""
    return role[: 2 if role[:1] == ("field",) else 1]


def stored_roles(program: Program) -> frozenset[Role]:
    """The roles of everything that the program writes to, by stores or atomics."""
    found: set[Role] = set()
    for operation in operations_in(program):
        kind = kind_of(operation)
        if kind is None:
            return frozenset([EVERYTHING])
        if kind.changes:
            lvalues = [v for v in operation.operands if isinstance(v.type, LvalueType)]
            found.update(map(role_of, lvalues) if lvalues else [EVERYTHING])
    return frozenset(found)


def describe(role: Role) -> str:
    """What messages call memory: ``Body.position.x``, or ``x of an element of an array``."""
    kind, *rest = role
    if kind == "list":
        members = ".".join(_names(rest[1:]))
        return f"{members} of {LIST_ELEMENT}" if members else LIST_ELEMENT
    if kind == "tile":
        return ".".join([str(rest[1]), *_names(rest[2:])])
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
