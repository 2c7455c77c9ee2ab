"""The natural flavour's objects, made from a board, and its generation."""

from __future__ import annotations

from typing import Any

from ...common.automaton.rule import Flags, States
from ...common.automaton.simulation import Simulation
from ...common.launches import Launches
from . import kernels
from .classes import Alive, Candidate, Cell, Dead, Decaying


class NaturalSimulation(Simulation):
    """A cell for each place of the board, with an agent of each class but one that it uses again;
    the dead one is shared."""

    def __init__(self, heap: Any, board: Flags, launches: Launches) -> None:
        dead = heap.new(Dead)
        cells = heap.new(
            Cell,
            board.size,
            agent=dead,
            dead=dead,
            candidate=heap.new(Candidate, board.size),
            alive=heap.new(Alive, board.size),
            decaying=heap.new(Decaying, board.size),
        )
        super().__init__(heap, board, launches, cells)
        self._for_cells(kernels.connect_cells, self._rows, self._columns)
        self._for_live_cells(kernels.begin_lives, board)
        self._for_cells(kernels.age)

    def advance(self) -> None:
        self._for_cells(kernels.prepare)
        self._for_cells(kernels.update)
        self._for_cells(kernels.age)

    def tally(self) -> dict[str, int]:
        return {"checksum": self._counters(kernels.update_checksum, 1)[0]}

    def states(self) -> States:
        return self._shown(kernels.show_states)
