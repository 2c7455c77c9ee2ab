"""Runs wa-tor: what the command line calls."""

from __future__ import annotations

from ..common.stepwise import require_generated, run_steps, shape_of
from ..interface import CheckFailed, RunOptions, RunResult
from .picture import frame
from .simulation import Simulation


def run(options: RunOptions, width: int = 0, height: int = 0) -> RunResult:
    """Run an ocean of ``size`` by ``size`` cells, or of ``width`` by ``height``.

    Raises ArgumentError for sizes that make no ocean, an input, or output that cannot be written,
    before anything runs, and CheckFailed.
    """
    require_generated(options, "wator")
    width, height = shape_of(options, "an ocean", width, height)
    assert options.seed is not None
    seed = options.seed
    return run_steps(
        options,
        lambda heap, launches: Simulation(heap, width, height, seed, launches),
        _check,
        frame,
    )


def _check(simulation: Simulation, step: int) -> list[str]:
    """The names of what holds. Raises CheckFailed."""
    misplaced = simulation.misplaced()
    if misplaced:
        raise CheckFailed(f"step {step}: {misplaced} cells and their agents do not agree")
    kinds = simulation.states()[0]
    shown = {"fish": int((kinds == 1).sum()), "sharks": int((kinds == 2).sum())}
    counts = simulation.counts()
    if shown != counts:
        raise CheckFailed(f"step {step}: cells show {shown}, but {counts} live")
    return ["agents are on their cells", "all that live have a cell"]
