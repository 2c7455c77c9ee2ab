"""Pictures of bodies and their tree: a dot for each body, a square for each node (Pillow)."""

from __future__ import annotations

from typing import Any

from ..common.colours import BACKGROUND, FAINT_TEXT, ramp
from .simulation import Simulation

SIDE, SMALL_SIDE = 1600, 720
BODY = "#f5c04e"
#: Of nodes, from the root on; those of deeper levels have the last one.
LEVELS = ramp(("#1d2a3f", "#2f6b8f", "#5fb58f"), 10)
#: Squares of fewer pixels are not drawn.
LEAST_SQUARE = 4


def frame(simulation: Simulation, step: int, small: bool) -> Any:
    """The image after a step, as a ``PIL.Image``; y goes up."""
    from PIL import Image, ImageDraw, ImageFont

    side = SMALL_SIDE if small else SIDE
    legend = side // 25
    image = Image.new("RGB", (side, side + legend), BACKGROUND)
    drawing, font = ImageDraw.Draw(image), ImageFont.load_default(size=legend / 2)
    bodies, tree = simulation.bodies(), simulation.tree()

    def pixels(points: Any) -> Any:
        return (points * (1, -1) + 1) * (side / 2)

    squares = zip(tree.levels.tolist(), pixels(tree.lows), pixels(tree.highs), strict=True)
    for level, (left, bottom), (right, top) in sorted(squares, key=lambda each: each[0]):
        if right - left >= LEAST_SQUARE:
            colour = LEVELS[min(level, len(LEVELS) - 1)]
            drawing.rectangle((left, top, right, bottom), outline=colour)
    radius = max(1.0, side / 700)
    for x, y in pixels(bodies.positions).tolist():
        drawing.ellipse((x - radius, y - radius, x + radius, y + radius), BODY)
    drawing.rectangle((0, side, side, side + legend), BACKGROUND)
    levels = int(tree.levels.max()) + 1
    text = (
        f"step {step}: {len(bodies.masses):,} bodies, {len(tree.levels):,} nodes, {levels} levels"
    )
    drawing.text((legend / 4, side + legend / 5), text, FAINT_TEXT, font)
    return image
