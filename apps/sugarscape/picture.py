"""Pictures of a land (Pillow): a square for each cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.colours import BACKGROUND, FAINT_TEXT
from .classes import CAPACITY, FEMALE, MALE
from .simulation import State

#: Pixels of the longer side, at most.
PICTURE_SIDE, FILM_SIDE = 1700, 720
LEGEND_SHARE = 0.04
SUGAR_COLOUR, MALE_COLOUR, FEMALE_COLOUR = "#8a7a3c", "#4fa3d1", "#ff7f6b"


def frame(state: State, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``: agents, and how much sugar other cells have."""
    from PIL import Image, ImageDraw, ImageFont

    empty, full, male, female = (
        np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        for colour in (BACKGROUND, SUGAR_COLOUR, MALE_COLOUR, FEMALE_COLOUR)
    )
    share = np.clip(state.cell_sugar / CAPACITY, 0, 1)[..., None]
    colours = (empty + share * (full - empty)).astype(np.uint8)
    colours[state.kind == MALE], colours[state.kind == FEMALE] = male, female
    land = Image.fromarray(colours)
    side = FILM_SIDE if small else PICTURE_SIDE
    scale = max(1, side // max(land.size)) if max(land.size) <= side else side / max(land.size)
    size = [max(1, round(extent * scale)) for extent in land.size]
    how = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
    legend = round(side * LEGEND_SHARE)
    image = Image.new("RGB", (max(size[0], side // 2), size[1] + legend), BACKGROUND)
    image.paste(land.resize((size[0], size[1]), how), ((image.width - size[0]) // 2, 0))
    counts = np.bincount(state.kind.ravel(), minlength=3)
    text = f"sugarscape, step {step}: {counts[MALE]:,} males, {counts[FEMALE]:,} females"
    font = ImageFont.load_default(size=legend / 2)
    ImageDraw.Draw(image).text((legend / 4, size[1] + legend / 5), text, FAINT_TEXT, font)
    return image
