"""The objects of a town, and a step of its people."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa import u64

from ..common.counter_random import draws
from ..common.launches import Launches
from ..common.references import NOTHING, IndexOf, link
from . import classes
from .classes import Blue, Cell, Person, Red

Array = np.ndarray[Any, Any]

FREE, RED, BLUE = range(3)
#: People of a group, of 16 cells.
SHARE = 5


class Simulation:
    """``width`` by ``height`` cells; beyond the border there are none."""

    def __init__(self, heap: Any, width: int, height: int, seed: int, launches: Launches) -> None:
        self._launch, self._seed = launches, seed
        self.shape = height, width
        self._step = 0
        self._cells = heap.new(Cell, width * height, wanted=classes.NOBODY)
        link(heap, self._cells.neighbours, self._cells, neighbours(width, height))
        bits = draws(seed, 0, np.arange(width * height), classes.START)
        #: All cells in random order: the first have reds, the next blues.
        order = np.argsort(bits, kind="stable")
        self._reds = width * height * SHARE // 16
        numbers = np.arange(2 * self._reds, dtype=np.uint32)
        groups = [
            heap.new(cls, self._reds, number=those, place=self._cells[order[those]])
            for cls, those in ((Red, numbers[: self._reds]), (Blue, numbers[self._reds :]))
        ]
        #: In the order of their numbers.
        self._people = heap.concat(*groups)
        self._cells[order[numbers]].resident = self._people
        self._free = self._cells[order[len(numbers) :]]
        self._moves = heap.zeros(1, u64)
        self._is_settled = False
        #: Steps in which somebody moved.
        self._busy_steps = 0

    def advance(self) -> None:
        """All who are not content look for a free cell, and some get one. Once nobody moves nobody
        ever does."""
        if self._is_settled:
            return
        self._step += 1
        before = int(self._moves[0])
        self._launch.for_all(Person, "seek", self._free, self._seed, self._step)
        self._launch.for_all(Person, "move", self._free, self._moves)
        self._launch.for_all(Person, "settle")
        self._is_settled = int(self._moves[0]) == before
        self._busy_steps += not self._is_settled

    def counts(self) -> dict[str, int]:
        return {
            "people": len(self._people),
            "moves": int(self._moves[0]),
            "steps with moves": self._busy_steps,
        }

    def places(self) -> Array:
        """The cells of all people, in the order of their numbers."""
        return IndexOf(self._cells)(self._people.place.numpy())

    def free_cells(self) -> Array:
        """Those on which nobody lives, in the order in which they are drawn from."""
        return IndexOf(self._cells)(self._free.numpy())

    def residents(self) -> Array:
        """The number of who lives on each cell, or NOTHING."""
        return IndexOf(self._people)(self._cells.resident.numpy())

    def groups(self) -> Array:
        """Of who lives on each cell, of shape (height, width)."""
        residents = self.residents()
        groups = np.where(residents < self._reds, RED, BLUE)
        groups[residents == NOTHING] = FREE
        return groups.astype(np.uint8).reshape(self.shape)


def neighbours(width: int, height: int) -> Array:
    """The cells around each, row by row, or NOTHING; of shape (cells, 8)."""
    numbers = np.full((height + 2, width + 2), NOTHING, np.int32)
    numbers[1:-1, 1:-1] = np.arange(width * height).reshape(height, width)
    steps = [(dx, dy) for dy in range(3) for dx in range(3) if (dx, dy) != (1, 1)]
    return np.stack([numbers[dy:, dx:][:height, :width].ravel() for dx, dy in steps], axis=1)
