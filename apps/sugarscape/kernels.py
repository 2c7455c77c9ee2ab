"""What is done for all cells but their methods."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from .classes import Cell


@oa.kernel
def show(
    cells: oa.Array[Cell],
    kind: oa.Array[i32],
    age: oa.Array[i32],
    sugar: oa.Array[i32],
    children_left: oa.Array[i32],
) -> None:
    """Who lives on each cell."""
    place = oa.grid(1)
    if place < len(cells):
        agent = cells[place].agent
        if agent is not None:
            kind[place] = agent.kind()
            age[place] = agent.age
            sugar[place] = agent.sugar
            children_left[place] = agent.children_left()


@oa.kernel
def count_misplaced(cells: oa.Array[Cell], found: oa.Array[i32]) -> None:
    """Cells whose agent is not there, or is somewhere else."""
    place = oa.grid(1)
    if place < len(cells):
        agent = cells[place].agent
        if agent is not None and not (oa.is_alive(agent) and agent.cell is cells[place]):
            oa.atomic_add(found, 0, 1)
