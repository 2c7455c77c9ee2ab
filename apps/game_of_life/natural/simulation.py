"""The natural flavour's objects, made from a board, and its generation."""

from __future__ import annotations

from typing import Any

from ...common.automaton.rule import Flags, States
from ...common.automaton.simulation import Simulation
from ...common.launches import Launches
from . import kernels
from .classes import Alive, Candidate, Cell, Dead


class NaturalSimulation(Simulation):
    """A cell for each place of the board, with a candidate and a live agent that it uses again."""

    def __init__(self, heap: Any, board: Flags, launches: Launches) -> None:
        dead = heap.new(Dead)
        cells = heap.new(
            Cell,
            board.size,
            agent=dead,
            dead=dead,
            candidate=heap.new(Candidate, board.size),
            alive=heap.new(Alive, board.size),
        )
        super().__init__(heap, board, launches, cells)
        self._for_cells(kernels.connect_cells, self._rows, self._columns)
        self._for_live_cells(kernels.begin_lives, board)
        self._for_cells(kernels.settle)

    def advance(self) -> None:
        self._for_cells(kernels.prepare)
        self._for_cells(kernels.update)
        self._for_cells(kernels.settle)

    def tally(self) -> dict[str, int]:
        alive, candidates = self._counters(kernels.update_checksum, 2)
        return {"alive": alive, "candidates": candidates}

    def states(self) -> States:
        return self._shown(kernels.show_states)
