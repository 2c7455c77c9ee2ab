"""Runs circles: what the command line calls."""

from __future__ import annotations

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.stepwise import require_generated, run_steps
from ..interface import CheckFailed, RunOptions, RunResult
from .classes import REPULSION
from .picture import frame
from .simulation import Simulation

#: By which part a push may be too long, as its parts are rounded.
ROUNDED = 1e-5


def run(options: RunOptions) -> RunResult:
    """Run ``size`` circles, in a cube that at first has room for one in each unit of space.

    Raises ArgumentError for fewer than one, an input, or output that cannot be written, before
    anything runs, and CheckFailed.
    """
    require_generated(options, "circles")
    assert options.size is not None and options.seed is not None
    count, seed = options.size, options.seed
    if not 1 <= count < 1 << 31:
        raise ArgumentError(f"there cannot be {count} circles", "give a size from 1 to 2^31 - 1")
    return run_steps(
        options,
        lambda heap, launches: Simulation(heap, count, side_of(count), seed, launches),
        _check,
        frame,
    )


def side_of(count: int) -> float:
    """Of a cube with an edge of whole units that has no more of them than there are circles."""
    side = round(count ** (1 / 3))
    return float(side if side**3 <= count else side - 1)


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    if not np.isfinite(simulation.positions()).all():
        raise CheckFailed(f"step {step}: a circle is nowhere")
    pushes = simulation.pushes().astype(np.float64)
    farthest = float(np.sqrt((pushes * pushes).sum(axis=1)).max())
    if not farthest <= REPULSION * (1 + ROUNDED):
        raise CheckFailed(f"step {step}: a circle is pushed by {farthest}")
    return ["circles are somewhere", "circles are pushed softly"]
