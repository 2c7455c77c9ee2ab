"""Runs boids: what the command line calls."""

from __future__ import annotations

import math

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.stepwise import require_generated, run_steps
from ..interface import CheckFailed, RunOptions, RunResult
from .classes import AWAY, FASTEST
from .picture import frame
from .simulation import Simulation

#: How far birds see, in thousandths of the cube's edge.
SIGHT = 50
#: The highest speed: walls act after it is bounded. A little more, as it is rounded.
REACHED = FASTEST + math.sqrt(3) * AWAY + 1e-5


def run(options: RunOptions, sight: int = SIGHT) -> RunResult:
    """Run ``size`` birds that see as far as ``sight`` thousandths of the edge of their cube.

    Raises ArgumentError for numbers that make no flock, an input, or output that cannot be written,
    before anything runs, and CheckFailed.
    """
    require_generated(options, "boids")
    assert options.size is not None and options.seed is not None
    count, seed = options.size, options.seed
    if not 1 <= count < 1 << 31:
        raise ArgumentError(f"{count} birds are no flock", "give a size from 1 to 2^31 - 1")
    if not 1 <= sight <= 1000:
        raise ArgumentError(
            f"birds cannot see as far as {sight} thousandths of their cube",
            "give a sight from 1 to 1000",
        )
    return run_steps(
        options,
        lambda heap, launches: Simulation(heap, count, sight / 1000, seed, launches),
        _check,
        frame,
    )


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    positions = simulation.positions()
    if not ((positions >= 0) & (positions <= 1)).all():
        raise CheckFailed(f"step {step}: a bird has left the cube")
    velocities = simulation.velocities().astype(np.float64)
    fastest = float(np.sqrt((velocities * velocities).sum(axis=1)).max())
    if not fastest <= REACHED:
        raise CheckFailed(f"step {step}: a bird flies at a speed of {fastest}")
    return ["birds are in the cube", "birds are not too fast"]
