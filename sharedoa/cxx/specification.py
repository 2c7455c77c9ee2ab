"""What the user says of a C++ class: its fields as a dtype, and methods that the CPU runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dispatch.dataclass import dataclass

from ..errors import ClassError

VTABLE_POINTER = 8
"""Bytes at the start of every object."""

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_TYPE = re.compile(r"[\w:<>,*&()\[\] ]+\Z")
_POINTER = re.compile(r"(.+?)\s*\*\s*\Z")
POINTER_DTYPE = np.dtype(np.uint64)


class Class:
    """Fields of a C++ class, and what its Python class has besides: ``Class([("side", "f4")],
    area=lambda self: self.side * self.side)``. The functions run on the CPU; kernels call the C++
    ones of that name."""

    def __init__(self, fields: Any = (), /, **members: Any) -> None:
        self.fields = fields
        self.members = members


@dataclass(frozen=True)
class FieldSpecification:
    """``dtype`` as the user gave it, inner offsets not yet those of the program. ``pointee`` is the
    C++ class that a pointer refers to; ``offset`` is None where the program tells it."""

    name: str
    dtype: np.dtype[Any]
    pointee: str | None
    offset: int | None

    def members(self) -> Iterator[tuple[str, str]]:
        """A label and the C++ expression of the member itself, then of all that structures in it
        hold."""
        return _members(self.name, self.name, self.dtype)


def _members(label: str, expression: str, dtype: np.dtype[Any]) -> Iterator[tuple[str, str]]:
    yield label, expression
    if dtype.subdtype is not None:
        expression += "[0]" * len(dtype.shape)
    for name in dtype.base.names or ():
        assert dtype.base.fields is not None
        inner = dtype.base.fields[name][0]
        yield from _members(f"{label}__{name}", f"{expression}.{name}", inner)


@dataclass(frozen=True)
class ClassSpecification:
    """A C++ class by its name, its own fields in order, and members of the Python class."""

    name: str
    fields: tuple[FieldSpecification, ...]
    members: Mapping[str, Any]


def parse_classes(classes: Mapping[str, Any] | None) -> list[ClassSpecification]:
    """Raises ClassError for what is no field list, or names that C++ does not have."""
    if classes is not None and not isinstance(classes, Mapping):
        raise ClassError(
            f"classes= is {classes!r}, which names no classes",
            'pass a dict: {"Circle": [("radius", "f4")]}',
        )
    found = [_parse_class(name, given) for name, given in (classes or {}).items()]
    seen: dict[str, str] = {}
    for specification in found:
        other = seen.setdefault(spelling(specification.name), specification.name)
        if other != specification.name:
            raise ClassError(f"class {other} is declared twice", "declare each class once")
    return found


def spelling(name: str) -> str:
    """A C++ type without the spaces that mean nothing."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", name.strip())


def _parse_class(name: str, given: Any) -> ClassSpecification:
    if not isinstance(name, str) or not _TYPE.match(name):
        raise ClassError(
            f"{name!r} is no C++ class", 'name it as C++ does: "geo::Circle", "Box<float>"'
        )
    fields, members = (given.fields, given.members) if isinstance(given, Class) else (given, {})
    parsed = tuple(_parse_fields(name, fields))
    for field in parsed:
        # Members are pasted into C++ code, and are attributes of Python objects.
        for _, expression in field.members() if field.offset is None else [("", field.name)]:
            last = expression.rsplit(".", 1)[-1].removesuffix("[0]")
            if not _NAME.match(last):
                raise ClassError(
                    f"class {name}: {last!r} is no name of a field", "use the C++ member's name"
                )
    return ClassSpecification(name, parsed, dict(members))


def _parse_fields(name: str, given: Any) -> Iterator[FieldSpecification]:
    if given is None or (isinstance(given, Sequence) and len(given) == 0):
        return
    given, pointees = _without_pointers(given)
    try:
        dtype = np.dtype(given)
    except (TypeError, ValueError) as problem:
        raise ClassError(
            f"class {name}: {given!r} is no list of fields: {problem}",
            'write what np.dtype() takes: [("radius", "f4"), ("colour", "u1", 3)]',
        ) from problem
    if dtype.names is None or dtype.fields is None:
        raise ClassError(
            f"class {name}: {given!r} has no fields", 'give each a name: [("radius", "f4")]'
        )
    has_offsets = _has_offsets(given, dtype)
    for field in dtype.names:
        inner, offset = dtype.fields[field][:2]
        yield FieldSpecification(
            field, inner, pointees.get(field), int(offset) if has_offsets else None
        )


def _without_pointers(given: Any) -> tuple[Any, dict[str, str]]:
    """``("next", "Node *")`` is a reference; to NumPy it is a number."""
    pointees: dict[str, str] = {}

    def number(name: Any, format: Any) -> Any:
        match = _POINTER.match(format) if isinstance(format, str) else None
        if match is None:
            return format
        pointees[name] = match[1]
        return POINTER_DTYPE

    if isinstance(given, list):
        entries: list[Any] = []
        for entry in given:
            if isinstance(entry, tuple) and len(entry) >= 2:
                entry = (entry[0], number(entry[0], entry[1]), *entry[2:])
            entries.append(entry)
        return entries, pointees
    if isinstance(given, dict) and {"names", "formats"} <= given.keys():
        pairs = zip(given["names"], given["formats"], strict=True)
        return {**given, "formats": [number(*pair) for pair in pairs]}, pointees
    return given, pointees


def _has_offsets(given: Any, dtype: np.dtype[Any]) -> bool:
    """Whether the user chose the offsets: a dtype that NumPy laid out itself says nothing."""
    if isinstance(given, dict):
        return "offsets" in given
    if not isinstance(given, np.dtype):
        return False
    assert dtype.names is not None and dtype.fields is not None
    entries = [(name, dtype.fields[name][0]) for name in dtype.names]
    offsets = [dtype.fields[name][1] for name in dtype.names]
    usual = (np.dtype(entries), np.dtype(entries, align=True))
    return all([d.fields[n][1] for n, _ in entries] != offsets for d in usual if d.fields)
