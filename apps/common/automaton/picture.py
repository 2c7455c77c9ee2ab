"""Pictures of boards (Pillow): a square for each cell, or a pixel for the liveliest of several."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..colours import BACKGROUND, FAINT_TEXT, TEXT, ramp
from .rule import ALIVE, CANDIDATE, DECAYING, Rule, States

#: Pixels of the longer side of a board, at most.
PICTURE_SIDE, FILM_SIDE = 2048, 720
#: Of the legend below the board; it is as wide as half the side at least.
LEGEND_SHARE = 0.1
CANDIDATE_COLOUR, ALIVE_COLOUR = "#24405a", "#ffe27a"
#: From the last decaying state to the first.
DECAYING_COLOURS = ("#2a1438", "#8b2252", "#f0653a")
MOST_SHADES = 32

Array = np.ndarray[Any, Any]


class Picture:
    """Draws the states of one board."""

    def __init__(self, title: str, shape: tuple[int, int], rule: Rule, *, small: bool) -> None:
        self._title = title
        self._side = FILM_SIDE if small else PICTURE_SIDE
        self._cell = max(1, self._side // max(shape))
        self._shrink = -(-max(shape) // self._side)
        self._shades = ramp(DECAYING_COLOURS, min(rule.decaying, MOST_SHADES))
        colours = [BACKGROUND, CANDIDATE_COLOUR, *self._shades, ALIVE_COLOUR]
        self._colours = np.array(
            [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours], np.uint8
        )
        self._level = self._levels(rule)

    def _levels(self, rule: Rule) -> Array:
        """The place in the list of colours for each state, counted from CANDIDATE on. Livelier
        states have later places."""
        levels = np.zeros(DECAYING + rule.decaying - CANDIDATE, np.uint8)
        age = np.arange(rule.decaying)
        if rule.decaying:
            fresh = (rule.decaying - 1 - age) * len(self._shades) // rule.decaying
            levels[DECAYING - CANDIDATE :] = 2 + fresh
        levels[0] = 1
        levels[ALIVE - CANDIDATE] = 2 + len(self._shades)
        return levels

    def frame(self, states: States, step: int) -> Any:
        """The image after a step, as a ``PIL.Image``."""
        from PIL import Image, ImageDraw

        board = Image.fromarray(self._colours[self._scaled(self._level[states - CANDIDATE])])
        width = max(board.width, self._side // 2)
        height = board.height + round(self._side * LEGEND_SHARE)
        image = Image.new("RGB", (width, height), BACKGROUND)
        image.paste(board, ((width - board.width) // 2, 0))
        self._draw_legend(ImageDraw.Draw(image), board.height, states, step)
        return image

    def _scaled(self, levels: Array) -> Array:
        """One level a pixel."""
        if self._shrink == 1:
            return np.kron(levels, np.ones((self._cell, self._cell), np.uint8))
        rows, columns = (-(-extent // self._shrink) for extent in levels.shape)
        whole = np.zeros((rows * self._shrink, columns * self._shrink), np.uint8)
        whole[: levels.shape[0], : levels.shape[1]] = levels
        blocks = whole.reshape(rows, self._shrink, columns, self._shrink)
        return np.asarray(blocks.max(axis=(1, 3)))

    def _draw_legend(self, draw: Any, top: int, states: States, step: int) -> None:
        from PIL import ImageFont

        unit = self._side / 100
        large, small = (ImageFont.load_default(size=size * unit) for size in (2.1, 1.7))
        left = unit
        draw.text((left, top + unit), self._title, fill=TEXT, font=large)
        draw.text((left, top + 3.7 * unit), _numbers(states, step), fill=FAINT_TEXT, font=small)
        for name, colours in (
            ("alive", [ALIVE_COLOUR]), ("decaying", self._shades[::-1]),
            ("candidate", [CANDIDATE_COLOUR]),
        ):  # fmt: skip
            step_width = unit * (0.4 if len(colours) > 1 else 1.6)
            for colour in colours:
                box = [left, top + 6.7 * unit, left + step_width, top + 8.3 * unit]
                draw.rectangle(box, fill=colour)
                left += step_width
            if colours:
                draw.text((left + unit, top + 6.4 * unit), name, fill=FAINT_TEXT, font=small)
                left += unit * (2.5 + 0.95 * len(name))


def _numbers(states: States, step: int) -> str:
    counts = {
        "alive": np.count_nonzero(states == ALIVE),
        "decaying": np.count_nonzero(states >= DECAYING),
        "candidates": np.count_nonzero(states == CANDIDATE),
    }
    shown = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return f"step {step:,}: {shown or 'all dead'}"
