"""Numbers within value structs that are arguments of launches: each has a place of its own among
those that code may know, behind the places of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dispatch.dataclass import dataclass

from ..model.scalars import ScalarType
from ..model.types import Type, ValueType

_SHIFT = 16
Path = tuple[str, ...]


def number_parts(type: Type) -> Mapping[Path, ScalarType]:
    """The numbers of a struct that holds nothing else, in the order of its leaves; none of another
    type."""
    if not (isinstance(type, ValueType) and _holds_numbers(type)):
        return {}
    found: dict[Path, ScalarType] = {}
    for name, each in type.fields.items():
        if isinstance(each, ScalarType):
            found[name,] = each
        else:
            found.update({(name, *path): part for path, part in number_parts(each).items()})
    return found


def _holds_numbers(type: ValueType) -> bool:
    """Whether its numbers were converted when it was made, too."""
    is_ours = type.dtype is None or bool(type.shape)
    return is_ours and all(
        isinstance(each, ScalarType) or (isinstance(each, ValueType) and _holds_numbers(each))
        for each in type.fields.values()
    )


def place_of_part(parameter: int, number: int) -> int:
    """The place of a number of a parameter that is a struct."""
    return parameter | number + 1 << _SHIFT


def parameter_of(place: int) -> int:
    return place & (1 << _SHIFT) - 1


def slot_of(place: int, first_slots: Sequence[int]) -> int:
    """``first_slots``: at which each parameter's leaves begin."""
    return first_slots[parameter_of(place)] + max((place >> _SHIFT) - 1, 0)


def name_of(place: int, name: str, type: Type) -> str:
    """What a place is called whose parameter has that name and type."""
    if place >> _SHIFT == 0:
        return name
    return ".".join((name, *list(number_parts(type))[(place >> _SHIFT) - 1]))


@dataclass(frozen=True)
class KnownStruct:
    """A struct of which some numbers are known, and their structs."""

    parts: tuple[tuple[str, Any], ...]

    def part(self, name: str) -> Any:
        return dict(self.parts).get(name)


def known_struct(numbers: Mapping[Path, Any]) -> KnownStruct | None:
    """What is known of a struct, by what its numbers are; None if that is nothing."""
    by_name: dict[str, dict[Path, Any]] = {}
    for (name, *rest), number in numbers.items():
        if number is not None:
            by_name.setdefault(name, {})[tuple(rest)] = number
    parts = {
        name: inner[()] if () in inner else known_struct(inner) for name, inner in by_name.items()
    }
    return KnownStruct(tuple(parts.items())) if parts else None
