"""The objects of a forest, and a step of its fires."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.counter_random import draws, threshold
from ..common.launches import Launches
from ..common.references import NOTHING, IndexOf, link
from .classes import Fire, Tree

Array = np.ndarray[Any, Any]

NO_TREE, GREEN, BURNING, BURNT = range(4)
#: What random numbers of the cells are for.
IS_TREE = 0


class Simulation:
    """``size`` by ``size`` cells, on each of which a tree stands with a probability ``density``;
    those in the left column burn."""

    def __init__(self, heap: Any, size: int, density: float, seed: int, launches: Launches) -> None:
        self._heap, self._launch, self._size = heap, launches, size
        bits = draws(seed, 0, np.arange(size * size), IS_TREE)
        #: The cells that have trees, in rows.
        self._cells = np.flatnonzero(bits < threshold(density))
        is_lit = self._cells % size == 0
        self._trees = heap.new(Tree, len(self._cells), was_lit=is_lit.astype(np.uint32))
        link(heap, self._trees.neighbours, self._trees, self._neighbours())
        heap.new(Fire, int(is_lit.sum()), tree=self._trees[np.flatnonzero(is_lit)])

    def _neighbours(self) -> Array:
        """Of each tree those to its four sides, as indices of trees."""
        bordered = np.full((self._size + 2, self._size + 2), NOTHING, np.int32)
        y, x = self._cells // self._size + 1, self._cells % self._size + 1
        bordered[y, x] = np.arange(len(self._cells))
        sides = [bordered[y + dy, x + dx] for dx, dy in ((-1, 0), (0, -1), (1, 0), (0, 1))]
        return np.stack(sides, axis=1)

    def advance(self) -> None:
        self._launch.repeat("step", lambda: self._launch.for_all(Fire, "spread"))

    def counts(self) -> dict[str, int]:
        lit, burning = int(self._trees.was_lit.numpy().sum()), len(self._heap.all(Fire))
        return {"green": len(self._trees) - lit, "burning": burning, "burnt": lit - burning}

    def states(self) -> Array:
        """What is on each cell, of shape (size, size)."""
        states = np.full(self._size * self._size, NO_TREE, np.uint8)
        states[self._cells] = np.where(self._trees.was_lit.numpy() != 0, BURNT, GREEN)
        burning = IndexOf(self._trees)(self._heap.all(Fire).tree.numpy())
        states[self._cells[burning]] = BURNING
        return states.reshape(self._size, self._size)
