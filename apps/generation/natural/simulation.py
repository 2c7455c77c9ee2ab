"""The natural flavour's objects, made from a board, and its generation."""

from __future__ import annotations

from typing import Any

from sharedoa import i32

from ...common.automaton.rule import Flags, States
from ...common.automaton.simulation import Simulation
from ...common.launches import Launches
from . import kernels
from .classes import Agent, Alive, Birth, Candidate, Cell, Decaying


class NaturalSimulation(Simulation):
    """A cell for each place of the board, and agents on those where something happens."""

    def __init__(self, heap: Any, board: Flags, launches: Launches) -> None:
        super().__init__(heap, board, launches, heap.new(Cell, board.size))
        self._for_cells(kernels.connect_cells, self._rows, self._columns)
        self._for_live_cells(kernels.begin_lives, board)
        self._launch.for_all(Birth, "settle")

    def advance(self) -> None:
        self._launch.repeat("step", self._step)

    def _step(self) -> None:
        self._launch.for_all(Agent, "prepare")
        # What one of them makes is of a class before, or has nothing to do.
        self._launch.for_all(Decaying, "update")
        self._launch.for_all(Alive, "update")
        self._launch.for_all(Candidate, "update")
        self._launch.for_all(Birth, "settle")

    def tally(self) -> dict[str, int]:
        counters = self._heap.zeros(1, i32)
        self._launch.for_all(Agent, "update_checksum", counters)
        return {"checksum": int(counters[0])}

    def states(self) -> States:
        return self._shown(kernels.show_states)
