"""Automata on plain NumPy arrays: an independent check of every other implementation.

The neighbours are counted by a convolution with zeros beyond the edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .rule import ALIVE, CANDIDATE, DEAD, DECAYING, Flags, Rule, States


def count_neighbours(flags: Flags) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """How many of the eight neighbours of each cell are set."""
    padded = np.pad(flags, 1).astype(np.uint8)
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    block = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
    return np.asarray(block - flags, np.uint8)


class Reference:
    """A board under a rule, with its candidates: dead cells that have just died, or that have a
    newborn neighbour, or that were candidates, did not come to life and had a live neighbour."""

    def __init__(self, rule: Rule, alive: Flags) -> None:
        self._rule = rule
        self._survives, self._is_born = (
            np.array([count in counts for count in range(9)])
            for counts in (rule.survival, rule.birth)
        )
        self._cells = alive.astype(np.int32)
        self._candidates = ~alive & (count_neighbours(alive) > 0)

    def states(self) -> States:
        """The state of each cell."""
        return np.asarray(np.where(self._candidates, CANDIDATE, self._cells), np.int32)

    def advance(self) -> None:
        """One generation."""
        cells = self._cells
        live = count_neighbours(cells == ALIVE)
        born = (cells == DEAD) & self._is_born[live]
        stays = (cells == DEAD) | ((cells == ALIVE) & self._survives[live])
        following = np.where(stays, cells, cells + 1)
        following[following == DECAYING + self._rule.decaying] = DEAD
        following[born] = ALIVE
        died = (cells != DEAD) & (following == DEAD)
        waits = self._candidates & ~born & (live > 0)
        invited = count_neighbours(born) > 0
        self._candidates = (following == DEAD) & (died | invited | waits)
        self._cells = following
