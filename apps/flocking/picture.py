"""Pictures of a flock: a line for each bird, from where it was to where it is (Pillow)."""

from __future__ import annotations

import math
from typing import Any

from ..common.colours import BACKGROUND, FAINT_TEXT, ramp
from .simulation import Simulation

SIDE, SMALL_SIDE = 1600, 720
#: Of birds that fly in all directions, around the circle.
COLOURS = ramp(("#ff6b5a", "#f5c04e", "#5fb58f", "#5a9bff", "#c77dff", "#ff6b5a"), 60)
#: Of the picture's side, the length of a bird at least.
LEAST_LENGTH = 1 / 120


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``: the colour of a bird says where it flies to."""
    from PIL import Image, ImageDraw, ImageFont

    side = SMALL_SIDE if small else SIDE
    legend = side // 25
    image = Image.new("RGB", (side, side + legend), BACKGROUND)
    drawing, font = ImageDraw.Draw(image), ImageFont.load_default(size=legend / 2)
    scale = side / simulation.side
    length = max(scale, side * LEAST_LENGTH)
    places = (simulation.positions() * scale).tolist()
    for (x, y), (dx, dy) in zip(places, simulation.velocities().tolist(), strict=True):
        turn = math.atan2(dy, dx) / (2 * math.pi) % 1.0
        colour = COLOURS[int(turn * len(COLOURS)) % len(COLOURS)]
        drawing.line((x - dx * length, y - dy * length, x, y), colour, max(1, side // 500))
    order = simulation.counts()["order in millionths"] / 10**6
    drawing.rectangle((0, side, side, side + legend), BACKGROUND)
    text = f"step {step}: {len(places):,} birds, order {order:.3f}"
    drawing.text((legend / 4, side + legend / 5), text, FAINT_TEXT, font)
    return image
