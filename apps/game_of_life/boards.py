"""Boards of the Game of Life: drawn at random, or a picture as the paper's artifact reads it."""

from __future__ import annotations

import numpy as np

from ..common.automaton.board import require_side
from ..common.automaton.rule import Flags

#: Live cells of a random board, of a hundred.
PERCENT_ALIVE = 30


def random_board(side: int, seed: int) -> Flags:
    """A square board whose cells are alive at random. Raises ArgumentError for an impossible side.

    The words of PCG64 stay the same in all versions of NumPy, unlike what is made of them.
    """
    require_side(side)
    draws = np.random.PCG64(seed)
    limit = np.uint64((1 << 64) * PERCENT_ALIVE // 100)
    return np.array([draws.random_raw(side) < limit for _ in range(side)])


def shifted(board: Flags) -> Flags:
    """The board that the artifact's reader makes of a picture: it takes the maximum for the first
    pixel, a dead one, and so never comes to the last one."""
    moved = np.roll(board.ravel(), 1)
    moved[0] = False
    return moved.reshape(board.shape)
