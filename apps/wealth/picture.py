"""Pictures of wealth: how many people have how much (Pillow)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.colours import BACKGROUND, FAINT_TEXT
from .simulation import Simulation

SIDE, SMALL_SIDE = 1600, 720
#: The bars are of those who have 0, 1, ...; the last one also of those who have more.
BARS = 12
BAR_COLOUR = "#5fb58f"


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``: a bar as high as the picture is everybody."""
    from PIL import Image, ImageDraw, ImageFont

    side = SMALL_SIDE if small else SIDE
    legend = side // 20
    height = side // 2
    image = Image.new("RGB", (side, height + 2 * legend), BACKGROUND)
    drawing, font = ImageDraw.Draw(image), ImageFont.load_default(size=legend / 2)
    wealths = simulation.wealths()
    width = side / BARS
    for wealth, number in enumerate(np.bincount(wealths.clip(max=BARS - 1), minlength=BARS)):
        left, top = wealth * width, height * (1 - int(number) / len(wealths))
        drawing.rectangle((left + 2, top, left + width - 2, height), BAR_COLOUR)
        label = f"{wealth}{'+' if wealth == BARS - 1 else ''}"
        drawing.text((left + width / 3, height + legend / 4), label, FAINT_TEXT, font)
    coefficient = simulation.counts()["gini in millionths"] / 10**6
    text = f"step {step}: Gini coefficient {coefficient:.3f}"
    drawing.text((legend / 4, height + 1.2 * legend), text, FAINT_TEXT, font)
    return image
