"""Runs wealth: what the command line calls."""

from __future__ import annotations

from sharedoa.errors import ArgumentError

from ..common.stepwise import require_generated, run_steps
from ..interface import CheckFailed, RunOptions, RunResult
from .picture import frame
from .simulation import Simulation


def run(options: RunOptions) -> RunResult:
    """Run ``size`` people.

    Raises ArgumentError for less than two, an input, or output that cannot be written, before
    anything runs, and CheckFailed.
    """
    assert options.size is not None and options.seed is not None
    require_generated(options, "wealth")
    size, seed = options.size, options.seed
    if not 2 <= size < 1 << 31:
        raise ArgumentError(
            f"{size} people cannot give to each other", "give a size from 2 to 2^31 - 1"
        )
    return run_steps(
        options, lambda heap, launches: Simulation(heap, size, seed, launches), _check, frame
    )


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    wealths = simulation.wealths()
    total = int(wealths.sum(dtype="int64"))
    if total != len(wealths):
        raise CheckFailed(f"step {step}: {len(wealths)} people have {total} together")
    return ["nothing is lost"]
