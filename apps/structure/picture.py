"""Pictures of a structure (Pillow): springs coloured by their strain, nodes by their kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from .parameters import DT
from .snapshot import Snapshot
from .structure import ANCHOR, FREE, PULLED, Structure

#: Pixels of the side of a picture, and of a frame of an animation.
PICTURE_SIDE, FILM_SIDE = 1600, 720
#: Drawn larger by this factor and scaled down, which smooths all edges.
SMOOTHING = 2
#: Structures with more nodes than this are drawn without them: they would hide the springs.
MOST_NODES = 5000
#: Of more springs than this only every second, third, ... one is drawn: all would be one blot.
MOST_SPRINGS = 20_000
#: The part of the structure's extent that is shown around it, at most.
MOST_AROUND = 0.5

BACKGROUND, TEXT, FAINT_TEXT = "#0f131a", "#e6e9ef", "#8d97a8"
#: From slack to twice the length without force.
STRAINS = ("#1d2a40", "#2d5d8c", "#2fa8a0", "#d8d05a", "#ff9b3d", "#ff3b4e")
LARGEST_STRAIN = 1.0
_SHADES = 64
_KINDS = {FREE: ("free", "#c9d2e0"), PULLED: ("pulled", "#ff7ac8"), ANCHOR: ("anchor", "#7dff9a")}


class Picture:
    """Draws snapshots of one structure; all of them show the same part of the plane."""

    def __init__(self, structure: Structure, steps: int, animated: bool) -> None:
        self._side = (FILM_SIDE if animated else PICTURE_SIDE) * SMOOTHING
        self._title = f"{structure.nodes:,} nodes, {structure.springs:,} springs"
        start = np.stack([structure.x, structure.y], axis=1)
        velocity = np.stack([structure.velocity_x, structure.velocity_y], axis=1)
        low, high = start.min(axis=0), start.max(axis=0)
        end = start + velocity * (steps * np.float32(DT))
        around = MOST_AROUND * (high - low)
        low = np.clip(end.min(axis=0), low - around, low)
        high = np.clip(end.max(axis=0), high, high + around)
        self._centre = (low + high) / 2
        self._scale = 0.95 * self._side / max(float((high - low).max()), 1e-6)

    def frame(self, snapshot: Snapshot) -> Any:
        """The image at one moment, as a ``PIL.Image``."""
        from PIL import Image, ImageDraw

        height = self._side + self._side // 10
        image = Image.new("RGB", (self._side, height), BACKGROUND)
        draw = ImageDraw.Draw(image)
        places = self._places(snapshot)
        self._draw_springs(draw, snapshot, places)
        if len(snapshot.kind) <= MOST_NODES:
            self._draw_nodes(draw, snapshot, places)
        draw.rectangle([0, self._side, self._side, height], fill=BACKGROUND)
        self._draw_legend(draw, snapshot)
        size = (image.width // SMOOTHING, image.height // SMOOTHING)
        return image.resize(size, Image.Resampling.BOX)

    def _places(self, snapshot: Snapshot) -> np.ndarray[Any, Any]:
        """Pixels of the nodes, of shape (n, 2); y grows upwards."""
        middle = self._side / 2
        across = (snapshot.x - self._centre[0]) * self._scale + middle
        up = (snapshot.y - self._centre[1]) * self._scale + middle
        return np.stack([across, self._side - up], axis=1)

    def _draw_springs(self, draw: Any, snapshot: Snapshot, places: np.ndarray[Any, Any]) -> None:
        """The most strained ones last, above all others."""
        shown = slice(None, None, spacing(snapshot))
        strain = snapshot.strain[shown]
        shade = np.minimum(strain / LARGEST_STRAIN * (_SHADES - 1), _SHADES - 1).astype(int)
        order = np.argsort(strain, kind="stable")
        ends = places[snapshot.first[shown]], places[snapshot.second[shown]]
        lines = np.concatenate(ends, axis=1)
        colours = shades()
        width = max(1, round(self._side / 1600 * (1 if len(order) > MOST_NODES else 2)))
        for line, number in zip(lines[order].tolist(), shade[order].tolist(), strict=True):
            draw.line(line, fill=colours[number], width=width)

    def _draw_nodes(self, draw: Any, snapshot: Snapshot, places: np.ndarray[Any, Any]) -> None:
        for kind in _KINDS:
            for place in places[snapshot.kind == kind].tolist():
                draw_mark(draw, kind, place, self._side / 400)

    def _draw_legend(self, draw: Any, snapshot: Snapshot) -> None:
        from PIL import ImageFont

        unit = self._side / 100
        large, small = (ImageFont.load_default(size=size * unit) for size in (2.2, 1.7))
        left, top = 2.5 * unit, self._side + 1.2 * unit
        draw.text((left, top), f"{self._title}, step {snapshot.step:,}", fill=TEXT, font=large)
        numbers = (
            f"{snapshot.broken:,} springs broken, {snapshot.cut_off:,} cut off, "
            f"{len(snapshot.first):,} in place"
        )
        if spacing(snapshot) > 1:
            numbers += f", 1 of {spacing(snapshot)} shown"
        draw.text((left, top + 3.6 * unit), numbers, fill=FAINT_TEXT, font=small)
        start = 56 * unit
        draw.text((start, top + 0.3 * unit), "strain  0", fill=FAINT_TEXT, font=small)
        for number, colour in enumerate(shades()):
            x = start + (8 + number * 18 / _SHADES) * unit
            draw.rectangle([x, top, x + unit, top + 2.2 * unit], fill=colour)
        most = f"{LARGEST_STRAIN:.0%} and more"
        draw.text((start + 28 * unit, top + 0.3 * unit), most, fill=FAINT_TEXT, font=small)
        for place, (kind, (name, _)) in enumerate(_KINDS.items()):
            x, y = start + place * 11 * unit, top + 4.7 * unit
            draw_mark(draw, kind, [x + unit / 2, y], unit / 2)
            draw.text((x + 1.8 * unit, y), name, fill=FAINT_TEXT, font=small, anchor="lm")


def spacing(snapshot: Snapshot) -> int:
    """One of how many springs is drawn."""
    return max(1, -(-len(snapshot.first) // MOST_SPRINGS))


def draw_mark(draw: Any, kind: int, place: list[float], radius: float) -> None:
    """A free node is a small disc, a pulled one a diamond, an anchor a square."""
    x, y = place
    colour = _KINDS[kind][1]
    if kind == FREE:
        half = radius * 0.6
        draw.ellipse([x - half, y - half, x + half, y + half], fill=colour)
    elif kind == PULLED:
        half = radius * 1.2
        corners = [(x, y - half), (x + half, y), (x, y + half), (x - half, y)]
        draw.polygon(corners, fill=colour)
    else:
        draw.rectangle([x - radius, y - radius, x + radius, y + radius], fill=colour)


def shades() -> list[str]:
    """A colour for each of _SHADES strains from 0 to LARGEST_STRAIN."""
    known = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in STRAINS])
    at = np.linspace(0, len(known) - 1, _SHADES)
    mixed = [np.interp(at, np.arange(len(known)), known[:, channel]) for channel in range(3)]
    return ["#" + "".join(f"{round(v):02x}" for v in colour) for colour in zip(*mixed, strict=True)]
