"""Pictures of a grid of cells (Pillow): a square for each cell, and a line of text below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .colours import BACKGROUND, FAINT_TEXT

#: Pixels of the longer side, at most.
PICTURE_SIDE, FILM_SIDE = 2048, 720
LEGEND_SHARE = 0.04


def squares(kinds: np.ndarray[Any, Any], colours: Sequence[str], text: str, small: bool) -> Any:
    """The image, as a ``PIL.Image``. ``kinds`` has shape (height, width); its numbers say which of
    ``colours`` (#rrggbb) a cell has."""
    from PIL import Image, ImageDraw, ImageFont

    palette = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours])
    grid = Image.fromarray(palette.astype(np.uint8)[kinds])
    side = FILM_SIDE if small else PICTURE_SIDE
    scale = max(1, side // max(grid.size)) if max(grid.size) <= side else side / max(grid.size)
    size = [max(1, round(extent * scale)) for extent in grid.size]
    how = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
    legend = round(side * LEGEND_SHARE)
    image = Image.new("RGB", (max(size[0], side // 2), size[1] + legend), BACKGROUND)
    image.paste(grid.resize((size[0], size[1]), how), ((image.width - size[0]) // 2, 0))
    font = ImageFont.load_default(size=legend / 2)
    ImageDraw.Draw(image).text((legend / 4, size[1] + legend / 5), text, FAINT_TEXT, font)
    return image
