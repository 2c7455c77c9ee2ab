"""What is done but for the methods of all agents."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from .classes import Birth, Cell


@oa.kernel
def connect_cells(cells: oa.Array[Cell], rows: i32, columns: i32) -> None:
    i = oa.grid(1)
    cell = cells[i]
    row, column = i // columns, i % columns
    place = i32(0)
    for y in range(max(row - 1, 0), min(row + 2, rows)):
        for x in range(max(column - 1, 0), min(column + 2, columns)):
            if y != row or x != column:
                cell.neighbours[place] = cells[y * columns + x]
                place += 1


@oa.kernel
def begin_lives(cells: oa.Array[Cell], alive: oa.Array[i32]) -> None:
    Birth(cells[alive[oa.grid(1)]])


@oa.kernel
def show_states(cells: oa.Array[Cell], states: oa.Array[i32]) -> None:
    i = oa.grid(1)
    states[i] = cells[i].state()
