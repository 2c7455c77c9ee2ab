"""Boards that automata start from: which cells are alive."""

from __future__ import annotations

from pathlib import Path

from sharedoa.errors import ArgumentError

from ..pgm import MOST_PIXELS, read_pgm
from .rule import Flags

#: The most cells of a board.
MOST_CELLS = MOST_PIXELS


def read_board(file: Path) -> Flags:
    """A picture in the PGM format, whose black pixels are the live cells.

    Raises ArgumentError for a file that cannot be read as such.
    """
    return read_pgm(file) == 0


def require_side(side: int) -> None:
    """Raise ArgumentError unless there are square boards with that side."""
    if side < 1 or side * side > MOST_CELLS:
        most = int(MOST_CELLS**0.5)
        raise ArgumentError(
            f"a board cannot be {side} cells wide and high",
            f"give a size from 1 to {most}, or a picture as the input",
        )
