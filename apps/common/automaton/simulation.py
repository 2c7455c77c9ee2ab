"""What every flavour of an automaton is: a cell object for each place of a board, and kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from sharedoa import i32

from ..launches import Launches
from .rule import Flags, States


class Simulation(ABC):
    """A board in one heap. ``cells`` are its cell objects, row by row."""

    def __init__(self, heap: Any, board: Flags, launches: Launches, cells: Any) -> None:
        self._heap, self._launch, self._cells = heap, launches, cells
        self._rows, self._columns = board.shape

    @abstractmethod
    def advance(self) -> None:
        """Launch the kernels of one generation."""

    @abstractmethod
    def tally(self) -> dict[str, int]:
        """What the agents count when each is asked to add itself."""

    @abstractmethod
    def states(self) -> States:
        """The state of each cell, as its agent says."""

    def _for_cells(self, kernel: Any, *arguments: Any) -> None:
        """Launch a kernel of (cells, arguments...) with a thread for each cell."""
        self._launch(kernel, len(self._cells), self._cells, *arguments)

    def _for_live_cells(self, kernel: Any, board: Flags) -> None:
        """Launch a kernel of (cells, ids) with a thread for each id of a live cell."""
        ids = self._heap.array(i32, np.flatnonzero(board))
        if len(ids):
            self._launch(kernel, len(ids), self._cells, ids)

    def _counters(self, kernel: Any, count: int) -> list[int]:
        """What a kernel of (cells, counters) makes of counters that are 0."""
        counters = self._heap.zeros(count, i32)
        self._for_cells(kernel, counters)
        found: list[int] = counters.numpy().tolist()
        return found

    def _shown(self, kernel: Any) -> States:
        """What a kernel of (cells, states) writes."""
        states = self._heap.zeros(len(self._cells), i32)
        self._for_cells(kernel, states)
        return np.array(states).reshape(self._rows, self._columns)


#: Makes a simulation of a board in a heap; it is at generation 0.
Flavour = Callable[[Any, Flags, Launches], Simulation]
