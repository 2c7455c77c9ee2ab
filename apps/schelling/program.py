"""Runs Schelling's model: what the command line calls."""

from __future__ import annotations

import numpy as np

from ..common.references import NOTHING
from ..common.stepwise import require_generated, run_steps, shape_of
from ..interface import CheckFailed, RunOptions, RunResult
from .picture import frame
from .simulation import Simulation


def run(options: RunOptions, width: int = 0, height: int = 0) -> RunResult:
    """Run a town of ``size`` by ``size`` cells, or of ``width`` by ``height``.

    Raises ArgumentError for sizes that make no town, an input, or output that cannot be written,
    before anything runs, and CheckFailed.
    """
    require_generated(options, "schelling")
    width, height = shape_of(options, "a town", width, height, least=4)
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
    places, residents = simulation.places(), simulation.residents()
    taken = np.flatnonzero(residents != NOTHING)
    if len(taken) != len(places) or (places[residents[taken]] != taken).any():
        raise CheckFailed(f"step {step}: cells and the people on them do not agree")
    if sorted(simulation.free_cells().tolist()) != np.flatnonzero(residents == NOTHING).tolist():
        raise CheckFailed(f"step {step}: a cell is not free that should be")
    return ["people are on their cells", "free cells are free"]
