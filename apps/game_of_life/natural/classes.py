"""Cells, and the agents on them, which say how a cell is: one where something lives or may come to
life, none where nothing happens. Agents are made and deleted as that changes."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from ...common.automaton import rule
from ..parameters import FEWEST_TO_SURVIVE, MOST_TO_SURVIVE, TO_BE_BORN

#: What a candidate is about to do.
STAY, DIE, SPAWN = 0, 1, 2
#: Places in the array of counters.
LIVE, CANDIDATES = 0, 1


class Cell(oa.Object):
    """A place of the board. Where the board ends, ``neighbours`` are None. It is new in the
    generation in which it has come to life."""

    agent: Agent | None
    neighbours: oa.inline[Cell, 8]
    is_new: bool

    def state(self) -> i32:
        agent = self.agent
        return i32(rule.DEAD) if agent is None else agent.state()

    def live_neighbours(self) -> i32:
        count = i32(0)
        for place in range(8):
            neighbour = self.neighbours[place]
            if neighbour is not None:
                agent = neighbour.agent
                if agent is not None and agent.is_alive():
                    count += 1
        return count

    def is_invited_by(self, cell: Cell) -> bool:
        """Whether ``cell`` is to put a candidate here: the first new one around a dead one. Nobody
        else looks whether there is an agent."""
        return self.first_new_neighbour() is cell and not self.is_new and self.agent is None

    def first_new_neighbour(self) -> Cell | None:
        for place in range(8):
            neighbour = self.neighbours[place]
            if neighbour is not None and neighbour.is_new:
                return neighbour
        return None


class Agent(oa.Object):
    """How its cell is. While all prepare, they read cells and write only themselves; when they are
    updated, each writes its own cell. Births write dead cells around as well."""

    cell: Cell

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        cell.agent = self

    def is_alive(self) -> bool: ...
    def state(self) -> i32: ...
    def prepare(self) -> None: ...
    def update_checksum(self, counters: oa.Array[i32]) -> None: ...


class Candidate(Agent):
    """On a dead cell that may come to life, as something near it changes."""

    action: i32

    def is_alive(self) -> bool:
        return False

    def state(self) -> i32:
        return i32(rule.CANDIDATE)

    def prepare(self) -> None:
        """Decide whether to come to life, or to give up."""
        count = self.cell.live_neighbours()
        self.action = SPAWN if count == TO_BE_BORN else DIE if count == 0 else STAY

    def update(self) -> None:
        if self.action == STAY:
            return
        if self.action == SPAWN:
            Birth(self.cell)
        else:
            self.cell.agent = None
        oa.delete(self)

    def update_checksum(self, counters: oa.Array[i32]) -> None:
        oa.atomic_add(counters, CANDIDATES, 1)


class Alive(Agent):
    dies: bool

    def is_alive(self) -> bool:
        return True

    def state(self) -> i32:
        return i32(rule.ALIVE)

    def prepare(self) -> None:
        """Decide whether to die."""
        self.cell.is_new = False
        count = self.cell.live_neighbours()
        self.dies = count < FEWEST_TO_SURVIVE or count > MOST_TO_SURVIVE

    def update(self) -> None:
        if self.dies:
            Candidate(self.cell)
            oa.delete(self)

    def update_checksum(self, counters: oa.Array[i32]) -> None:
        oa.atomic_add(counters, LIVE, 1)


class Birth(oa.Object):
    """That a cell comes to life in this generation."""

    cell: Cell

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        cell.is_new = True

    def settle(self) -> None:
        """Let the cell live, put candidates on the dead cells around, and be over."""
        cell = self.cell
        Alive(cell)
        for place in range(8):
            neighbour = cell.neighbours[place]
            if neighbour is not None and neighbour.is_invited_by(cell):
                Candidate(neighbour)
        oa.delete(self)
