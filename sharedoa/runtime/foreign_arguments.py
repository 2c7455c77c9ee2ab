"""Arrays of other libraries as arguments: what a launch may do with them.

They never take the quick way to a launch, so each launch looks at them: whether the program stores
to what is read-only, or keeps an array in a field, where nobody would know how long it lasts; and
on a GPU their streams and ours wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..heap.export import gpu_of
from ..heap.foreign import ForeignStorage, adopt, is_foreign, plain, storage_of
from ..heap.heap import Heap, current_heap
from ..heap.recording import recorder
from ..ir.core import element_of, operations_in
from ..ir.roles import EVERYTHING, Role, element_role, may_meet, stored_roles
from ..model.classes import class_of_index
from ..model.types import ArrayType, InlineType, Type, ValueType
from .arguments import USUAL_ARRAYS

if TYPE_CHECKING:
    from .launch import Program


def foreign_places(program: Program, arguments: Sequence[Any]) -> list[int]:
    """Which arguments lie in memory of other libraries."""
    return [
        place
        for place in program.plan.places_of_arrays
        if arguments[place].__class__ not in USUAL_ARRAYS
        and (storage_of(arguments[place]) is not None or is_foreign(arguments[place]))
    ]


def adopted(program: Program, arguments: tuple[Any, ...], places: list[int]) -> tuple[Any, ...]:
    """``arguments`` with arrays as kernels take them. Raises ArgumentError."""
    heaps = (getattr(each, "_heap", None) for each in arguments)
    heap: Heap = next((each for each in heaps if each is not None), None) or current_heap()
    recording = recorder()
    # Nobody else knows when a launch is made that waits; gradients need adjoints beside the memory.
    if recording is not None and not (recording.takes_foreign and gpu_of(heap) is None):
        raise ArgumentError(
            f"kernel {program.source.name}: tapes, blocks of oa.fuse(), and on a GPU captured "
            "steps take no arrays in memory of another library",
            "copy it: oa.array(f32, x)",
        )
    found = list(arguments)
    stored = stored_roles(program.translation().ir)
    for place in places:
        name = program.source.signature.names[place]
        what = f"kernel {program.source.name}, argument {name}"
        given = arguments[place]
        array = given if storage_of(given) is not None else adopt(heap, given, what, True)
        storage = storage_of(array)
        if storage is not None:
            _refuse(storage, stored, what)
        found[place] = plain(array)
    for place in places:
        _refuse_other_types(program, found, place, stored)
    return tuple(found)


def _refuse(storage: ForeignStorage, stored: frozenset[Role], what: str) -> None:
    element = storage.element
    if any(_keeps(role, element) for role in stored):
        raise ArgumentError(
            f"{what}: the kernel stores arrays of {element!r} in fields, which cannot hold memory "
            "of another library",
            f"copy it: oa.array({element!r}, x)",
        )
    if storage.is_read_only and any(may_meet(role, element_role(element)) for role in stored):
        raise ArgumentError(
            f"{what}: this array is read-only, and the kernel stores to elements of {element!r}",
            f"copy it: oa.array({element!r}, x)",
        )


def _refuse_other_types(
    program: Program, arguments: Sequence[Any], place: int, stored: frozenset[Role]
) -> None:
    """Code takes elements of two types for different memory (``ir.roles``): none of it is to be
    changed where it has elements of another type by another name."""
    names, given = program.source.signature.names, arguments[place]
    element, (start, stop) = given.__sharedoa_element__, _span(given)
    others: list[tuple[Type, str]] = []
    for number in program.plan.places_of_arrays:
        begin, end = _span(arguments[number])
        if start < end and begin < stop:
            others.append((arguments[number].__sharedoa_element__, f"argument {names[number]}"))
    own = given._heap.memory.arrays.at(start)
    if own is not None:
        others.append((own.element, "an array of this heap, which objects may hold"))
    for other, name in others:
        roles = {element_role(element), element_role(other)}
        if len(roles) == 1 or not roles <= _touched(program):
            continue
        if any(may_meet(each, role) for each in stored for role in roles):
            raise ArgumentError(
                f"kernel {program.source.name}, argument {names[place]} has elements of "
                f"{element!r} where {name} has {other!r}, and the kernel stores to one of them",
                f"use one type for this memory, or copy it: oa.array({element!r}, x)",
            )


def _span(array: Any) -> tuple[int, int]:
    """Where the elements of an array begin and end."""
    flat = getattr(array, "_flat", array)
    begin: int = getattr(flat, "_address", 0)
    return begin, begin + len(flat) * flat._dtype.itemsize if begin else 0


def _touched(program: Program) -> set[Role]:
    """The roles of the elements of arrays that a program names."""
    operations = operations_in(program.translation().ir)
    return {element_role(element_of(each.result)) for each in operations if each.kind == "element"}


def _keeps(role: Role, element: Type) -> bool:
    if role == EVERYTHING or role[0] == "array":
        return True
    if role[0] != "field" or not isinstance(role[1], int):
        return False
    cls = class_of_index(role[1])
    type = None if cls is None else cls.fields.get(str(role[2]))
    return type is None or _has_array(type, element)


def _has_array(type: Type, element: Type) -> bool:
    if isinstance(type, ArrayType):
        return type.element == element
    if isinstance(type, InlineType):
        return _has_array(type.element, element)
    if isinstance(type, ValueType):
        return any(_has_array(each, element) for each in type.fields.values())
    return False
