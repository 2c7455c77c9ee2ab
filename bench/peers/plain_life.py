"""The Game of Life without agents, on objects: a cell knows whether it is alive and will be.

The counterpart of ``bench.peers.numba_game_of_life.PlainSimulation``.
"""

from __future__ import annotations

from typing import Any

import sharedoa as oa
from apps.common.automaton.rule import Flags
from apps.game_of_life.parameters import FEWEST_TO_SURVIVE, MOST_TO_SURVIVE, TO_BE_BORN
from sharedoa import i32


class Cell(oa.Object):
    """A place of the board."""

    alive: bool
    following: bool

    def decide(self, count: i32) -> None:
        """Live or die with ``count`` live cells in the 3 by 3 cells around and at this one."""
        if self.alive:
            self.following = count > FEWEST_TO_SURVIVE and count <= MOST_TO_SURVIVE + 1
        else:
            self.following = count == TO_BE_BORN


@oa.kernel
def decide(cells: oa.Array[Cell], rows: i32, columns: i32) -> None:
    place = oa.grid(1)
    row, column = place // columns, place % columns
    count = i32(0)
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            if cells[y * columns + x].alive:
                count += 1
    cells[place].decide(count)


@oa.kernel
def apply(cells: oa.Array[Cell]) -> None:
    cell = cells[oa.grid(1)]
    cell.alive = cell.following


class ObjectSimulation:
    """A board at generation 0 in a heap."""

    def __init__(self, heap: Any, board: Flags) -> None:
        self._rows, self._columns = board.shape
        self._cells = heap.new(Cell, board.size, alive=board.ravel())

    def advance(self) -> None:
        cells = len(self._cells)
        decide[cells](self._cells, self._rows, self._columns)
        apply[cells](self._cells)

    def counts(self) -> dict[str, int]:
        """Live cells."""
        return {"alive": int(self._cells.alive.numpy().sum())}
