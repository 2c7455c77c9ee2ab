"""Pictures of a town: a square for each cell."""

from __future__ import annotations

from typing import Any

from ..common.colours import BACKGROUND
from ..common.squares import squares
from .simulation import Simulation

COLOURS = BACKGROUND, "#e0675c", "#4f8fd0"


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``."""
    text = f"step {step}: {simulation.counts()['moves']:,} moves"
    return squares(simulation.groups(), COLOURS, text, small)
