"""The kernels of one generation, each for all cells, and those around it."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from .classes import Cell


@oa.kernel
def connect_cells(cells: oa.Array[Cell], rows: i32, columns: i32) -> None:
    i = oa.grid(1)
    cell = cells[i]
    row, column = i // columns, i % columns
    for y in range(max(row - 1, 0), min(row + 2, rows)):
        for x in range(max(column - 1, 0), min(column + 2, columns)):
            if y != row or x != column:
                cell.neighbours[cell.num_neighbours] = cells[y * columns + x]
                cell.num_neighbours += 1


@oa.kernel
def begin_lives(cells: oa.Array[Cell], alive: oa.Array[i32]) -> None:
    cell = cells[alive[oa.grid(1)]]
    cell.alive.begin()
    cell.agent = cell.alive


@oa.kernel
def prepare(cells: oa.Array[Cell]) -> None:
    cell = cells[oa.grid(1)]
    cell.agent.prepare(cell)


@oa.kernel
def update(cells: oa.Array[Cell]) -> None:
    cell = cells[oa.grid(1)]
    cell.agent.update(cell)


@oa.kernel
def age(cells: oa.Array[Cell]) -> None:
    cell = cells[oa.grid(1)]
    cell.agent.age(cell)


@oa.kernel
def update_checksum(cells: oa.Array[Cell], counters: oa.Array[i32]) -> None:
    cells[oa.grid(1)].agent.update_checksum(counters)


@oa.kernel
def show_states(cells: oa.Array[Cell], states: oa.Array[i32]) -> None:
    i = oa.grid(1)
    states[i] = cells[i].agent.state()
