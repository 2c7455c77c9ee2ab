"""What is done for all cells but their methods."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32, u32

from .classes import Cell


@oa.kernel
def connect(cells: oa.Array[Cell], width: i32, height: i32) -> None:
    """Cells lie row by row on a torus."""
    place = oa.grid(1)
    if place < len(cells):
        x, y = place % width, place // width
        cell = cells[place]
        cell.neighbours[0] = cells[y * width + (x - 1) % width]
        cell.neighbours[1] = cells[(y - 1) % height * width + x]
        cell.neighbours[2] = cells[y * width + (x + 1) % width]
        cell.neighbours[3] = cells[(y + 1) % height * width + x]


@oa.kernel
def show(
    cells: oa.Array[Cell], kind: oa.Array[i32], age: oa.Array[u32], energy: oa.Array[u32]
) -> None:
    """Who lives on each cell."""
    place = oa.grid(1)
    if place < len(cells):
        agent = cells[place].agent
        if agent is not None:
            kind[place] = agent.kind()
            age[place] = agent.age
            energy[place] = agent.energy_left()


@oa.kernel
def count_misplaced(cells: oa.Array[Cell], found: oa.Array[i32]) -> None:
    """Cells whose agent is not there, or is somewhere else."""
    place = oa.grid(1)
    if place < len(cells):
        agent = cells[place].agent
        if agent is not None and not (oa.is_alive(agent) and agent.place is cells[place]):
            oa.atomic_add(found, 0, 1)
