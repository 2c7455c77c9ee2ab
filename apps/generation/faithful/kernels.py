"""The kernels of one generation, in the artifact's order and each for all cells.

The first reads neighbours and writes the own agent, the others write the own cell. The last makes
candidates in empty neighbours, too: whoever reserves a cell first makes the same candidate as any
other would have, so the order of threads does not matter.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from ...common.automaton import rule
from ..parameters import BIRTH_MASK, DECAYING_STATES, SURVIVAL_MASK
from .classes import ALIVE, CANDIDATE, DIE, NO_ACTION, SPAWN, CellV


@oa.func
def num_alive_around(cells: oa.Array[CellV], cell_id: i32, rows: i32, columns: i32) -> i32:
    """Undecayed agents in the 3 by 3 cells around and at a cell, without those beyond the edge."""
    row, column = cell_id // columns, cell_id % columns
    count = i32(0)
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            cell = cells[y * columns + x]
            agent = cell.agent()
            if agent is not None and agent.isAlive() and agent.is_state_equal(0):
                count += 1
    return count


@oa.func
def create_candidates(cells: oa.Array[CellV], cell_id: i32, rows: i32, columns: i32) -> None:
    """Fill the empty neighbours of a cell that nobody else fills."""
    row, column = cell_id // columns, cell_id % columns
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            place = y * columns + x
            cell = cells[place]
            if cell.is_empty() and oa.atomic_cas(cell, "reserved", 0, 1) == 0:
                cell.set_agent(place, CANDIDATE)


@oa.kernel
def load_pattern(cells: oa.Array[CellV], alive: oa.Array[i32]) -> None:
    place = alive[oa.grid(1)]
    cells[place].set_agent(place, ALIVE)


@oa.kernel
def prepare(cells: oa.Array[CellV], rows: i32, columns: i32) -> None:
    agent = cells[oa.grid(1)].agent()
    if agent is None:
        return
    if agent.isAlive() and agent.is_state_equal(0):
        agent.set_is_new(False)
        count = num_alive_around(cells, agent.cell_id(), rows, columns) - 1
        if (SURVIVAL_MASK >> count) & 1 == 0:
            agent.set_action(DIE)
    elif agent.isCandidate():
        count = num_alive_around(cells, agent.cell_id(), rows, columns)
        if (BIRTH_MASK >> count) & 1 == 1:
            agent.set_action(SPAWN)
        elif count == 0:
            agent.set_action(DIE)


@oa.kernel
def update(cells: oa.Array[CellV]) -> None:
    cell = cells[oa.grid(1)]
    agent = cell.agent()
    if agent is not None and agent.isCandidate():
        if agent.get_action() == SPAWN:
            cell.set_agent(agent.cell_id(), ALIVE)
        elif agent.get_action() == DIE:
            cell.delete_agent()
            cell.reserved = 0


@oa.kernel
def alive_update(cells: oa.Array[CellV], rows: i32, columns: i32) -> None:
    cell = cells[oa.grid(1)]
    agent = cell.agent()
    if agent is not None and agent.isAlive():
        if agent.is_new():
            create_candidates(cells, agent.cell_id(), rows, columns)
        elif agent.is_state_equal(0):
            if agent.get_action() == DIE:
                agent.set_state(1)
                agent.set_action(NO_ACTION)
        elif agent.is_state_in_range(0, DECAYING_STATES):
            agent.inc_state()
        else:
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
        states[i] = rule.ALIVE + agent.state_
    else:
        states[i] = rule.CANDIDATE
