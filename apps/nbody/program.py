"""Runs n-body: what the command line calls."""

from __future__ import annotations

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.stepwise import require_generated, run_steps
from ..interface import CheckFailed, RunOptions, RunResult
from .classes import SECONDS
from .picture import frame
from .simulation import HEAVIEST, Simulation


def run(options: RunOptions) -> RunResult:
    """Run ``size`` bodies.

    Raises ArgumentError for fewer than one, an input, or output that cannot be written, before
    anything runs, and CheckFailed.
    """
    require_generated(options, "nbody")
    assert options.size is not None and options.seed is not None
    count, seed = options.size, options.seed
    if not 1 <= count < 1 << 31:
        raise ArgumentError(f"there cannot be {count} bodies", "give a size from 1 to 2^31 - 1")
    return run_steps(
        options,
        lambda heap, launches: Simulation(heap, count, seed, launches),
        _check,
        frame,
    )


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    # Who has left turns back, so nobody is more than two steps outside.
    reach = 1 + 1e-6 + 2 * SECONDS * float(np.abs(simulation.velocities()).max())
    if not (np.abs(simulation.positions()) <= reach).all():
        raise CheckFailed(f"step {step}: a body has left the square")
    masses = simulation.masses()
    if not ((masses >= HEAVIEST / 2) & (masses <= HEAVIEST)).all():
        raise CheckFailed(f"step {step}: a body weighs {masses.min()} or {masses.max()}")
    return ["bodies are in the square", "bodies keep their mass"]
