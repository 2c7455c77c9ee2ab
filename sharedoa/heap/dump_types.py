"""Types in a dump file: described as JSON, and found again by what the file says."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import DumpError
from ..model.annotations import find_declared
from ..model.classes import ClassType
from ..model.scalars import SCALARS, ScalarType
from ..model.types import ArrayType, InlineType, ReferenceType, Type, ValueType

Description = Any

#: The module that vectors and matrices say they are of; they are made when they are first named.
_VECTORS = "sharedoa"
_LONGEST_SHOWN, _MOST_SHOWN = 100, 20


def describe_class(cls: ClassType) -> Description:
    return [cls.python_class.__module__, cls.python_class.__name__]


def describe_fields(fields: dict[str, Type]) -> Description:
    return [[name, describe_type(type)] for name, type in fields.items()]


def describe_type(type: Type) -> Description:
    """Two types have one description if and only if their memory means the same."""
    if isinstance(type, ScalarType):
        return type.name
    if isinstance(type, ReferenceType):
        return {"reference": describe_class(type.cls)}
    if isinstance(type, ArrayType):
        return {"array": describe_type(type.element)}
    if isinstance(type, InlineType):
        return {"inline": describe_type(type.element), "length": _lengths(type)}
    assert isinstance(type, ValueType)
    owner = type.python_class
    return {"value": [owner.__module__, owner.__name__], "fields": describe_fields(type.fields)}


def _lengths(type: InlineType) -> int | list[int]:
    return type.shape[0] if len(type.shape) == 1 else list(type.shape)


def find_class(description: Description) -> ClassType:
    """Raises DumpError if the program has no such class, ValueError and the like for what describes
    none; so do the others here."""
    cls = getattr(_find(description), "__sharedoa__", None)
    if not isinstance(cls, ClassType):
        raise DumpError(
            f"the dump has objects of {_name(description)}, which is no shared class here",
            "define it as it was when the heap was dumped",
        )
    return cls


def check_fields(what: str, then: Description, now: dict[str, Type]) -> None:
    """Raise DumpError unless the fields are what they were when the dump was written."""
    here = describe_fields(now)
    if here == then:
        return
    before, after = dict(map(tuple, then)), dict(here)
    gone = [f"{printable(name)} is gone" for name in before if name not in after]
    new = [f"{name} is new" for name in after if name not in before]
    changed = [f"{n} has another type" for n in before if n in after and before[n] != after[n]]
    differences = (
        ", ".join([*gone[:_MOST_SHOWN], *new, *changed]) or "the fields have another order"
    )
    raise DumpError(
        f"{what} has changed since the dump was written: {differences}",
        "load it with the class as it was, and copy the fields to objects of the new one",
    )


def find_element(description: Description) -> Type:
    """The type of an array's elements. Raises DumpError if the program has no such type."""
    if isinstance(description, str):
        return SCALARS[description]
    if "reference" in description:
        return ReferenceType(find_class(description["reference"]))
    value = getattr(_find(description["value"]), "__sharedoa_value__", None)
    name = _name(description["value"])
    if not isinstance(value, ValueType):
        raise DumpError(
            f"the dump has values of {name}, which is no value class here",
            "define it as it was when the heap was dumped",
        )
    check_fields(name, description["fields"], value.fields)
    return value


def _find(description: Description) -> type:
    module, name = description
    if module == _VECTORS:
        importlib.import_module("sharedoa.vectors")
    found = find_declared(module, name)
    if found is None:
        raise DumpError(
            f"the dump needs the class {_name(description)}, which does not exist here",
            f"import {printable(module)} before loading",
        )
    return found


def _name(description: Description) -> str:
    return printable(".".join(description))


def printable(text: str) -> str:
    """Text of a file for a message: short, and nothing that a terminal obeys."""
    shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."
    return shown if shown.isprintable() else ascii(shown)
