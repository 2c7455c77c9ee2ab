"""Pictures of boids: a line for each, whose colour says where it flies to (Pillow)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..common.colours import ramp
from ..common.cube_picture import CubePicture, project
from .simulation import Simulation

#: Of birds that fly in all directions across the picture, around the circle.
COLOURS = ramp(("#ff6b5a", "#f5c04e", "#5fb58f", "#5a9bff", "#c77dff", "#ff6b5a"), 60)
#: How long a bird of speed 1 is, in edges of the cube.
LENGTH = 0.02


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``."""
    picture = CubePicture(small)
    heads, velocities = simulation.positions(), simulation.velocities()
    to, scales = project(heads, 1.0, picture.side)
    start, _ = project(heads - velocities * np.float32(LENGTH), 1.0, picture.side)
    widths = np.maximum(np.round(scales * picture.side / 400), 1).astype(int)
    lines = zip(start.tolist(), to.tolist(), widths.tolist(), velocities.tolist(), strict=True)
    for (x0, y0), (x1, y1), width, (dx, dy, _dz) in lines:
        turn = math.atan2(dy, dx) / (2 * math.pi) % 1.0
        colour = COLOURS[int(turn * len(COLOURS)) % len(COLOURS)]
        picture.drawing.line((x0, y0, x1, y1), colour, width)
    counts = simulation.counts()
    seen = counts["in sight"] / counts["birds"]
    picture.write(f"step {step}: {counts['birds']:,} birds, of which each sees {seen:.1f}")
    return picture.image
