"""The Game of Life as numba loops over arrays, twice.

``AgentSimulation`` is ``apps/game_of_life/faithful`` with arrays for fields and indices for
references: the same kernels in the same order, with the same work for each cell.
``PlainSimulation`` is what one writes without agents: count, decide, apply; its counterpart on
objects is ``bench.peers.plain_life``.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from apps.common.automaton.rule import Flags
from apps.common.references import NOTHING
from apps.game_of_life.faithful.classes import ALIVE, CANDIDATE, DIE, NO_ACTION, NO_KIND, SPAWN
from apps.game_of_life.parameters import FEWEST_TO_SURVIVE, MOST_TO_SURVIVE, TO_BE_BORN


@njit
def num_alive_around(agent_of, kind, place, rows, columns):
    row, column = place // columns, place % columns
    count = 0
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            agent = agent_of[y * columns + x]
            if agent != NOTHING and kind[agent] == ALIVE:
                count += 1
    return count


@njit
def first_new_agent_around(agent_of, cell_id, kind, is_new, place, rows, columns):
    row, column = place // columns, place % columns
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            agent = agent_of[y * columns + x]
            if agent != NOTHING and kind[agent] == ALIVE and is_new[agent]:
                return cell_id[agent]
    return -1


@njit
def set_agent(agent_of, private_agent, cell_id, kind, is_new, action, place, new_kind):
    agent = private_agent[place]
    cell_id[agent] = place
    kind[agent] = new_kind
    is_new[agent] = new_kind == ALIVE
    action[agent] = NO_ACTION
    agent_of[place] = agent


@njit
def create_candidates(agent_of, private_agent, cell_id, kind, is_new, action, place, rows, columns):
    row, column = place // columns, place % columns
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            near = y * columns + x
            if (
                agent_of[near] == NOTHING
                and first_new_agent_around(agent_of, cell_id, kind, is_new, near, rows, columns)
                == place
            ):
                set_agent(agent_of, private_agent, cell_id, kind, is_new, action, near, CANDIDATE)


@njit(parallel=True)
def candidate_prepare(agent_of, cell_id, kind, action, rows, columns):
    for place in prange(len(agent_of)):
        agent = agent_of[place]
        if agent != NOTHING and kind[agent] == CANDIDATE:
            count = num_alive_around(agent_of, kind, cell_id[agent], rows, columns)
            if count == TO_BE_BORN:
                action[agent] = SPAWN
            elif count == 0:
                action[agent] = DIE


@njit(parallel=True)
def alive_prepare(agent_of, cell_id, kind, is_new, action, rows, columns):
    for place in prange(len(agent_of)):
        agent = agent_of[place]
        if agent != NOTHING and kind[agent] == ALIVE:
            is_new[agent] = False
            count = num_alive_around(agent_of, kind, cell_id[agent], rows, columns) - 1
            if count < FEWEST_TO_SURVIVE or count > MOST_TO_SURVIVE:
                action[agent] = DIE


@njit(parallel=True)
def candidate_update(agent_of, private_agent, cell_id, kind, is_new, action):
    for place in prange(len(agent_of)):
        agent = agent_of[place]
        if agent != NOTHING and kind[agent] == CANDIDATE:
            if action[agent] == SPAWN:
                set_agent(
                    agent_of, private_agent, cell_id, kind, is_new, action, cell_id[agent], ALIVE
                )
            elif action[agent] == DIE:
                agent_of[place] = NOTHING


@njit(parallel=True)
def alive_update(agent_of, private_agent, cell_id, kind, is_new, action, rows, columns):
    for place in prange(len(agent_of)):
        agent = agent_of[place]
        if agent != NOTHING and kind[agent] == ALIVE:
            if is_new[agent]:
                create_candidates(
                    agent_of, private_agent, cell_id, kind, is_new, action, cell_id[agent],
                    rows, columns,
                )  # fmt: skip
            elif action[agent] == DIE:
                set_agent(
                    agent_of, private_agent, cell_id, kind, is_new, action, cell_id[agent],
                    CANDIDATE,
                )  # fmt: skip


class AgentSimulation:
    """A board at generation 0."""

    def __init__(self, board: Flags) -> None:
        self._rows, self._columns = board.shape
        alive, places = board.ravel(), np.arange(board.size, dtype=np.int32)
        self._agent_of = np.where(alive, places, NOTHING).astype(np.int32)
        self._private_agent, self._cell_id = places, places.copy()
        self._kind = np.where(alive, ALIVE, NO_KIND).astype(np.int32)
        self._is_new = alive.copy()
        self._action = np.zeros(board.size, np.int32)
        self._update_alive()

    def _update_alive(self) -> None:
        alive_update(
            self._agent_of, self._private_agent, self._cell_id, self._kind, self._is_new,
            self._action, self._rows, self._columns,
        )  # fmt: skip

    def advance(self) -> None:
        agent_of, cell_id, kind, is_new, action = (
            self._agent_of, self._cell_id, self._kind, self._is_new, self._action,
        )  # fmt: skip
        candidate_prepare(agent_of, cell_id, kind, action, self._rows, self._columns)
        alive_prepare(agent_of, cell_id, kind, is_new, action, self._rows, self._columns)
        candidate_update(agent_of, self._private_agent, cell_id, kind, is_new, action)
        self._update_alive()

    def counts(self) -> dict[str, int]:
        """Live agents and candidates."""
        kinds = self._kind[self._agent_of[self._agent_of != NOTHING]]
        return {
            "alive": int((kinds == ALIVE).sum()),
            "candidates": int((kinds == CANDIDATE).sum()),
        }


@njit(parallel=True)
def decide(alive, following, rows, columns):
    for place in prange(len(alive)):
        row, column = place // columns, place % columns
        count = 0
        for x in range(max(column - 1, 0), min(column + 2, columns)):
            for y in range(max(row - 1, 0), min(row + 2, rows)):
                if alive[y * columns + x]:
                    count += 1
        if alive[place]:
            count -= 1
            following[place] = count >= FEWEST_TO_SURVIVE and count <= MOST_TO_SURVIVE
        else:
            following[place] = count == TO_BE_BORN


@njit(parallel=True)
def apply(alive, following):
    for place in prange(len(alive)):
        alive[place] = following[place]


class PlainSimulation:
    """A board at generation 0, as two flags a cell."""

    def __init__(self, board: Flags) -> None:
        self._rows, self._columns = board.shape
        self._alive, self._following = board.ravel().copy(), board.ravel().copy()

    def advance(self) -> None:
        decide(self._alive, self._following, self._rows, self._columns)
        apply(self._alive, self._following)

    def counts(self) -> dict[str, int]:
        """Live cells."""
        return {"alive": int(self._alive.sum())}
