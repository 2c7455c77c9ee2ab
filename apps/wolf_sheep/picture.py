"""Pictures of a pasture: grass, and who stands on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.squares import squares
from .classes import Sheep, Wolf
from .simulation import Simulation

BARE, GROWN, SHEEP, WOLF = "#4a3b2a", "#2f6b3a", "#f2f2f2", "#ff6b5a"


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``: a wolf hides the sheep on its cell."""
    kinds = (simulation.countdowns() == 0).astype(np.uint8).ravel()
    for kind, cls in ((2, Sheep), (3, Wolf)):
        kinds[simulation.animals(cls)[1]] = kind
    counts = simulation.counts()
    text = f"step {step}: {counts['sheep']:,} sheep, {counts['wolves']:,} wolves"
    return squares(kinds.reshape(simulation.shape), [BARE, GROWN, SHEEP, WOLF], text, small)
