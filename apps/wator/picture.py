"""Pictures of an ocean (Pillow): a square for each cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.colours import BACKGROUND, FAINT_TEXT

#: Pixels of the longer side, at most.
PICTURE_SIDE, FILM_SIDE = 2048, 720
LEGEND_SHARE = 0.04
FISH_COLOUR, SHARK_COLOUR = "#3f8fb5", "#ffb454"


def frame(kinds: np.ndarray[Any, Any], step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``; ``kinds`` has shape (height, width)."""
    from PIL import Image, ImageDraw, ImageFont

    colours = np.array(
        [
            [int(c[i : i + 2], 16) for i in (1, 3, 5)]
            for c in (BACKGROUND, FISH_COLOUR, SHARK_COLOUR)
        ]
    ).astype(np.uint8)
    ocean = Image.fromarray(colours[kinds])
    side = FILM_SIDE if small else PICTURE_SIDE
    scale = max(1, side // max(ocean.size)) if max(ocean.size) <= side else side / max(ocean.size)
    size = [max(1, round(extent * scale)) for extent in ocean.size]
    how = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
    legend = round(side * LEGEND_SHARE)
    image = Image.new("RGB", (max(size[0], side // 2), size[1] + legend), BACKGROUND)
    image.paste(ocean.resize((size[0], size[1]), how), ((image.width - size[0]) // 2, 0))
    counts = np.bincount(kinds.ravel(), minlength=3)
    text = f"wa-tor, step {step}: {counts[1]:,} fish, {counts[2]:,} sharks"
    font = ImageFont.load_default(size=legend / 2)
    ImageDraw.Draw(image).text((legend / 4, size[1] + legend / 5), text, FAINT_TEXT, font)
    return image
