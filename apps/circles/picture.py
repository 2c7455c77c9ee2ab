"""Pictures of circles: nearer ones are larger and brighter (Pillow)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.colours import ramp
from ..common.cube_picture import FAR, CubePicture, project
from .simulation import Simulation

#: From the far side of the cube to the near one.
COLOURS = ramp(("#1c2740", "#3f6fb5", "#5fb58f", "#f5c04e"), 60)
#: Of a circle, in units of space.
DRAWN_RADIUS = 0.15


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``."""
    picture = CubePicture(small)
    places, scales = project(simulation.positions(), simulation.side, picture.side)
    radii = np.maximum(DRAWN_RADIUS / simulation.side * picture.side * scales, 0.7)
    shades = np.clip((scales - FAR) / (1 - FAR), 0, 1) * (len(COLOURS) - 1)
    order = np.argsort(scales, kind="stable")
    discs = zip(places[order].tolist(), radii[order].tolist(), shades[order].tolist(), strict=True)
    for (x, y), r, shade in discs:
        picture.drawing.ellipse((x - r, y - r, x + r, y + r), COLOURS[int(shade)])
    counts = simulation.counts()
    drift = counts["drift in millionths"] / 10**6
    picture.write(f"step {step}: {counts['circles']:,} circles, which moved by {drift:.4f}")
    return picture.image
