"""Shared classes that another compiler has laid out: they bring a record and a header of their own.

Their fields are accessed as those of any shared class. Their virtual functions are the other
compiler's: none has a slot here, and what Python runs on a proxy are plain functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dispatch.mode import Mode

from ..errors import ClassError
from .annotations import declare
from .classes import ClassType
from .field_access import FieldAccess
from .object import Object, ObjectMeta
from .record import Record
from .types import Type
from .world import World

_TAKEN = Object.__slots__


class ForeignClass(Protocol):
    """What the program of another compiler says of one of its classes."""

    @property
    def record(self) -> Record:
        """Size, alignment and every field, inherited ones too, whatever the mode."""
        ...

    @property
    def is_abstract(self) -> bool: ...

    @property
    def program(self) -> Any:
        """Whose class it is: kernels of other programs cannot call methods of its objects."""
        ...

    def header(self, mode: Mode, backend: Any) -> bytes:
        """What an object starts with in a heap of that mode and backend."""
        ...


_declared: list[ClassType] = []


def any_foreign_class() -> bool:
    """Whether this process has a class of another compiler."""
    return bool(_declared)


def declare_foreign(
    name: str,
    module: str,
    base: type | None,
    fields: Sequence[str],
    resolve_fields: Callable[[], dict[str, Type]],
    members: Mapping[str, Any],
    foreign: ForeignClass,
    type_index: int,
) -> type:
    """A subclass of ``base``, or of ``oa.Object``, for objects that ``foreign`` describes.

    ``fields`` are those that the base has not, ``resolve_fields`` gives their types when all
    classes exist; ``members`` are functions, properties and whatever
    else the Python class is to have. Raises ClassError for names that are taken.
    """
    for field in fields:
        if field in _TAKEN or field in members:
            raise ClassError(f"class {name}: the field name {field} is taken", "rename the field")
    for member in members:
        if member in (*_TAKEN, "__slots__", "__sharedoa__"):
            raise ClassError(f"class {name}: the name {member} is taken", "rename the method")
    namespace = {**members, "__slots__": (), "__module__": module, "__qualname__": name}
    python_class: Any = type.__new__(ObjectMeta, name, (base or Object,), namespace)
    above = base.__sharedoa__ if base is not None else None  # type: ignore[attr-defined]
    with World.changing:
        shared = ClassType(
            name, python_class, above, resolve_fields, type_index=type_index, foreign=foreign
        )
        type.__setattr__(python_class, "__sharedoa__", shared)
        shared.join()
        for field in fields:
            type.__setattr__(python_class, field, FieldAccess(field))
        declare(python_class)
        _declared.append(shared)
        World.advance()
    found: type = python_class
    return found
