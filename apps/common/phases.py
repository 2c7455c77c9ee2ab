"""The phases of a program's run: their times, and when the host looks at the simulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..interface import RunOptions, RunResult

#: Called with a phase's name when it begins, and with None when it ends.
PhaseWatcher = Callable[[str | None], None]

#: Frames of an animation, at most.
FRAMES = 100
#: Reports of progress, at most.
REPORTS = 20

_watcher: ContextVar[PhaseWatcher | None] = ContextVar("apps_phase_watcher", default=None)


@contextmanager
def watched(watcher: PhaseWatcher) -> Iterator[None]:
    """``watcher`` hears of the phases of the programs that run in this block."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def timed(result: RunResult, phase: str) -> Iterator[None]:
    """Add the seconds that pass to ``result.timings[phase]``."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(phase)
    start = time.perf_counter()
    yield
    passed = time.perf_counter() - start
    result.timings[phase] = result.timings.get(phase, 0.0) + passed
    if watcher is not None:
        watcher(None)


def pauses(options: RunOptions, animated: bool) -> list[int]:
    """The steps after which the host looks at the simulation, or reports: the first one, which
    compiles the kernels, the last one, and some between."""
    assert options.steps is not None
    if options.check:
        parts = options.steps
    else:
        parts = min(FRAMES if animated else REPORTS, options.steps)
    first = min(1, options.steps)
    return sorted({first, *(options.steps * part // parts for part in range(1, parts + 1))})
