"""Cells, and the fish and sharks that live on them.

Several agents may want to enter one cell: each asks it, the cell chooses one of them, and that one
moves. So a phase reads what the one before has written, and no two threads write one thing.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32, u8, u32

from ..common.xorwow import Xorwow, seeded

#: An agent that is older when it moves leaves a young one behind.
BREEDING_AGE = 4
FIRST_ENERGY, ENERGY_OF_FISH = 2, 4
EMPTY, FISH, SHARK = 0, 1, 2


class Cell(oa.Object):
    """Its ``neighbours`` are to the left, above, to the right and below; those whose agents have
    ``asked`` to come here are marked."""

    random: Xorwow
    agent: Agent | None
    neighbours: oa.inline[Cell, 4]
    asked: oa.inline[u8, 4]

    def draw(self) -> u32:
        self.random = self.random.next()
        return self.random.bits()

    def begin(self) -> None:
        """Draw who lives here at first."""
        kind = self.draw() % 4
        if kind == 0:
            Fish(self.draw(), self)
        elif kind == 1:
            Shark(self.draw(), self)

    def choose(self) -> None:
        """Let one of those in that have asked."""
        count = u32(0)
        for direction in range(4):
            count += u32(self.asked[direction])
        if count == 0:
            return
        left = self.draw() % count
        for direction in range(4):
            if self.asked[direction] != 0:
                if left == 0:
                    self.neighbours[direction].agent.goal = self
                left -= 1
                self.asked[direction] = 0


class Agent(oa.Object):
    """``age`` since it last had young; ``goal`` is the cell that it may enter."""

    random: Xorwow
    age: u32
    place: Cell
    goal: Cell

    def __init__(self, seed: u32, place: Cell) -> None:
        self.random = seeded(seed)
        self.age = first_age(seed)
        self.place = place
        self.goal = place
        place.agent = self

    def draw(self) -> u32:
        self.random = self.random.next()
        return self.random.bits()

    def kind(self) -> i32: ...
    def energy_left(self) -> u32: ...
    def seek(self) -> None: ...
    def move(self) -> None: ...
    def bear(self, place: Cell) -> None: ...

    def ask(self, kind: i32) -> bool:
        """Ask one of the neighbouring cells with such an agent, or with none, if there is any."""
        place, count = self.place, u32(0)
        for direction in range(4):
            if kind_on(place.neighbours[direction]) == kind:
                count += 1
        if count == 0:
            return False
        left = self.draw() % count
        for direction in range(4):
            cell = place.neighbours[direction]
            if kind_on(cell) == kind:
                if left == 0:
                    cell.asked[(direction + 2) % 4] = u8(1)
                left -= 1
        return True

    def enter(self) -> None:
        """Go to the goal; who is old enough leaves a young one where it was."""
        before = self.place
        before.agent = None
        self.place = self.goal
        self.place.agent = self
        if self.age > BREEDING_AGE:
            self.age = u32(0)
            self.bear(before)


class Fish(Agent):
    def kind(self) -> i32:
        return FISH

    def energy_left(self) -> u32:
        return u32(0)

    def seek(self) -> None:
        self.age += 1
        self.goal = self.place
        self.ask(EMPTY)

    def move(self) -> None:
        if self.goal is not self.place:
            self.enter()

    def bear(self, place: Cell) -> None:
        Fish(self.draw(), place)


class Shark(Agent):
    energy: u32

    def __init__(self, seed: u32, place: Cell) -> None:
        super().__init__(seed, place)
        self.energy = u32(FIRST_ENERGY)

    def kind(self) -> i32:
        return SHARK

    def energy_left(self) -> u32:
        return self.energy

    def seek(self) -> None:
        self.age += 1
        self.energy -= 1
        self.goal = self.place
        if self.energy > 0 and not self.ask(FISH):
            self.ask(EMPTY)

    def move(self) -> None:
        if self.energy == 0:
            self.place.agent = None
            oa.delete(self)
        elif self.goal is not self.place:
            if oa.delete(self.goal.agent):
                self.energy += ENERGY_OF_FISH
            self.enter()

    def bear(self, place: Cell) -> None:
        Shark(self.draw(), place)


@oa.func
def kind_on(cell: Cell) -> i32:
    agent = cell.agent
    return EMPTY if agent is None else agent.kind()


@oa.func
def first_age(seed: u32) -> u32:
    """The remainder of the seed by 4 as C has it for signed numbers: negative ones have negative
    remainders, which are large ages here."""
    return seed % 4 if seed < 0x80000000 else u32(0) - (u32(0) - seed) % 4
