"""Runs flocking: what the command line calls."""

from __future__ import annotations

import math

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.stepwise import require_generated, run_steps
from ..interface import CheckFailed, RunOptions, RunResult
from .picture import frame
from .simulation import Simulation

#: Area of the plane for each bird, where its side is not given.
AREA = 50
SIGHT = 5


def run(options: RunOptions, side: int = 0, sight: int = SIGHT) -> RunResult:
    """Run ``size`` birds that see as far as ``sight``, in a plane of ``side`` or, for 0, of so
    large a side that each has an area of 50.

    Raises ArgumentError for numbers that make no flock, an input, or output that cannot be written,
    before anything runs, and CheckFailed.
    """
    assert options.size is not None and options.seed is not None
    require_generated(options, "flocking")
    count, seed = options.size, options.seed
    if not 1 <= count < 1 << 31:
        raise ArgumentError(f"{count} birds are no flock", "give a size from 1 to 2^31 - 1")
    if not 0 <= side < 1 << 31 or not 1 <= sight < 1 << 31:
        raise ArgumentError(
            f"birds cannot see as far as {sight} in a plane of {side}",
            "give a side from 1 on, or 0 for one that fits, and a sight from 1 on",
        )
    length = float(side) or math.sqrt(AREA * count)
    return run_steps(
        options,
        lambda heap, launches: Simulation(heap, count, length, float(sight), seed, launches),
        _check,
        frame,
    )


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    positions = simulation.positions()
    if not ((positions >= 0) & (positions < simulation.side)).all():
        raise CheckFailed(f"step {step}: a bird has left the plane")
    if step > 0:
        velocities = simulation.velocities()
        speeds = np.sqrt((velocities * velocities).sum(axis=1))
        if not (np.abs(speeds - 1) < 1e-12).all():
            raise CheckFailed(f"step {step}: a bird flies at a speed of {speeds.max()}")
    return ["birds are in the plane", "birds fly at a speed of 1"]
