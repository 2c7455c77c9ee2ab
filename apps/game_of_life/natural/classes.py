"""Cells, and the agents that they hold: one at a time, of the class that says how the cell is."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from ...common.automaton import rule
from ..parameters import FEWEST_TO_SURVIVE, MOST_TO_SURVIVE, TO_BE_BORN

#: What an agent is about to do.
STAY, DIE, SPAWN = 0, 1, 2
#: Places in the array of counters.
LIVE, CANDIDATES = 0, 1


class Cell(oa.Object, unordered=("agent",)):
    """A place of the board. It keeps an agent of each class ready; all dead cells share one."""

    agent: Agent
    dead: Dead
    candidate: Candidate
    alive: Alive
    neighbours: oa.inline[Cell, 8]
    num_neighbours: i32

    def live_neighbours(self) -> i32:
        count = i32(0)
        for place in range(self.num_neighbours):
            if self.neighbours[place].agent.is_alive():
                count += 1
        return count

    def invite_neighbours(self) -> None:
        """Make candidates of all dead neighbours. Others may do the same at the same time."""
        for place in range(self.num_neighbours):
            neighbour = self.neighbours[place]
            oa.atomic_cas(neighbour, "agent", neighbour.dead, neighbour.candidate)


class Agent(oa.Object):
    """How a cell is. While all agents prepare, and while all die or are born, they read cells and
    change none but their own; the living then settle, which changes dead neighbours, too."""

    def is_alive(self) -> bool:
        return False

    def state(self) -> i32: ...

    def prepare(self, cell: Cell) -> None:
        """Decide what to do."""

    def update(self, cell: Cell) -> None:
        """Come to life, or give up doing so."""

    def settle(self, cell: Cell) -> None:
        """Take note of having been born, or of having to die."""

    def update_checksum(self, counters: oa.Array[i32]) -> None:
        """Add this agent to the number of its kind."""


class Dead(Agent):
    def state(self) -> i32:
        return i32(rule.DEAD)


class Candidate(Agent):
    """A dead cell that may come to life, as something near it changes."""

    action: i32

    def state(self) -> i32:
        return i32(rule.CANDIDATE)

    def prepare(self, cell: Cell) -> None:
        count = cell.live_neighbours()
        if count == TO_BE_BORN:
            self.action = SPAWN
        elif count == 0:
            self.action = DIE

    def update(self, cell: Cell) -> None:
        if self.action == SPAWN:
            cell.alive.begin()
            cell.agent = cell.alive
        elif self.action == DIE:
            cell.agent = cell.dead
        self.action = STAY

    def update_checksum(self, counters: oa.Array[i32]) -> None:
        oa.atomic_add(counters, CANDIDATES, 1)


class Alive(Agent):
    is_new: bool
    dies: bool

    def begin(self) -> None:
        self.is_new = True
        self.dies = False

    def is_alive(self) -> bool:
        return True

    def state(self) -> i32:
        return i32(rule.ALIVE)

    def prepare(self, cell: Cell) -> None:
        count = cell.live_neighbours()
        self.is_new = False
        self.dies = count < FEWEST_TO_SURVIVE or count > MOST_TO_SURVIVE

    def settle(self, cell: Cell) -> None:
        if self.is_new:
            cell.invite_neighbours()
        elif self.dies:
            cell.agent = cell.candidate

    def update_checksum(self, counters: oa.Array[i32]) -> None:
        oa.atomic_add(counters, LIVE, 1)
