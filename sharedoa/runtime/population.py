"""What is known of a heap's objects when a kernel is compiled for it, in modes that use it.

A class without a region has no objects, so no call can meet it; and while regions stay, so does the
order in which they lie. Both change only when a region is added, merged or dropped, which raises
the heap's layout epoch, so a launch looks again exactly when they may have changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from dispatch import state

from ..frontend import tree
from ..frontend.walk import nodes
from ..heap.heap import Heap
from ..model.types import ReferenceType

_MOST_RANGES_A_CLASS = 2
"""With more of them classes still grow: another range would mean another compilation."""


@dataclass(frozen=True)
class Population:
    """``met``: type indices of the classes that a program may meet; ``populated``: those that have
    regions, None where none has; ``ranges``: the type indices of their ranges by address, empty
    where the code should not rest on that order."""

    met: frozenset[int]
    populated: frozenset[int] | None
    ranges: tuple[int, ...]

    @classmethod
    def of(cls, heap: Heap, met: frozenset[int]) -> Population:
        ranges = tuple(type_index for _, type_index in _ranges(heap, met))
        populated = frozenset(ranges)
        limit = min(state.MOST_BOUNDS, _MOST_RANGES_A_CLASS * len(populated))
        return cls(met, populated or None, ranges if len(ranges) <= limit else ())

    def bounds(self, heap: Heap) -> list[int]:
        """Where ``ranges`` begin, now."""
        if not self.ranges:
            return []
        return [heap.encoding.order(start) for start, _ in _ranges(heap, self.met)]


def classes_met(program: tree.Program) -> frozenset[int]:
    """Type indices of the classes that virtual calls and type tests of ``program`` may meet."""
    found: set[int] = set()
    for node in nodes(program):
        if isinstance(node, tree.VirtualCall):
            found.update(candidate.cls.type_index for candidate in node.candidates)
        elif isinstance(node, tree.TypeTest):
            type = node.value.type
            assert isinstance(type, ReferenceType)
            found.update(cls.type_index for cls in type.cls.concrete())
    return frozenset(found)


def _ranges(heap: Heap, met: frozenset[int]) -> list[tuple[int, int]]:
    """Address and type index of each stretch of regions of one class, by address; of classes in
    ``met`` only."""
    stretches: list[tuple[int, int]] = []
    for start, _, cls in heap.placement.ranges():
        type_index = cls.type_index
        if type_index in met and not (stretches and stretches[-1][1] == type_index):
            stretches.append((start, type_index))
    return stretches
