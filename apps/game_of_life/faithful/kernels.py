"""The kernels of one generation, in the artifact's order and each for all cells.

The first two read neighbours and write the own agent, the others write cells: the own one, and
empty neighbours of which ``first_new_agent_around`` makes one thread the owner. So the order of
threads does not matter. The artifact's owner was the first new agent of any kind, which left some
cells without one; here it is DynaSOAr's, the first that is alive.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from ...common.automaton import rule
from ..parameters import FEWEST_TO_SURVIVE, MOST_TO_SURVIVE, TO_BE_BORN
from .classes import ALIVE, CANDIDATE, DIE, SPAWN, CellV


@oa.func
def num_alive_around(cells: oa.Array[CellV], cell_id: i32, rows: i32, columns: i32) -> i32:
    """Live agents in the 3 by 3 cells around and at a cell, without those beyond the edge."""
    row, column = cell_id // columns, cell_id % columns
    count = i32(0)
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            agent = cells[y * columns + x].agent()
            if agent is not None and agent.isAlive():
                count += 1
    return count


@oa.func
def first_new_agent_around(cells: oa.Array[CellV], cell_id: i32, rows: i32, columns: i32) -> i32:
    """The cell of the first agent around a cell that has just come to life."""
    row, column = cell_id // columns, cell_id % columns
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            agent = cells[y * columns + x].agent()
            if agent is not None and agent.isAlive() and agent.is_new():
                return agent.cell_id()
    return i32(-1)


@oa.func
def create_candidates(cells: oa.Array[CellV], cell_id: i32, rows: i32, columns: i32) -> None:
    """Fill the empty neighbours that the agent at a cell owns."""
    row, column = cell_id // columns, cell_id % columns
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            place = y * columns + x
            if (
                cells[place].is_empty()
                and first_new_agent_around(cells, place, rows, columns) == cell_id
            ):
                cells[place].set_agent(place, CANDIDATE)


@oa.kernel
def load_game(cells: oa.Array[CellV], alive: oa.Array[i32]) -> None:
    place = alive[oa.grid(1)]
    cells[place].set_agent(place, ALIVE)


@oa.kernel
def candidate_prepare(cells: oa.Array[CellV], rows: i32, columns: i32) -> None:
    agent = cells[oa.grid(1)].agent()
    if agent is not None and agent.isCandidate():
        count = num_alive_around(cells, agent.cell_id(), rows, columns)
        if count == TO_BE_BORN:
            agent.set_action(SPAWN)
        elif count == 0:
            agent.set_action(DIE)


@oa.kernel
def alive_prepare(cells: oa.Array[CellV], rows: i32, columns: i32) -> None:
    agent = cells[oa.grid(1)].agent()
    if agent is not None and agent.isAlive():
        agent.set_is_new(False)
        count = num_alive_around(cells, agent.cell_id(), rows, columns) - 1
        if count < FEWEST_TO_SURVIVE or count > MOST_TO_SURVIVE:
            agent.set_action(DIE)


@oa.kernel
def candidate_update(cells: oa.Array[CellV]) -> None:
    cell = cells[oa.grid(1)]
    agent = cell.agent()
    if agent is not None and agent.isCandidate():
        if agent.get_action() == SPAWN:
            cell.set_agent(agent.cell_id(), ALIVE)
        elif agent.get_action() == DIE:
            cell.delete_agent()


@oa.kernel
def alive_update(cells: oa.Array[CellV], rows: i32, columns: i32) -> None:
    cell = cells[oa.grid(1)]
    agent = cell.agent()
    if agent is not None and agent.isAlive():
        if agent.is_new():
            create_candidates(cells, agent.cell_id(), rows, columns)
        elif agent.get_action() == DIE:
            cell.set_agent(agent.cell_id(), CANDIDATE)


@oa.kernel
def update_checksum(cells: oa.Array[CellV], counters: oa.Array[i32]) -> None:
    agent = cells[oa.grid(1)].agent()
    if agent is not None:
        agent.update_checksum(counters)


@oa.kernel
def show_states(cells: oa.Array[CellV], states: oa.Array[i32]) -> None:
    i = oa.grid(1)
    agent = cells[i].agent()
    if agent is None:
        states[i] = rule.DEAD
    elif agent.isAlive():
        states[i] = rule.ALIVE
    else:
        states[i] = rule.CANDIDATE
