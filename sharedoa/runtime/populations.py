"""Launches that make and end objects: what is done before they begin and after they have ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..heap.birth_order import part_with_deleted
from ..heap.births import NO_TURNS, AllTurns
from ..heap.heap import Heap
from ..heap.living import births_of, settle
from ..ir.birth_turns import turns_of
from ..ir.births import Births
from ..ir.job import Uses
from ..ir.regrouping import may_regroup, threads_apart
from ..model.classes import ClassType
from ..model.scalars import ScalarType
from ..uninterrupted import interruptible
from .geometry import Geometry
from .known_ranges import note_births

if TYPE_CHECKING:
    from .launch import Program

_MOST_KEPT = 256
"""Launches of a program of which it is known who makes objects in turn."""


def turns_in(uses: Uses, geometry: Geometry, arguments: Sequence[Any]) -> AllTurns:
    """Of which classes the threads of a launch of a program make objects in turn
    (``ir.birth_turns``): the same on every backend."""
    threads, rows = geometry.threads
    if rows != 1 or not uses.births.made:
        return NO_TURNS
    given = {}
    for place, parameter in enumerate(uses.program.kernel.parameters):
        type, argument = parameter.type, arguments[place]
        is_number = isinstance(argument, (bool, int, np.integer, np.bool_))
        if isinstance(type, ScalarType) and not type.is_float and is_number:
            given[place] = int(argument)

    def key(used: frozenset[int], counts: bool) -> tuple[Any, ...]:
        return threads if counts else None, *map(given.get, sorted(used))

    known: dict[tuple[frozenset[int], bool], dict[Any, AllTurns]]
    known = uses.derived.setdefault(turns_in, {})
    for what, launches in [*known.items()]:
        turns = launches.get(key(*what))
        if turns is not None:
            return turns
    found = turns_of(uses.program, uses.births, threads, given)
    launches = known.setdefault((found.used, found.counts), {})
    if len(launches) >= _MOST_KEPT:
        launches.clear()
    launches[key(found.used, found.counts)] = found.turns
    return found.turns


def threads_apart_in(
    program: Program, heap: Heap, geometry: Geometry, arguments: Sequence[Any]
) -> int:
    """How far apart in number the threads of a warp are in a launch, as far as the program tells
    before any pass (``ir.regrouping``)."""
    uses, target = program.uses(), heap.backend.target
    in_warps = heap.mode.shares_loops and target.warp is not None and not heap.debug
    if not (in_warps and uses.births.made and may_regroup(uses.program)):
        return 1
    turns = turns_in(uses, geometry, arguments).values()
    period = max([each.period for each in turns], default=1)
    return threads_apart(period, program.block(heap.backend, geometry)[0], target.lanes)


def changing(
    heap: Heap, births: Births, geometry: Geometry, turns: AllTurns, launch: Callable[[], None]
) -> None:
    """``launch``, and wait until that has ended. Nobody else makes, frees or moves objects
    meanwhile. Raises HeapError if there is no room for what kernels must know.

    Not a block of ``with``: a signal between its beginning and the first line in it would keep the
    books as long as somebody has the traceback.
    """
    threads = math.prod(geometry.threads)
    note_births(heap)
    heap.settle()
    memory = births_of(heap)
    ended = classes_below(births)
    with heap.lock:
        memory.show_living()
        lent = memory.lend(births.made, threads, turns)
        has_ended = False
        heap.wait_for_others()  # references follow
        try:
            part_with_deleted(heap, lent)
            memory.publish(lent, ended, threads)
            try:
                with interruptible():
                    launch()
            finally:
                # A wait that was interrupted has left the launch under way.
                heap.backend.synchronize()
                heap.wait_for_others()
                has_ended = True
                heap.upkeep.births += births.changes  # who only asks changes nothing
        finally:
            if has_ended:
                memory.note_takers(lent)
                settle(heap, lent, ended)
            else:
                memory.return_unused(lent)


def look_after(heap: Heap, births: Births, geometry: Geometry, turns: AllTurns) -> None:
    """A launch that made or ended objects has ended: where much less room is needed, what lives
    moves together."""
    threads = math.prod(geometry.threads)

    def needed() -> dict[ClassType, int]:
        memory, count = births_of(heap), heap.books.count
        found = {cls: count(cls) for cls in classes_below(births)}
        for cls, each in births.made.items():
            found[cls] = count(cls) + memory.wanted(cls, each, threads, turns)
        return found

    heap.runs_of_classes.note_change({*classes_below(births), *births.made})
    heap.upkeep.after_launch(heap, needed)


def classes_below(births: Births) -> list[ClassType]:
    """The classes of objects that may have been ended, by type index."""
    found = {cls for static in births.ended for cls in static.descendants()}
    return sorted(found, key=lambda cls: cls.type_index)
