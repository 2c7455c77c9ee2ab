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
    changing, is_alone = [], False
    for each in launches:
        births = _births_of(each[0])
        if births is None or births.changes:
            is_alone = heap.upkeep.is_shared
            changing += [] if births is None else [(births, *each)]
    for _ in range(times if changing else 1):
        # As others go through a population: nobody ends objects of theirs meanwhile.
        with memory.no_launch_in_cpython() if is_alone else nullcontext():
            if is_alone:
                memory.finish_launching()
            try:
                memory.begin_in_cpython(this, cpython.part_of_launch())
                heap.synchronize()
                for _ in range(1 if changing else times):
                    run()
            finally:
                memory.launching.pop(this, None)
        for births, program, values, geometry in changing:
            heap.synchronize()
            look_after(heap, births, geometry, turns_in(program.uses(), geometry, values))


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
