"""Pictures of bodies in the square from -1 to 1 (Pillow): discs, larger ones for more mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from .colours import BACKGROUND, FAINT_TEXT, ramp

SIDE, SMALL_SIDE = 1600, 720
#: From light bodies to heavy ones.
COLOURS = ramp(("#3f6fb5", "#5fb58f", "#f5c04e", "#ff6b5a"), 60)
#: How much of the picture the discs of all bodies cover together.
COVERED = 0.12


def draw_bodies(
    positions: np.ndarray[Any, Any],
    masses: np.ndarray[Any, Any],
    whole: float,
    heaviest: float,
    text: str,
    small: bool,
) -> Any:
    """The image, as a ``PIL.Image``. ``positions`` have shape (bodies, 2); a disc's area is the
    body's share of the mass ``whole``, its colour says how near it is to ``heaviest``."""
    from PIL import Image, ImageDraw, ImageFont

    side = SMALL_SIDE if small else SIDE
    legend = side // 25
    image = Image.new("RGB", (side, side + legend), BACKGROUND)
    drawing, font = ImageDraw.Draw(image), ImageFont.load_default(size=legend / 2)
    radii = np.maximum(side * np.sqrt(COVERED * masses / whole / np.pi), 0.7)
    shades = (np.clip(masses / heaviest, 0, 1) * (len(COLOURS) - 1)).astype(int)
    order = np.argsort(masses, kind="stable")
    places = (positions[order] + 1) * (side / 2)
    discs = zip(places.tolist(), radii[order].tolist(), shades[order].tolist(), strict=True)
    for (x, y), r, shade in discs:
        drawing.ellipse((x - r, y - r, x + r, y + r), COLOURS[shade])
    drawing.rectangle((0, side, side, side + legend), BACKGROUND)
    drawing.text((legend / 4, side + legend / 5), text, FAINT_TEXT, font)
    return image
