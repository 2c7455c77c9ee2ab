"""What a launch may change, as it was: to launch again."""

from __future__ import annotations

from typing import Any
from weakref import finalize

import numpy as np

from .. import ir
from ..heap.heap import Heap
from ..heap.region_selection import RegionSelection
from ..ir.roles import Role, element_role, may_meet, stored_roles
from ..model.classes import ClassType
from . import planned_clusters

Memory = np.ndarray[Any, Any]


class Copies:
    """Copies of a heap's memory that are to be put back: until they are let go of, objects keep
    their clusters. Those that were to get others get them before."""

    def __init__(self, heap: Heap) -> None:
        mark = object()
        # First, so that a signal leaves no mark; and under the lock, so that nobody who has just
        # seen none is about to rearrange objects.
        self.let_go = finalize(self, _let_go, heap, mark)
        self.let_go.atexit = False
        with heap.lock:
            planned_clusters.take_over(heap)
            heap.upkeep.copies.add(mark)


def _let_go(heap: Heap, mark: object) -> None:
    heap.upkeep.copies.discard(mark)
    planned_clusters.remind(heap)


class HeapState:
    """A copy of all memory in the roles that a program stores to; a context manager, in whose block
    it may be put back."""

    def __init__(self, heap: Heap, program: ir.Program) -> None:
        self._copies = Copies(heap)
        heap.synchronize()
        roles = stored_roles(program)
        self._pieces = [(memory, memory.copy()) for memory in memory_in(heap, roles)]

    def __enter__(self) -> HeapState:
        return self

    def __exit__(self, *error: object) -> None:
        self._copies.let_go()

    def restore(self) -> None:
        for memory, copy in self._pieces:
            memory[...] = copy


def memory_in(heap: Heap, roles: frozenset[Role]) -> list[Memory]:
    """All memory of objects and arrays that may be in one of the roles, as the host sees it."""
    heap.distinct.give_up()
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
