"""The objects of an ocean, and a step of their lives."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharedoa import i32, u32

from ..common.launches import Launches
from ..common.xorwow_streams import sequence_states
from . import kernels
from .classes import Cell, Fish, Shark

Array = np.ndarray[Any, Any]


class Simulation:
    """``width`` by ``height`` cells; cell c draws from sequence c of cuRAND's generator of
    ``seed``."""

    def __init__(self, heap: Any, width: int, height: int, seed: int, launches: Launches) -> None:
        self._heap, self._launch = heap, launches
        self.shape = height, width
        count = width * height
        self._cells = heap.new(Cell, count, random=sequence_states(seed, count))
        self._launch(kernels.connect, count, self._cells, width, height)
        self._launch.for_all(Cell, "begin")

    def advance(self) -> None:
        """One step: all fish, then all sharks."""
        self._launch.repeat("step", self._step)

    def _step(self) -> None:
        for kind in (Fish, Shark):
            self._launch.for_all(kind, "seek")
            self._launch.for_all(Cell, "choose")
            self._launch.for_all(kind, "move")

    def counts(self) -> dict[str, int]:
        return {"fish": len(self._heap.all(Fish)), "sharks": len(self._heap.all(Shark))}

    def states(self) -> tuple[Array, Array, Array]:
        """The kind of agent on each cell, its age and its energy, of shape (height, width)."""
        count = len(self._cells)
        found = [self._heap.zeros(count, type) for type in (i32, u32, u32)]
        self._launch(kernels.show, count, self._cells, *found)
        kind, age, energy = (np.array(each).reshape(self.shape) for each in found)
        return kind, age, energy

    def misplaced(self) -> int:
        """Cells whose agent is not there, or is somewhere else."""
        found = self._heap.zeros(1, i32)
        self._launch(kernels.count_misplaced, len(self._cells), self._cells, found)
        return int(found[0])
