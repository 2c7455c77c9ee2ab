"""The phases of a program's run: their times, and when the host looks at the simulation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..interface import RunOptions, RunResult

#: Frames of an animation, at most.
FRAMES = 100
#: Reports of progress, at most.
REPORTS = 50


@contextmanager
def timed(result: RunResult, phase: str) -> Iterator[None]:
    """Add the seconds that pass to ``result.timings[phase]``."""
    start = time.perf_counter()
    yield
    passed = time.perf_counter() - start
    result.timings[phase] = result.timings.get(phase, 0.0) + passed


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
