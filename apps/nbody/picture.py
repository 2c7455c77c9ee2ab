"""Pictures of bodies."""

from __future__ import annotations

from typing import Any

from ..common.body_picture import draw_bodies
from .simulation import HEAVIEST, Simulation


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``."""
    masses = simulation.masses()
    text = f"n-body, step {step}: {len(masses):,} bodies"
    return draw_bodies(simulation.positions(), masses, float(masses.sum()), HEAVIEST, text, small)
