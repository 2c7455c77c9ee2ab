"""Runs the structure from its making to its results: what the command line calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sharedoa as oa
from sharedoa.errors import ArgumentError

from ..common.film import Film, require_drawable
from ..common.heap_record import record_heap
from ..common.launches import Launches
from ..common.phases import pauses, timed
from ..interface import RunOptions, RunResult
from .faithful.simulation import FaithfulSimulation
from .generated import generate
from .natural.simulation import NaturalSimulation
from .picture import Picture
from .simulation import Simulation
from .state import check
from .structure import Structure

#: An animation of a few steps can still be followed.
FRAME_MILLISECONDS = 120


def run(options: RunOptions, repair: bool = True) -> RunResult:
    """Run the structure. ``size`` counts nodes of the generated structure; ``repair`` is for the
    natural flavour, in the faithful one what breaks stays broken.

    ``timings["run"]`` is the time of all steps but the first, which compiles the kernels and has
    its own entry; checks and pictures are not in it. Raises ArgumentError for a size that makes no
    structure or output that cannot be written, before anything runs, and CheckFailed.
    """
    assert options.size is not None and options.steps is not None and options.seed is not None
    if options.input is not None:
        raise ArgumentError(
            f"{options.input}: structures are not read from files",
            "leave the input out; size and seed say which structure is generated",
        )
    if options.out is not None:
        require_drawable(options.out)
    result = RunResult(counts={})
    with timed(result, "structure"):
        structure = generate(options.size, options.seed)
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels, options.on_launch)
        with timed(result, "objects"):
            simulation: Simulation
            if options.natural:
                simulation = NaturalSimulation(heap, structure, launches, repair)
            else:
                simulation = FaithfulSimulation(heap, structure, launches)
        _advance(simulation, heap, structure, options, result)
        result.counts = simulation.counts()
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        record_heap(result, heap)
    return result


def _advance(
    simulation: Simulation,
    heap: Any,
    structure: Structure,
    options: RunOptions,
    result: RunResult,
) -> None:
    """All steps, with whatever happens between them."""
    assert options.steps is not None
    film = Film(options.out, FRAME_MILLISECONDS) if options.out else None
    picture = Picture(structure, options.steps, film.animated) if film else None
    checks: Counter[str] = Counter()
    phase = "first step"
    for pause in pauses(options, film is not None and film.animated):
        with timed(result, phase):
            while simulation.step < pause:
                simulation.advance()
            heap.synchronize()
        phase = "run"
        if options.check:
            checks.update(check(simulation.state(), structure, simulation.step))
        if film and picture and (film.animated or pause == options.steps):
            with timed(result, "picture"):
                film.add(picture.frame(simulation.snapshot()))
        if options.progress is not None:
            options.progress(pause, options.steps)
    result.timings.setdefault("run", 0.0)
    result.checks = dict(checks)
    if film:
        with timed(result, "picture"):
            result.picture = film.write()
