"""Runs wolf and sheep: what the command line calls."""

from __future__ import annotations

import numpy as np

from ..common.stepwise import require_generated, run_steps, shape_of
from ..interface import CheckFailed, RunOptions, RunResult
from .classes import REGROWTH, Sheep, Wolf
from .picture import frame
from .simulation import Simulation


def run(options: RunOptions, width: int = 0, height: int = 0) -> RunResult:
    """Run a pasture of ``size`` by ``size`` cells, or of ``width`` by ``height``.

    Raises ArgumentError for sizes that make no pasture, an input, or output that cannot be written,
    before anything runs, and CheckFailed.
    """
    require_generated(options, "wolf_sheep")
    width, height = shape_of(options, "a pasture", width, height)
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
    ids = []
    for cls, least in ((Sheep, 0.5), (Wolf, 0.0)):
        found, _, energy = simulation.animals(cls)
        ids.append(found)
        # A sheep that bore a young one has half of what kept it alive.
        if (energy < least).any():
            raise CheckFailed(f"step {step}: a {cls.__name__} lives without energy")
    together = np.concatenate(ids)
    if len(np.unique(together)) < len(together):
        raise CheckFailed(f"step {step}: two animals have one id")
    if (simulation.countdowns() > REGROWTH).any():
        raise CheckFailed(f"step {step}: grass takes too long to grow")
    return ["animals have energy", "ids are of one animal each", "grass grows"]
