"""Pictures of what is in a cube, seen through one of its sides (Pillow)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .colours import BACKGROUND, FAINT_TEXT

Array = np.ndarray[Any, Any]

SIDE, SMALL_SIDE = 1600, 720
#: How far the eye is from the near side of the cube, in sides.
DISTANCE = 1.5
#: The far side of the cube is drawn that much as large as the near one.
FAR = DISTANCE / (DISTANCE + 1)


class View(NamedTuple):
    """``places``: pixels across and down, of shape (n, 2); ``scales``: how large what is there
    looks, of shape (n,), from 1 on the near side to FAR on the far one."""

    places: Array
    scales: Array


def project(positions: Array, edge: float, side: int) -> View:
    """``positions``, of shape (n, 3), in the cube from 0 to ``edge``, in a square of pixels."""
    x, y, z = (positions.astype(np.float64) / edge).T
    scales = DISTANCE / (DISTANCE + np.clip(1 - z, 0, None))
    places = [(0.5 + (each - 0.5) * scales) * side for each in (x, 1 - y)]
    return View(np.stack(places, axis=1), scales)


class CubePicture:
    """A picture that is being drawn; ``image`` is it, as a ``PIL.Image``, when it is done."""

    def __init__(self, small: bool) -> None:
        from PIL import Image, ImageDraw

        self.side = SMALL_SIDE if small else SIDE
        self._legend = self.side // 25
        self.image = Image.new("RGB", (self.side, self.side + self._legend), BACKGROUND)
        self.drawing: Any = ImageDraw.Draw(self.image)

    def write(self, text: str) -> None:
        """Put a line below, over what was drawn there."""
        from PIL import ImageFont

        side, legend = self.side, self._legend
        font = ImageFont.load_default(size=legend / 2)
        self.drawing.rectangle((0, side, side, side + legend), BACKGROUND)
        self.drawing.text((legend / 4, side + legend / 5), text, FAINT_TEXT, font)
