"""Agents and cells: fields and virtual methods of the artifact.

With a header of 8 bytes an agent has 24 bytes and a cell 32.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

#: Kinds of agents.
ALIVE, CANDIDATE, NO_KIND = 0, 1, 2
#: What an agent is about to do.
NO_ACTION, DIE, SPAWN = 0, 1, 2


class AgentV(oa.Object, layout="aos", unordered=("type_",)):
    """Something alive, or something that may come to life. Who looks at one
    asks for most of its fields, which lie side by side."""

    cell_id_: i32
    type_: i32
    is_new_: bool
    action_: i32

    def isAlive(self) -> bool: ...
    def isCandidate(self) -> bool: ...
    def is_new(self) -> bool: ...
    def set_is_new(self, value: bool) -> None: ...
    def set_action(self, action: i32) -> None: ...
    def get_action(self) -> i32: ...
    def cell_id(self) -> i32: ...
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

    def update_checksum(self, counters: oa.Array[i32]) -> None:
        """Add this agent to the number of its kind."""
        oa.atomic_add(counters, self.type_, 1)


class CellV(oa.Object, unordered=("agent_",)):
    """A place for one agent, which is empty when ``agent_`` is null."""

    agent_: AgentV | None
    private_agent: AgentV
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
        # The artifact makes candidates new, too. Nobody may ask them, and so a dying agent is never
        # seen alive and new while it becomes one.
        agent.is_new_ = kind == ALIVE
        agent.action_ = NO_ACTION
        self.agent_ = agent

    def delete_agent(self) -> None:
        self.agent_ = None

    def is_empty(self) -> bool:
        return self.agent_ is None
