"""Runs sugarscape: what the command line calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sharedoa as oa
from sharedoa.errors import ArgumentError

from ..common.film import Film, require_drawable
from ..common.heap_record import record_heap
from ..common.launches import Launches
from ..common.phases import pauses, timed
from ..interface import CheckFailed, RunOptions, RunResult
from .classes import FEMALE, MALE
from .picture import frame
from .simulation import Simulation


def run(options: RunOptions, width: int = 0, height: int = 0) -> RunResult:
    """Run a land of ``size`` by ``size`` cells, or of ``width`` by ``height``.

    ``timings["run"]`` is the time of all steps but the first, which compiles the kernels and has
    its own entry; checks and pictures are not in it. Raises ArgumentError for sizes that make no
    land, an input, or output that cannot be written, before anything runs, and CheckFailed.
    """
    assert options.size is not None and options.steps is not None and options.seed is not None
    if options.input is not None:
        raise ArgumentError(
            f"{options.input}: lands are not read from files",
            "leave the input out; size and seed say which land is made",
        )
    if options.natural:
        raise ArgumentError(
            "sugarscape has one flavour, of the classes that a user would write",
            "leave --natural out",
        )
    if options.out is not None:
        require_drawable(options.out)
    width, height = width or options.size, height or options.size
    if min(width, height) < 1 or width * height >= 1 << 31:
        raise ArgumentError(
            f"a land cannot have {width} by {height} cells",
            "give sizes from 1 on, of fewer than 2^31 cells",
        )
    result = RunResult(counts={})
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels, options.on_launch)
        with timed(result, "objects"):
            simulation = Simulation(heap, width, height, options.seed, launches)
            heap.synchronize()
        _advance(simulation, heap, options, result)
        result.counts = simulation.counts()
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        record_heap(result, heap)
    return result


def _advance(simulation: Simulation, heap: Any, options: RunOptions, result: RunResult) -> None:
    """All steps, with whatever happens between them."""
    assert options.steps is not None
    film = Film(options.out) if options.out else None
    checks: Counter[str] = Counter()
    step = 0
    for pause in pauses(options, film is not None and film.animated):
        with timed(result, "run" if step else "first step"):
            while step < pause:
                simulation.advance()
                step += 1
            heap.synchronize()
        if options.check:
            checks.update(_check(simulation, step))
        if film and (film.animated or step == options.steps):
            with timed(result, "picture"):
                film.add(frame(simulation.state(), step, film.animated))
        if options.progress is not None:
            options.progress(step, options.steps)
    result.timings.setdefault("run", 0.0)
    result.checks = dict(checks)
    if film:
        with timed(result, "picture"):
            result.picture = film.write()


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    misplaced = simulation.misplaced()
    if misplaced:
        raise CheckFailed(f"step {step}: {misplaced} cells and their agents do not agree")
    state = simulation.state()
    shown = {"males": int((state.kind == MALE).sum()), "females": int((state.kind == FEMALE).sum())}
    counts = simulation.counts()
    if any(counts[kind] != number for kind, number in shown.items()):
        raise CheckFailed(f"step {step}: cells show {shown}, but {counts} live")
    if min(state.cell_sugar.min(), state.sugar.min(), state.children_left.min()) < 0:
        raise CheckFailed(
            f"step {step}: there is less than no sugar, or there are too many children"
        )
    return ["agents are on their cells", "all that live have a cell", "nobody has too little"]
