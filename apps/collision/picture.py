"""Pictures of bodies that become fewer."""

from __future__ import annotations

from typing import Any

from ..common.body_picture import draw_bodies
from .simulation import HEAVIEST, Simulation

#: Bodies of so much have the last colour.
GREAT = 6 * HEAVIEST


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``."""
    state = simulation.state()
    text = f"collision, step {step}: {len(state.masses):,} bodies"
    return draw_bodies(state.positions, state.masses, simulation.whole_mass, GREAT, text, small)
