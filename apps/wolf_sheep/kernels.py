"""What is done once for all cells."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32, u32, u64

from ..common.counter_random import below, draw
from .classes import NOBODY, REGROWTH, START_COUNTDOWN, START_GRASS, Cell


@oa.kernel
def begin(cells: oa.Array[Cell], width: i32, height: i32, seed: u64) -> None:
    """Cells lie row by row on a torus; around each are itself, and then the others row by row. The
    grass of half of them is grown."""
    number = oa.grid(1)
    if number < len(cells):
        cell = cells[number]
        x, y = number % width, number // width
        cell.around[0] = cell
        place = 1
        for dy in range(-1, 2):
            row = (y + dy) % height * width
            for dx in range(-1, 2):
                if dx != 0 or dy != 0:
                    cell.around[place] = cells[row + (x + dx) % width]
                    place += 1
        if below(draw(seed, 0, number, START_GRASS), 2) != 0:
            cell.countdown = 1 + below(draw(seed, 0, number, START_COUNTDOWN), u32(REGROWTH))
        cell.grazer = NOBODY
        cell.forget_hunt()
