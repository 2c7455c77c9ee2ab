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
