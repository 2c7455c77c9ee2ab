"""Cells with sugar, and the males and females that live on them.

Several agents may want to enter one cell: each asks it, the cell lets one of them in, and that one
moves, or has its child there. So a phase reads what the one before has written. Those who ask the
same are a chain: who is asked knows the last one, and each of them the one before. In which order
they came to it depends on the threads, so they are told apart by where they stand.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32, u32

from ..common.xorwow import Xorwow, seeded

NOBODY, MALE, FEMALE = 0, 1, 2
#: How far sugar spreads.
REACH = 2
CAPACITY, GROWTH, MOST_SPREADING = 3500, 50, 60
RIPE_AGE = 22


@oa.value
class Traits:
    """What agents inherit."""

    vision: i32
    max_age: i32
    endowment: i32
    metabolism: i32

    def mean(self, other: Traits) -> Traits:
        return Traits(
            (self.vision + other.vision) // 2,
            (self.max_age + other.max_age) // 2,
            (self.endowment + other.endowment) // 2,
            (self.metabolism + other.metabolism) // 2,
        )


class Land(oa.Object):
    """The cells, row by row. It ends at its borders."""

    width: i32
    height: i32
    cells: oa.Array[Cell]

    def at(self, x: i32, y: i32) -> Cell | None:
        if 0 <= x < self.width and 0 <= y < self.height:
            return self.cells[y * self.width + x]
        return None


class Cell(oa.Object):
    """``spreading`` is the sugar that it shares with its neighbours in this step; ``asked_by`` is
    the last agent who has asked to come here."""

    random: Xorwow
    agent: Agent | None
    asked_by: Agent | None
    x: i32
    y: i32
    growth: i32
    sugar: i32
    spreading: i32

    def draw(self, low: i32, limit: i32) -> i32:
        """A number from ``low`` on, below ``limit``."""
        self.random = self.random.next()
        return i32(self.random.bits() % u32(limit - low)) + low

    def uniform(self) -> f32:
        self.random = self.random.next()
        return self.random.uniform()

    def begin(self, land: Land) -> None:
        """Draw how sugar grows here, and who lives here at first."""
        luck = self.uniform()
        if luck <= 0.02:
            self.growth = GROWTH
        elif luck <= 0.04:
            self.growth = GROWTH // 2
        elif luck <= 0.08:
            self.growth = GROWTH // 4
        luck = self.uniform()
        vision = self.draw(1, 2)
        max_age = self.draw(66, 99)
        endowment = self.draw(50, 200)
        traits = Traits(vision, max_age, endowment, self.draw(26, 79))
        max_children = self.draw(2, 8)
        if luck < 0.12:
            Male(land, self, traits)
        elif luck < 0.27:
            Female(land, self, traits, max_children)

    def grow(self) -> None:
        """Sugar grows, or is lost if there is more than there can be; an eighth is to spread."""
        self.sugar += min(CAPACITY - self.sugar, self.growth)
        self.spreading = min(self.sugar // 8, MOST_SPREADING)
        self.sugar -= self.spreading

    def receive(self, land: Land) -> None:
        """Take an eighth of what each neighbour spreads, rounded down: the rest is lost."""
        received = 0
        for dx in range(-REACH, REACH + 1):
            for dy in range(-REACH, REACH + 1):
                cell = land.at(self.x + dx, self.y + dy)
                if cell is not None and cell is not self:
                    received += cell.spreading // 8
        self.sugar += received

    def let_one_in(self) -> None:
        """Give permission to one of those who have asked."""
        last = self.asked_by
        if last is not None:
            self.asked_by = None
            self.one_of(last).is_permitted = True

    def one_of(self, last: Agent) -> Agent:
        """One of those who have asked, each as likely as the others: they take part in the draw in
        the order of their cells."""
        count, rank = i32(0), i32(0)
        agent: Agent | None = last
        while agent is not None:
            if self.uniform() <= 1.0 / f32(count + 1):
                rank = count
            count += 1
            agent = agent.asked_before
        agent = last if count > 1 else None
        while agent is not None:
            if agent.rank_among(last) == rank:
                return agent
            agent = agent.asked_before
        return last

    def is_before(self, other: Cell) -> bool:
        """Column by column."""
        return self.x < other.x or (self.x == other.x and self.y < other.y)


class Agent(oa.Object):
    """``goal`` is the cell that it asks, for itself or for its child; ``asked_before`` is who asked
    that cell before it."""

    random: Xorwow
    cell: Cell
    goal: Cell | None
    asked_before: Agent | None
    traits: Traits
    age: i32
    sugar: i32
    is_permitted: bool

    def __init__(self, land: Land, cell: Cell, traits: Traits) -> None:
        self.random = seeded(u32(cell.draw(0, len(land.cells))))
        self.cell = cell
        self.traits = traits
        self.sugar = traits.endowment
        cell.agent = self

    def kind(self) -> i32: ...

    def as_bride(self) -> Female | None:
        """Herself, if males may ask her."""
        return None

    def children_left(self) -> i32:
        """How many more she may have."""
        return 0

    def takes(self, count: i32) -> bool:
        """Whether it prefers the last of ``count`` equal choices to those before."""
        self.random = self.random.next()
        return self.random.uniform() <= 1.0 / f32(count)

    def is_ready(self) -> bool:
        return self.age >= RIPE_AGE and self.sugar >= self.traits.endowment * 2 // 3

    def live(self) -> None:
        self.age += 1
        self.sugar -= self.traits.metabolism
        if self.age > self.traits.max_age or self.sugar <= 0:
            self.cell.agent = None
            oa.delete(self)

    def seek_sugar(self, land: Land) -> None:
        """Ask the free cell in sight with most sugar."""
        count, most = 0, 0
        here, vision = self.cell, self.traits.vision
        goal: Cell | None = None
        for dx in range(-vision, vision + 1):
            for dy in range(-vision, vision + 1):
                cell = land.at(here.x + dx, here.y + dy)
                if cell is not None and cell.agent is None:
                    if cell.sugar > most:
                        goal, most, count = cell, cell.sugar, 1
                    elif cell.sugar == most:
                        count += 1
                        if self.takes(count):
                            goal = cell
        self.ask(goal)

    def ask(self, goal: Cell | None) -> None:
        self.goal = goal
        if goal is not None:
            self.asked_before = oa.atomic_exch(goal, "asked_by", self)

    def rank_among(self, last: Agent) -> i32:
        """How many of those who ask the same cell stand before it."""
        rank = i32(0)
        agent: Agent | None = last
        while agent is not None:
            if agent.cell.is_before(self.cell):
                rank += 1
            agent = agent.asked_before
        return rank

    def move(self) -> None:
        """Go to the goal, if permitted, and take all sugar of the cell."""
        goal = self.goal
        if goal is not None and self.is_permitted:
            self.cell.agent = None
            self.cell = goal
            goal.agent = self
            self.is_permitted = False
        self.goal = None
        self.asked_before = None
        self.sugar += self.cell.sugar
        self.cell.sugar = 0


class Male(Agent):
    """``rival`` is who asked his bride before him."""

    bride: Female | None
    rival: Male | None
    is_accepted: bool

    def kind(self) -> i32:
        return MALE

    def court(self, land: Land) -> None:
        """Ask the female in sight with most sugar."""
        if not self.is_ready():
            return
        most = -1
        here, vision = self.cell, self.traits.vision
        bride: Female | None = None
        for dx in range(-vision, vision + 1):
            for dy in range(-vision, vision + 1):
                cell = land.at(here.x + dx, here.y + dy)
                if cell is not None and cell.agent is not None:
                    female = cell.agent.as_bride()
                    if female is not None and female.sugar > most:
                        bride, most = female, female.sugar
        if bride is not None:
            self.bride = bride
            self.rival = oa.atomic_exch(bride, "suitor", self)

    def is_preferred_to(self, other: Male) -> bool:
        """Who has more sugar, or as much and stands before the other one."""
        if self.sugar != other.sugar:
            return self.sugar > other.sugar
        return self.cell.is_before(other.cell)

    def seek_room(self, land: Land) -> None:
        """Ask a free cell in sight to take the child, each as likely as the others."""
        if not self.is_accepted:
            return
        count = 0
        here, vision = self.cell, self.traits.vision
        goal: Cell | None = None
        for dx in range(-vision, vision + 1):
            for dy in range(-vision, vision + 1):
                cell = land.at(here.x + dx, here.y + dy)
                if cell is not None and cell.agent is None:
                    count += 1
                    if self.takes(count):
                        goal = cell
        self.ask(goal)

    def have_child(self, land: Land) -> None:
        """Put a child onto the goal, if permitted; each parent gives it half of what he or she had
        at birth."""
        mother, goal = self.bride, self.goal
        if mother is not None and goal is not None and self.is_permitted:
            mother.children += 1
            self.sugar -= self.traits.endowment // 2
            mother.sugar -= mother.traits.endowment // 2
            traits = self.traits.mean(mother.traits)
            self.random = self.random.next()
            if self.random.uniform() <= 0.5:
                Male(land, goal, traits)
            else:
                Female(land, goal, traits, mother.max_children)
            self.is_permitted = False
        self.is_accepted = False
        self.bride = None
        self.rival = None
        self.goal = None
        self.asked_before = None


class Female(Agent):
    """``suitor`` is the last male who has asked her."""

    suitor: Male | None
    children: i32
    max_children: i32

    def __init__(self, land: Land, cell: Cell, traits: Traits, max_children: i32) -> None:
        super().__init__(land, cell, traits)
        self.max_children = max_children

    def kind(self) -> i32:
        return FEMALE

    def as_bride(self) -> Female | None:
        return self if self.is_ready() else None

    def children_left(self) -> i32:
        return self.max_children - self.children

    def accept_one(self) -> None:
        """Accept the male with most sugar of those who ask her."""
        suitor = self.suitor
        if suitor is None:
            return
        self.suitor = None
        if self.children_left() <= 0:
            return
        chosen = suitor
        while suitor is not None:
            if suitor.is_preferred_to(chosen):
                chosen = suitor
            suitor = suitor.rival
        chosen.is_accepted = True
