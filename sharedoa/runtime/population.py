"""What is known of a heap's objects when a kernel is compiled for it, in modes that use it.

A class without a region has no objects, so no call can meet it; and while regions stay, so does the
order in which they lie. Both change only when a region is added, merged or dropped, which raises
the heap's layout epoch, so a launch looks again exactly when they may have changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from dispatch import state
from dispatch.windows import Range, Windows

from ..frontend import tree
from ..frontend.walk import nodes
from ..heap.heap import Heap
from ..model.types import ReferenceType

_MOST_RANGES_A_CLASS = 2
"""With more of them classes still grow: another range would mean another compilation."""
_MOST_SEARCHED = 4
"""Among so many ranges a search is as quick as telling windows (docs/performance.md)."""


@dataclass(frozen=True)
class Population:
    """``met``: type indices of the classes that a program may meet; ``populated``: those that have
    regions, None where none has; ``ranges``: the type indices of their ranges by address, empty
    where the code should not rest on that order; ``windows`` that hold these ranges, where a
    search among them would be long."""

    met: frozenset[int]
    populated: frozenset[int] | None
    ranges: tuple[int, ...] = ()
    windows: Windows | None = None

    @classmethod
    def of(cls, heap: Heap, met: frozenset[int]) -> tuple[Population, list[int]]:
        """What holds now, and where ``ranges`` or ``windows`` begin."""
        found = _ranges(heap, met)
        ranges = tuple(type_index for _, _, type_index in found)
        populated = frozenset(ranges)
        if len(ranges) > _MOST_RANGES_A_CLASS * len(populated):
            return cls(met, populated), []
        windows = _windows(heap, found)
        if windows is not None:
            return cls(met, populated, windows=windows[0]), [windows[1] % (1 << 64)]
        if len(ranges) > state.MOST_BOUNDS:
            return cls(met, populated), []
        return cls(met, populated or None, ranges), [first for first, _, _ in found]


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


def _ranges(heap: Heap, met: frozenset[int]) -> list[Range]:
    """Each stretch of regions of one class, of classes in ``met`` only; places are what
    ``heap.encoding.order`` says of addresses."""
    order = heap.encoding.order
    stretches: list[Range] = []
    for start, end, cls in heap.placement.ranges():
        type_index = cls.type_index
        if type_index not in met:
            continue
        first = order(start)
        if stretches and stretches[-1][2] == type_index:
            first, _, _ = stretches.pop()
        stretches.append((first, order(end - 1), type_index))
    return stretches


def _windows(heap: Heap, ranges: list[Range]) -> tuple[Windows, int] | None:
    if len(ranges) <= _MOST_SEARCHED:
        return None
    return Windows.of(ranges, 8 * heap.encoding.dtype.itemsize)
