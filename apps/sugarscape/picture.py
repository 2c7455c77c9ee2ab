"""Pictures of a land: a square for each cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.colours import BACKGROUND, ramp
from ..common.squares import squares
from .classes import CAPACITY, FEMALE, MALE
from .simulation import Simulation

#: Shades of cells without an agent, by how much sugar they have.
_SHADES = 64
_SUGAR = ramp((BACKGROUND, "#8a7a3c"), _SHADES)
_COLOURS = (*_SUGAR, "#4fa3d1", "#ff7f6b")


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``: agents, and how much sugar other cells have."""
    state = simulation.state()
    kinds = np.clip(state.cell_sugar * (_SHADES - 1) // CAPACITY, 0, _SHADES - 1)
    kinds[state.kind == MALE], kinds[state.kind == FEMALE] = _SHADES, _SHADES + 1
    counts = np.bincount(state.kind.ravel(), minlength=3)
    text = f"sugarscape, step {step}: {counts[MALE]:,} males, {counts[FEMALE]:,} females"
    return squares(kinds, _COLOURS, text, small)
