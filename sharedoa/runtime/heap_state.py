"""What a launch may change, as it was: to launch again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ir
from ..heap.heap import Heap
from ..heap.region_selection import RegionSelection
from ..ir.roles import Role, element_role, may_meet, stored_roles
from ..model.classes import ClassType

Memory = np.ndarray[Any, Any]


class HeapState:
    """A copy of all memory in the roles that a program stores to."""

    def __init__(self, heap: Heap, program: ir.Program) -> None:
        heap.synchronize()
        roles = stored_roles(program)
        self._pieces = [(memory, memory.copy()) for memory in memory_in(heap, roles)]

    def restore(self) -> None:
        for memory, copy in self._pieces:
            memory[...] = copy


def memory_in(heap: Heap, roles: frozenset[Role]) -> list[Memory]:
    """All memory of objects and arrays that may be in one of the roles, as the host sees it."""
    found = []
    for cls in heap.placement.classes():
        if any(_may_be_in(cls, role) for role in roles):
            selection = heap.placement.objects([cls])
            assert isinstance(selection, RegionSelection)
            for part in selection.parts:
                part.host_uses(heap.residency)
                found.append(part.region.memory)
    for storage in heap.memory.all_arrays():
        if any(may_meet(element_role(storage.element), role) for role in roles):
            heap.residency.host_uses(
                storage.address, storage.address, storage.address + storage.size
            )
            found.append(np.asarray(storage))
    return found


def _may_be_in(cls: ClassType, role: Role) -> bool:
    """Whether objects of a class have memory in a role."""
    if not role:
        return True
    if role[0] != "field":
        return False
    return any(each.type_index == role[1] for each in cls.ancestry())
