"""What is known of frozen objects (``model.frozen``): which they are, and what they hold.

Where code knows which object a reference leads to, what it loads from there is known, too: numbers,
members of value structs, elements of inline arrays, and what references to other frozen objects
lead to.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Union

import numpy as np

from dispatch.dataclass import dataclass

from ..errors import CompileError, Diagnostic
from ..model.classes import class_of_index
from ..model.scalars import ScalarType
from ..model.types import ReferenceType, ValueType
from .core import LvalueType, Operation, Program, operations_in
from .operations import kind_of
from .roles import role_of

Path = tuple[Union[str, int], ...]
"""A field, then members of value structs and indices of inline arrays."""


@dataclass(frozen=True)
class FrozenObject:
    """An object by its reference, and its scalars as they lie in memory, by their paths; references
    to frozen objects are these."""

    reference: int
    contents: tuple[tuple[Path, bytes | FrozenObject], ...]

    @cached_property
    def by_path(self) -> dict[Path, bytes | FrozenObject]:
        return dict(self.contents)


@dataclass(frozen=True)
class FrozenPlace:
    """A place in a frozen object, or what is loaded from there; without a path the object."""

    owner: FrozenObject
    path: Path = ()


def part_of_frozen(operation: Operation, given: Sequence[Any]) -> Any:
    """What an operation makes of a place in a frozen object: a number, a place, or None if that is
    not known."""
    place, *others = given
    if operation.kind == "compare":
        nulls = [v for v in operation.operands if v.source is not None and v.source.kind == "zero"]
        is_asked = len(nulls) == 1 and operation["operator"] in ("is", "is_not")
        return operation["operator"] == "is_not" if is_asked else None
    if not isinstance(place, FrozenPlace):
        return None
    owner, path, type = place.owner, place.path, operation.result.type
    if operation.kind == "convert":
        return place if isinstance(type, ReferenceType) else None
    if operation.kind == "load":
        return _found(owner, path, type)
    if operation.kind in ("field", "member"):
        return FrozenPlace(owner, (*path, operation["name"]))
    if operation.kind == "value_field":
        return _found(owner, (*path, operation["name"]), type)
    if operation.kind == "inline_element" and others[0] is not None:
        return FrozenPlace(owner, (*path, int(others[0])))
    return None


def _found(owner: FrozenObject, path: Path, type: Any) -> Any:
    if isinstance(type, ValueType):
        return FrozenPlace(owner, path)
    held = owner.by_path.get(path)
    if isinstance(held, FrozenObject):
        return FrozenPlace(held)
    if held is None or not isinstance(type, ScalarType):
        return None
    number = np.frombuffer(held, type.dtype, 1)[0].item()
    return number if number == number else None  # there are many NaNs


def check_frozen(program: Program) -> None:
    """Raise CompileError where a program would write to a frozen object, make one or end one."""
    complaints = [
        Diagnostic(
            f"{what}: the class is frozen",
            operation.location,
            "make and delete such objects on the host, and leave out frozen=True where kernels are "
            "to change them",
        )
        for operation in operations_in(program)
        for what in _changes(operation)
    ]
    if complaints:
        raise CompileError(complaints)


def _changes(operation: Operation) -> list[str]:
    if operation.kind == "new" and operation["cls"].frozen:
        return [f"a new {operation['cls'].name} in a kernel"]
    if operation.kind == "delete":
        type = operation.operands[0].type
        if isinstance(type, ReferenceType) and type.cls.frozen:
            return [f"a {type.cls.name} is deleted in a kernel"]
        return []
    known = kind_of(operation)
    if (known is not None and not known.changes) or operation.regions:
        return []
    roles = [role_of(each) for each in operation.operands if isinstance(each.type, LvalueType)]
    found = []
    for kind, *rest in filter(None, roles):
        cls = class_of_index(rest[0]) if kind == "field" and isinstance(rest[0], int) else None
        if cls is not None and cls.frozen:
            found.append(f"{cls.name}.{rest[1]} is written in a kernel")
    return found
