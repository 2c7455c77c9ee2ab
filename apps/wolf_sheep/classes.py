"""Cells of grass, and the sheep and wolves on them, of which any number may stand on one cell.

Where several animals want one thing, the lowest id gets it. So each says what it wants in one phase
(an atomic minimum), and what comes of it is read in the next: no order of threads matters.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f64, u32, u64

from ..common.counter_random import below, draw, draw_id, threshold

REGROWTH = 20
#: Energy of a meal.
GRASS, SHEEP = 5.0, 13.0
#: How often a wolf may try to catch a sheep in one step.
TURNS = 2
#: What random numbers are drawn for; ``HUNT + turn`` comes last.
WALK, BREED, NEW_ID, START_PLACE, START_ENERGY, START_GRASS, START_COUNTDOWN, HUNT = range(8)
SHEEP_BREED, WOLVES_BREED = threshold(0.2), threshold(0.1)
#: Higher than all ids.
NOBODY = (1 << 64) - 1


class Clock(oa.Object):
    """What random numbers are drawn by, beside who draws one and what for."""

    seed: u64
    step: u32

    def tick(self) -> None:
        self.step += 1


class Cell(oa.Object):
    """``around`` it are nine cells, of which the first is itself. Its grass is grown when
    ``countdown`` is 0. ``grazer`` is the sheep that may eat it, ``prey`` the sheep here that wolves
    see, ``hunter`` the wolf that gets it: ids."""

    around: oa.inline[Cell, 9]
    countdown: u32
    grazer: u64
    prey: u64
    hunter: u64

    def forget_hunt(self) -> None:
        self.prey = NOBODY
        self.hunter = NOBODY

    def grow(self) -> None:
        """What a sheep has eaten begins to grow again."""
        if self.countdown == 0 and self.grazer != NOBODY:
            self.countdown = u32(REGROWTH)
        if self.countdown > 0:
            self.countdown -= 1
        self.grazer = NOBODY
        self.forget_hunt()


class Animal(oa.Object):
    id: u64
    place: Cell
    energy: f64

    def least_energy(self) -> f64: ...
    def breeding(self) -> u32: ...
    def arrive(self) -> None: ...
    def end_hunt(self) -> None: ...
    def bear(self, id: u64) -> None: ...

    def walk(self, clock: Clock) -> None:
        """Go to one of the eight cells around."""
        self.place = self.place.around[1 + below(draw(clock.seed, clock.step, self.id, WALK), 8)]
        self.energy -= 1.0
        self.arrive()

    def live(self, clock: Clock) -> None:
        """Die of hunger, or perhaps share the energy with a young one."""
        if self.energy < self.least_energy():
            oa.delete(self)
        elif draw(clock.seed, clock.step, self.id, BREED) < self.breeding():
            self.energy *= 0.5
            self.bear(draw_id(clock.seed, clock.step, self.id, NEW_ID))


class Sheep(Animal):
    def least_energy(self) -> f64:
        return 1.0

    def breeding(self) -> u32:
        return SHEEP_BREED

    def arrive(self) -> None:
        oa.atomic_min(self.place, "grazer", self.id)

    def live(self, clock: Clock) -> None:
        if self.place.countdown == 0 and self.place.grazer == self.id:
            self.energy += GRASS
        super().live(clock)

    def bear(self, id: u64) -> None:
        oa.new(Sheep, id=id, place=self.place, energy=self.energy)

    def appear(self) -> None:
        """Be seen by wolves, if no other sheep here is."""
        oa.atomic_min(self.place, "prey", self.id)

    def end_hunt(self) -> None:
        if self.place.prey == self.id and self.place.hunter != NOBODY:
            oa.delete(self)


class Wolf(Animal):
    """``goal`` is where it hunts now."""

    goal: Cell | None
    is_fed: bool

    def least_energy(self) -> f64:
        return 0.0

    def breeding(self) -> u32:
        return WOLVES_BREED

    def arrive(self) -> None:
        self.is_fed = False

    def bear(self, id: u64) -> None:
        oa.new(Wolf, id=id, place=self.place, energy=self.energy)

    def hunt(self, clock: Clock, turn: u32) -> None:
        """Choose one of the cells around on which there is a sheep."""
        self.goal = None
        if self.is_fed:
            return
        place, count = self.place, u32(0)
        for k in range(9):
            if place.around[k].prey != NOBODY:
                count += 1
        if count == 0:
            return
        left = below(draw(clock.seed, clock.step, self.id, HUNT + turn), count)
        for k in range(9):
            cell = place.around[k]
            if cell.prey != NOBODY:
                if left == 0:
                    self.goal = cell
                    oa.atomic_min(cell, "hunter", self.id)
                left -= 1

    def end_hunt(self) -> None:
        goal = self.goal
        if goal is not None and goal.hunter == self.id:
            self.energy += SHEEP
            self.is_fed = True
