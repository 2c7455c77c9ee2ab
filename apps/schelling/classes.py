"""Cells, and the people of two groups who live on them.

Several people may want to move to one cell: each puts the own number there (an atomic minimum), and
the lowest has it in the next phase.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import u32, u64

from ..common.counter_random import below, draw

#: Who has fewer neighbours of the own group moves.
CONTENT = 3
#: What random numbers are drawn for.
START, MOVE = 0, 1
#: Higher than all numbers of people.
NOBODY = (1 << 32) - 1


class Cell(oa.Object):
    """``wanted`` is the lowest number of those who want to move here."""

    neighbours: oa.inline[Cell, 8]
    resident: Person | None
    wanted: u32


class Person(oa.Object):
    """``goal`` is the free cell that it wants to move to, and ``slot`` that cell's place among the
    free ones."""

    number: u32
    place: Cell
    goal: Cell | None
    slot: u32

    def is_red(self) -> bool: ...

    def is_content(self) -> bool:
        like = 0
        for direction in range(8):
            cell = self.place.neighbours[direction]
            if cell is not None:
                other = cell.resident
                if other is not None and other.is_red() == self.is_red():
                    like += 1
        return like >= CONTENT

    def seek(self, free: oa.Array[Cell], seed: u64, step: u32) -> None:
        """Who is not content wants one of the free cells."""
        self.goal = None
        if not self.is_content():
            self.slot = below(draw(seed, step, u64(self.number), MOVE), u32(len(free)))
            self.goal = free[self.slot]
            oa.atomic_min(self.goal, "wanted", self.number)

    def move(self, free: oa.Array[Cell], moves: oa.Array[u64]) -> None:
        """Go to the goal, if no lower number wants it; the old cell is free in its stead."""
        goal = self.goal
        if goal is not None and goal.wanted == self.number:
            free[self.slot] = self.place
            self.place.resident = None
            self.place = goal
            goal.resident = self
            oa.atomic_add(moves, 0, 1)

    def settle(self) -> None:
        """Who has moved wants nothing any more."""
        if self.goal is self.place:
            self.place.wanted = u32(NOBODY)


class Red(Person):
    def is_red(self) -> bool:
        return True


class Blue(Person):
    def is_red(self) -> bool:
        return False
