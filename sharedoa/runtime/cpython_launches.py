"""Launches that CPython runs, one or several in a row: what other threads wait for meanwhile, and
what becomes of populations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..errors import SharedOAError
from ..heap.births import NO_TURNS
from ..heap.heap import Heap
from ..heap.recording import refuse_others
from ..ir.births import Births
from . import cpython
from .cpython_births import LaunchInCPython
from .geometry import Geometry
from .populations import look_after, turns_in

if TYPE_CHECKING:
    from .launch import Program

#: A program, its arguments as the function takes them, and the threads of a launch.
InCPython = tuple["Program", tuple[Any, ...], Geometry]


def launch(program: Program, heap: Heap, arguments: tuple[Any, ...], geometry: Geometry) -> None:
    """Launch ``program``, whose lock the caller has."""

    def run() -> None:
        refuse_others(heap)
        run_threads(program, heap, program.plan.host_values(arguments), geometry)

    run_noted(heap, [(program, arguments, geometry)], run)


def run_noted(
    heap: Heap, launches: Sequence[InCPython], run: Callable[[], None], times: int = 1
) -> None:
    """Call ``run``, which runs these ``launches``, so many ``times``; others wait for that. The
    caller has the locks of the programs."""
    memory, this = heap.memory, object()
    births = {program: _births_of(program) for program, _, _ in launches}
    changes = any(each is None or each.changes for each in births.values())
    is_alone = changes and heap.upkeep.is_shared
    for _ in range(times):
        # As others go through a population: nobody ends objects of theirs meanwhile.
        with memory.no_launch_in_cpython() if is_alone else nullcontext():
            if is_alone:
                memory.finish_launching()
            try:
                memory.begin_in_cpython(this, cpython.part_of_launch())
                heap.synchronize()
                run()
            finally:
                memory.launching.pop(this, None)
        for program, values, geometry in launches:
            made = births[program]
            if made is not None and made.changes:
                heap.synchronize()
                look_after(heap, made, geometry, turns_in(program.uses(), geometry, values))


def run_threads(program: Program, heap: Heap, values: tuple[Any, ...], geometry: Geometry) -> None:
    """Run all threads of a launch."""
    births = _births_of(program)
    turns = NO_TURNS if births is None else turns_in(program.uses(), geometry, values)
    objects = LaunchInCPython(heap, births, math.prod(geometry.threads), turns)
    try:
        cpython.launch(program.source, values, geometry, objects)
    finally:
        try:
            objects.close()
        finally:
            objects.close()  # a signal may have come before the first one did anything
    shortage = objects.shortage(program.source.name)
    if shortage is not None:
        raise shortage


def _births_of(program: Program) -> Births | None:
    """What it makes and ends; None if it cannot be compiled, as CPython runs more than kernels may
    hold."""
    try:
        return program.uses().births
    except SharedOAError:
        return None
