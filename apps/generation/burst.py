"""The pattern that the paper's artifact starts from: stars of 453 cells on two square grids."""

from __future__ import annotations

import numpy as np

from sharedoa.errors import ArgumentError

from ..common.automaton.board import require_side
from ..common.automaton.rule import Flags

#: Centres of the stars: where each grid starts, how far they are from each other, and from the
#: right and lower edge at least.
FIRST_CENTRES, PITCH, MARGIN = (110, 215), 210, 110
#: How far a star reaches from its centre.
REACH = 100
#: Half widths of a star's rows from the centre on; below them it is a line.
HALF_WIDTHS = (REACH, 5, 3, 3, 1, 1)
SMALLEST_SIDE = FIRST_CENTRES[0] + MARGIN + 1


def burst(side: int) -> Flags:
    """The pattern on a square board. Raises ArgumentError if there is no room for a star."""
    require_side(side)
    if side < SMALLEST_SIDE:
        raise ArgumentError(
            f"a board of {side} by {side} cells has no room for the pattern to start from",
            f"give a size from {SMALLEST_SIDE} on, or a picture as the input",
        )
    star = _star()
    board = np.zeros((side, side), np.bool_)
    for first in FIRST_CENTRES:
        centres = range(first, side - MARGIN, PITCH)
        for row in centres:
            for column in centres:
                board[row - REACH : row + REACH + 1, column - REACH : column + REACH + 1] |= star
    return board


def _star() -> Flags:
    star = np.zeros((2 * REACH + 1, 2 * REACH + 1), np.bool_)
    star[:, REACH] = True
    for distance, half_width in enumerate(HALF_WIDTHS):
        for row in (REACH - distance, REACH + distance):
            star[row, REACH - half_width : REACH + half_width + 1] = True
    return star
