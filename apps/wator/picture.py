"""Pictures of an ocean: a square for each cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.colours import BACKGROUND
from ..common.squares import squares
from .simulation import Simulation

COLOURS = BACKGROUND, "#3f8fb5", "#ffb454"


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``."""
    kinds = simulation.states()[0]
    counts = np.bincount(kinds.ravel(), minlength=3)
    text = f"wa-tor, step {step}: {counts[1]:,} fish, {counts[2]:,} sharks"
    return squares(kinds, COLOURS, text, small)
