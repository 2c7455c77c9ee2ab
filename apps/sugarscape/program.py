"""Runs sugarscape: what the command line calls."""

from __future__ import annotations

from ..common.stepwise import require_generated, run_steps, shape_of
from ..interface import CheckFailed, RunOptions, RunResult
from .classes import FEMALE, MALE
from .picture import frame
from .simulation import Simulation


def run(options: RunOptions, width: int = 0, height: int = 0) -> RunResult:
    """Run a land of ``size`` by ``size`` cells, or of ``width`` by ``height``.

    Raises ArgumentError for sizes that make no land, an input, or output that cannot be written,
    before anything runs, and CheckFailed.
    """
    require_generated(options, "sugarscape")
    width, height = shape_of(options, "a land", width, height)
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
