"""Runs a simulation step by step, with checks, pictures and times between the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import sharedoa as oa
from sharedoa.errors import ArgumentError

from ..interface import RunOptions, RunResult
from .film import Film, require_drawable
from .heap_record import record_heap
from .launches import Launches
from .phases import pauses, timed


class Stepwise(Protocol):
    """What is run: its objects are in a heap."""

    def advance(self) -> None: ...
    def counts(self) -> dict[str, int]: ...


S = TypeVar("S", bound=Stepwise)


def require_generated(options: RunOptions, name: str) -> None:
    """Raise ArgumentError for what a program of one flavour, which reads no files, cannot do."""
    if options.input is not None:
        raise ArgumentError(
            f"{options.input}: {name} is not read from files",
            "leave the input out; size and seed say what is made",
        )
    if options.natural:
        raise ArgumentError(
            f"{name} has one flavour, of the classes that a user would write",
            "leave --natural out",
        )
    if options.out is not None:
        require_drawable(options.out)


def shape_of(
    options: RunOptions, land: str, width: int, height: int, least: int = 1
) -> tuple[int, int]:
    """The width and height of ``land`` (with its article) in cells; for 0 ``options.size``.

    Raises ArgumentError for fewer than ``least`` cells in all, or 2^31 of them.
    """
    assert options.size is not None
    width, height = width or options.size, height or options.size
    if min(width, height) < 1 or not least <= width * height < 1 << 31:
        raise ArgumentError(
            f"{land} cannot have {width} by {height} cells",
            f"give sizes from 1 on, of {least} to 2^31 - 1 cells",
        )
    return width, height


def run_steps(
    options: RunOptions,
    make: Callable[[Any, Launches], S],
    check: Callable[[S, int], list[str]],
    draw: Callable[[S, int, bool], Any],
) -> RunResult:
    """Make a simulation in a heap of its own and run all steps.

    ``check`` is given the number of the step; it returns what holds, and raises CheckFailed.
    ``draw`` makes an image (``PIL.Image``), a small one if it is told so. ``timings["run"]`` is the
    time of all steps but the first, which compiles the kernels and has its own entry; checks and
    pictures are not in it.
    """
    result = RunResult(counts={})
    with oa.Heap(mode=options.mode, backend=options.backend, layout=options.layout) as heap:
        launches = Launches(heap, options.time_kernels, options.on_launch)
        with timed(result, "objects"):
            simulation = make(heap, launches)
            heap.synchronize()
        _advance(simulation, heap, options, result, check, draw)
        result.counts = simulation.counts()
        result.timings |= {f"kernel {name}": t for name, t in launches.seconds.items()}
        record_heap(result, heap)
    return result


def _advance(
    simulation: S,
    heap: Any,
    options: RunOptions,
    result: RunResult,
    check: Callable[[S, int], list[str]],
    draw: Callable[[S, int, bool], Any],
) -> None:
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
            checks.update(check(simulation, step))
        if film and (film.animated or step == options.steps):
            with timed(result, "picture"):
                film.add(draw(simulation, step, film.animated))
        if options.progress is not None:
            options.progress(step, options.steps)
    result.timings.setdefault("run", 0.0)
    result.checks = dict(checks)
    if film:
        with timed(result, "picture"):
            result.picture = film.write()
