"""Pictures of boards: one square a cell, or one pixel for several."""

from __future__ import annotations

import numpy as np

from apps.common.automaton.picture import ALIVE_COLOUR, FILM_SIDE, Picture
from apps.common.automaton.rule import ALIVE, CANDIDATE
from apps.common.colours import BACKGROUND
from apps.game_of_life.parameters import RULE as LIFE
from apps.generation.parameters import RULE as GENERATION


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def test_each_state_has_its_colour() -> None:
    states = np.arange(-1, 257, dtype=np.int32).reshape(1, 258)
    image = Picture("all", states.shape, GENERATION, small=True).frame(states, 0)
    cell = FILM_SIDE // 258
    colours = [image.getpixel(((image.width - 258 * cell) // 2 + cell * k, 0)) for k in range(258)]
    assert colours[1] == rgb(BACKGROUND)
    assert colours[2] == rgb(ALIVE_COLOUR)
    assert len(set(colours)) == 3 + 32
    brightness = [sum(colour) for colour in colours[3:]]
    assert brightness == sorted(brightness, reverse=True)


def test_one_live_cell_of_a_large_board_is_seen() -> None:
    states = np.zeros((50, 3001), np.int32)
    states[:, ::2] = CANDIDATE
    states[49, 3000] = ALIVE
    image = Picture("large", states.shape, LIFE, small=True).frame(states, 0)
    shrunk = -(-3001 // FILM_SIDE)
    assert image.width == -(-3001 // shrunk)
    assert image.getpixel((image.width - 1, 49 // shrunk)) == rgb(ALIVE_COLOUR)


def test_one_cell() -> None:
    image = Picture("one", (1, 1), LIFE, small=True).frame(np.full((1, 1), ALIVE, np.int32), 3)
    assert image.width == FILM_SIDE
    assert image.height > FILM_SIDE
