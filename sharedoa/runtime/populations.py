"""Launches that make and end objects: what is done before they begin and after they have ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..heap.birth_order import part_with_deleted
from ..heap.heap import Heap
from ..heap.living import births_of, settle
from ..ir.births import Births
from ..model.classes import ClassType
from ..uninterrupted import interruptible
from .known_ranges import note_births


@contextmanager
def changing(heap: Heap, births: Births, threads: int) -> Iterator[None]:
    """A launch of so many threads goes on in here, and has ended afterwards. Nobody else makes,
    frees or moves objects meanwhile. Raises HeapError if there is no room for what kernels must
    know."""
    note_births(heap)
    heap.settle()
    memory = births_of(heap)
    ended = classes_below(births)
    with heap.lock:
        memory.show_living()
        lent = memory.lend(births.made, threads)
        has_ended = False
        heap.wait_for_others()  # references follow
        try:
            part_with_deleted(heap, lent)
            memory.publish(lent, ended, threads)
            try:
                with interruptible():
                    yield
            finally:
                # A wait that was interrupted has left the launch under way.
                heap.backend.synchronize()
                heap.wait_for_others()
                has_ended = True
        finally:
            if has_ended:
                memory.note_takers(lent)
                settle(heap, lent, ended)
            else:
                memory.return_unused(lent)


def look_after(heap: Heap, births: Births, threads: int) -> None:
    """A launch of so many threads, which made or ended objects, has ended: where much less room is
    needed, what lives moves together."""

    def needed() -> dict[ClassType, int]:
        memory, count = births_of(heap), heap.books.count
        found = {cls: count(cls) for cls in classes_below(births)}
        for cls, each in births.made.items():
            found[cls] = count(cls) + memory.wanted(cls, each, threads)
        return found

    heap.runs_of_classes.note_change({*classes_below(births), *births.made})
    heap.upkeep.after_launch(heap, needed)


def classes_below(births: Births) -> list[ClassType]:
    """The classes of objects that may have been ended, by type index."""
    found = {cls for static in births.ended for cls in static.descendants()}
    return sorted(found, key=lambda cls: cls.type_index)
