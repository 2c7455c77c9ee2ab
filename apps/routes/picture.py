"""Pictures of an answer: every edge on a fastest route in the colour of its arrival (Pillow)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..common.colours import BACKGROUND, FAINT_TEXT, TEXT, ramp
from ..common.film import Film, is_animation
from .network import Array, Network
from .parameters import MEDIAN_TICKS, NEVER
from .routing import Answer

_PICTURE_SIDE, _FILM_SIDE = 1600, 720
#: Drawn larger by this factor and scaled down, which smooths all edges.
_SMOOTHING = 2
_UNUSED, _START, _FERRY = "#253041", "#ffffff", "#ff5ad9"
_NEAR_TO_FAR = ("#fff3b0", "#ffb347", "#e8505b", "#7b3fa0", "#3a4fb8")
_COLOURS = 64


class Map:
    """Draws answers for one network; what no fastest route uses is drawn once."""

    def __init__(self, file: Path, network: Network, title: str) -> None:
        from PIL import Image, ImageDraw

        self._network, self._title = network, title
        self._film = Film(file)
        self._side = _SMOOTHING * (_FILM_SIDE if is_animation(file) else _PICTURE_SIDE)
        self._unit = self._side / 1600
        margin, legend = 40 * self._unit, 100 * self._unit
        scale = self._side - 2 * margin
        height = max(float(network.y.max(initial=0)) * scale, self._side / 3)
        self._x = margin + network.x * scale
        self._y = margin + height - network.y * scale
        self._base = Image.new("RGB", (self._side, round(height + 2 * margin + legend)), BACKGROUND)
        self._legend = height + 2 * margin
        self._origin = np.concatenate([kind.origin for kind in network.kinds])
        self._target = np.concatenate([kind.target for kind in network.kinds])
        draw = ImageDraw.Draw(self._base)
        for line in self._lines(np.arange(len(self._origin) - len(network.walks.origin))):
            draw.line(line, fill=_UNUSED, width=max(1, round(self._unit)))

    @property
    def animated(self) -> bool:
        return self._film.animated

    def _lines(self, edges: Array) -> Any:
        ends = self._origin[edges], self._target[edges]
        return np.stack([axis[end] for end in ends for axis in (self._x, self._y)], 1).tolist()

    def add(self, answer: Answer) -> None:
        from PIL import Image, ImageDraw

        image = self._base.copy()
        draw = ImageDraw.Draw(image)
        used = np.flatnonzero(answer.used)
        arrival = answer.time[self._target[used]]
        # A few remote nodes must not take most of the colours.
        far = int(np.percentile(arrival, 99)) if len(arrival) else 0
        colours = ramp(_NEAR_TO_FAR, _COLOURS)
        shades = np.minimum(arrival * (_COLOURS - 1) // max(far, 1), _COLOURS - 1).tolist()
        roads = len(self._network.roads.origin)
        ferries = roads + len(self._network.ferries.origin)
        width = max(1, round(2.5 * self._unit))
        for edge, line, shade in zip(used.tolist(), self._lines(used), shades, strict=True):
            is_ferry = roads <= edge < ferries
            draw.line(line, fill=_FERRY if is_ferry else colours[shade], width=width)
        x, y, radius = self._x[answer.start], self._y[answer.start], 9 * self._unit
        draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=_START)
        self._draw_legend(draw, answer, far, colours)
        size = (image.width // _SMOOTHING, image.height // _SMOOTHING)
        self._film.add(image.resize(size, Image.Resampling.BOX))

    def _draw_legend(self, draw: Any, answer: Answer, far: int, colours: list[str]) -> None:
        from PIL import ImageFont

        unit, top, left = self._unit, self._legend, 40 * self._unit
        large, small = (ImageFont.load_default(size=size * unit) for size in (30, 22))
        reached = np.count_nonzero(answer.time != NEVER)
        text = f"from node {answer.start + 1:,}: {reached:,} of {len(answer.time):,} nodes"
        draw.text((left, top), self._title, fill=TEXT, font=large)
        draw.text((left, top + 45 * unit), text, fill=FAINT_TEXT, font=small)
        left, step = 900 * unit, 6 * unit
        for place, colour in enumerate(colours):
            x = left + place * step
            draw.rectangle([x, top, x + step, top + 28 * unit], fill=colour)
        roads = f"0 to {far / MEDIAN_TICKS:.0f} median roads"
        draw.text((left, top + 40 * unit), roads, fill=FAINT_TEXT, font=small)
        right = left + 320 * unit
        draw.text((right, top + 40 * unit), "ferry", fill=_FERRY, font=small)

    def write(self) -> Path:
        return self._film.write()
