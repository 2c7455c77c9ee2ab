"""The faithful flavour's objects, made from a board, and its generation."""

from __future__ import annotations

from typing import Any

from ...common.automaton.rule import Flags, States
from ...common.automaton.simulation import Simulation
from ...common.launches import Launches
from . import kernels
from .classes import NO_KIND, Agent, Cell


class FaithfulSimulation(Simulation):
    """A cell and its own agent for each place of the board."""

    def __init__(self, heap: Any, board: Flags, launches: Launches) -> None:
        agents = heap.new(Agent, board.size, type_=NO_KIND)
        cells = heap.new(Cell, board.size, private_agent=agents)
        super().__init__(heap, board, launches, cells)
        self._for_live_cells(kernels.load_game, board)
        self._for_cells(kernels.alive_update, self._rows, self._columns)

    def advance(self) -> None:
        rows, columns = self._rows, self._columns
        self._for_cells(kernels.candidate_prepare, rows, columns)
        self._for_cells(kernels.alive_prepare, rows, columns)
        self._for_cells(kernels.candidate_update)
        self._for_cells(kernels.alive_update, rows, columns)

    def tally(self) -> dict[str, int]:
        alive, candidates = self._counters(kernels.update_checksum, 2)
        return {"alive": alive, "candidates": candidates}

    def states(self) -> States:
        return self._shown(kernels.show_states)
