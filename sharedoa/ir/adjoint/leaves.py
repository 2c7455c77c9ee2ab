"""The floats of a value: what has an adjoint."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ...model.scalars import ScalarType
from ...model.types import ArrayType, InlineType, TupleType, Type, ValueType

Path = tuple[str | int, ...]
"""To a part of a compound: names of members, indices of items. A scalar's own is empty."""


def float_leaves(type: Type) -> dict[Path, ScalarType]:
    """The floats in a value of ``type``, in order. What arrays and lists hold is not in them."""
    return dict(_leaves(type))


def _leaves(type: Type) -> Iterator[tuple[Path, ScalarType]]:
    if isinstance(type, ScalarType):
        if type.is_float:
            yield (), type
        return
    for name, part in parts_of(type):
        for path, leaf in _leaves(part):
            yield (name, *path), leaf


def parts_of(type: Type) -> Iterator[tuple[str | int, Type]]:
    """The parts of a compound, by name or number; a row of an inline array is one."""
    if isinstance(type, ValueType):
        yield from type.fields.items()
    elif isinstance(type, TupleType):
        yield from enumerate(type.items)
    elif isinstance(type, InlineType):
        yield from zip(range(type.shape[0]), itertools.repeat(type.item))


def words(type: Type) -> int:
    """How many words of a tape a value of ``type`` takes."""
    if isinstance(type, ArrayType):
        return 2
    if isinstance(type, (ValueType, TupleType, InlineType)):
        return sum(words(part) for _, part in parts_of(type))
    return 1
