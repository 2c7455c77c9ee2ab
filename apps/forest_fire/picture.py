"""Pictures of a forest: a square for each cell."""

from __future__ import annotations

from typing import Any

from ..common.colours import BACKGROUND
from ..common.squares import squares
from .simulation import Simulation

COLOURS = BACKGROUND, "#3f8f4f", "#ffb454", "#5a4a44"


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``."""
    counts = simulation.counts()
    text = f"step {step}: {counts['burning']:,} trees burn, {counts['burnt']:,} are burnt"
    return squares(simulation.states(), COLOURS, text, small)
