"""Agents and cells: fields and virtual methods of the artifact.

With a header of 8 bytes an agent and a cell have 32 bytes each.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

#: Kinds of agents.
ALIVE, CANDIDATE, NO_KIND = 0, 1, 2
#: What an agent is about to do.
NO_ACTION, DIE, SPAWN = 0, 1, 2


class AgentV(oa.Object, layout="aos", unordered=("type_",)):
    """Something alive or decaying, or something that may come to life. Who
    looks at one asks for most of its fields, which lie side by side."""

    cell_id_: i32
    type_: i32
    is_new_: bool
    action_: i32
    #: Of what is alive: 0, or how long it has been decaying.
    state_: i32

    def isAlive(self) -> bool: ...
    def isCandidate(self) -> bool: ...
    def is_new(self) -> bool: ...
    def set_is_new(self, value: bool) -> None: ...
    def set_action(self, action: i32) -> None: ...
    def get_action(self) -> i32: ...
    def cell_id(self) -> i32: ...
    def is_state_equal(self, state: i32) -> bool: ...
    def set_state(self, state: i32) -> None: ...
    def inc_state(self) -> None: ...
    def is_state_in_range(self, low: i32, high: i32) -> bool: ...
    def update_checksum(self, counters: oa.Array[i32]) -> None: ...


class Agent(AgentV):
    def isAlive(self) -> bool:
        return self.type_ == ALIVE

    def isCandidate(self) -> bool:
        return self.type_ == CANDIDATE

    def is_new(self) -> bool:
        return self.is_new_

    def set_is_new(self, value: bool) -> None:
        self.is_new_ = value

    def set_action(self, action: i32) -> None:
        self.action_ = action

    def get_action(self) -> i32:
        return self.action_

    def cell_id(self) -> i32:
        return self.cell_id_

    def is_state_equal(self, state: i32) -> bool:
        return self.state_ == state

    def set_state(self, state: i32) -> None:
        self.state_ = state

    def inc_state(self) -> None:
        self.state_ += 1

    def is_state_in_range(self, low: i32, high: i32) -> bool:
        """Whether the state lies between the two, and is neither."""
        return low < self.state_ and self.state_ < high

    def update_checksum(self, counters: oa.Array[i32]) -> None:
        """Add this agent to the number of agents."""
        if self.type_ == ALIVE or self.type_ == CANDIDATE:
            oa.atomic_add(counters, 0, 1)


class CellV(oa.Object, unordered=("agent_",)):
    """A place for one agent, which is empty when ``agent_`` is null."""

    agent_: AgentV | None
    private_agent: AgentV
    #: 1 while a candidate is made of an empty cell, until that dies.
    reserved: i32

    def agent(self) -> AgentV | None: ...
    def set_agent(self, cell_id: i32, kind: i32) -> None: ...
    def delete_agent(self) -> None: ...
    def is_empty(self) -> bool: ...


class Cell(CellV):
    def agent(self) -> AgentV | None:
        return self.agent_

    def set_agent(self, cell_id: i32, kind: i32) -> None:
        """Make the cell's own agent a new one of that kind."""
        agent = self.private_agent
        agent.cell_id_ = cell_id
        agent.type_ = kind
        agent.is_new_ = True
        agent.action_ = NO_ACTION
        agent.state_ = 0
        self.agent_ = agent

    def delete_agent(self) -> None:
        self.agent_ = None

    def is_empty(self) -> bool:
        return self.agent_ is None
