"""The strip below a picture: what is shown, and what its colours and shapes mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.colours import FAINT_TEXT, TEXT
from .mix import BUS, CAR, KIND_NAMES, TRUCK
from .network import SLOWEST
from .palette import limit_colours, speed_colours
from .snapshot import Snapshot


def draw_legend(
    draw: Any, title: str, snapshot: Snapshot, corner: tuple[int, int], width: int
) -> None:
    """Draw the legend with its upper left ``corner``, as wide as ``width`` pixels."""
    from PIL import ImageFont

    unit = width / 100
    large = ImageFont.load_default(size=1.9 * unit)
    small = ImageFont.load_default(size=1.4 * unit)
    left, top = corner[0] + 2.5 * unit, corner[1] + 0.8 * unit
    draw.text((left, top), title, fill=TEXT, font=large)
    draw.text((left, top + 3 * unit), _numbers(snapshot), fill=FAINT_TEXT, font=small)
    speeds = speed_colours()
    _scale(draw, "speed", speeds, 0, (corner[0] + 55 * unit, top), unit, small)
    _scale(draw, "limit", limit_colours(), SLOWEST, (corner[0] + 82 * unit, top), unit, small)
    present = [kind for kind in (CAR, TRUCK, BUS) if (snapshot.kind == kind).any()]
    if len(present) > 1:
        _kinds(draw, present, speeds[-1], (left, top + 6.1 * unit), unit, small)


def _numbers(snapshot: Snapshot) -> str:
    count = len(snapshot.cell)
    if count == 0:
        return f"step {snapshot.step:,}: no vehicles"
    standing = np.count_nonzero(snapshot.velocity == 0) / count
    return (
        f"step {snapshot.step:,}: {count:,} vehicles, {standing:.0%} standing, "
        f"mean speed {snapshot.velocity.mean():.1f} cells a step"
    )


def _scale(
    draw: Any,
    name: str,
    colours: list[str],
    first: int,
    corner: tuple[float, float],
    unit: float,
    font: Any,
) -> None:
    """Boxes of the colours with the number that each stands for."""
    x, y = corner
    draw.text((x, y + 0.5 * unit), name, fill=FAINT_TEXT, font=font)
    x += 5 * unit
    for offset, colour in enumerate(colours):
        at = x + offset * 2 * unit
        draw.rectangle([at, y + 0.4 * unit, at + 1.7 * unit, y + 2.1 * unit], fill=colour)
        centre = (at + 0.85 * unit, y + 3.4 * unit)
        draw.text(centre, str(first + offset), fill=FAINT_TEXT, font=font, anchor="mm")


def _kinds(
    draw: Any,
    kinds: list[int],
    colour: str,
    corner: tuple[float, float],
    unit: float,
    font: Any,
) -> None:
    from .picture import draw_mark

    x, y = corner
    for kind in kinds:
        draw_mark(draw, kind, [x + 0.6 * unit, y + 0.8 * unit], 0.5 * unit, colour)
        draw.text((x + 2 * unit, y), KIND_NAMES[kind], fill=FAINT_TEXT, font=font)
        x += 8 * unit
