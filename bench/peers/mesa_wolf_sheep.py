"""``apps/wolf_sheep`` as one writes it with Mesa 3: the same pasture, numbers and steps, where
animals act one after another in random order. Grass is a property layer, an array for all cells,
which is the fastest form that Mesa has."""

from __future__ import annotations

import math

from mesa import Model
from mesa.discrete_space import CellAgent, OrthogonalMooreGrid

REGROWTH = 20


class Animal(CellAgent):
    def __init__(self, model, energy, cell):
        super().__init__(model)
        self.energy = energy
        self.cell = cell

    def step(self):
        self.cell = self.cell.neighborhood.select_random_cell()
        self.energy -= 1
        self.feed()
        if self.energy < self.least_energy:
            self.remove()
        elif self.random.random() < self.breeding:
            self.energy /= 2
            type(self)(self.model, self.energy, self.cell)


class Sheep(Animal):
    least_energy, breeding, meal = 1, 0.2, 5

    def feed(self):
        if self.cell.countdown == 0:
            self.cell.countdown = REGROWTH
            self.energy += self.meal


class Wolf(Animal):
    least_energy, breeding, meal = 0, 0.1, 13

    def feed(self):
        around = [self.cell, *self.cell.neighborhood]
        flocks = [[each for each in cell.agents if isinstance(each, Sheep)] for cell in around]
        flocks = [flock for flock in flocks if flock]
        if flocks:
            self.random.choice(self.random.choice(flocks)).remove()
            self.energy += self.meal


class Simulation(Model):
    """``agents`` animals at first, 3 sheep for 2 wolves."""

    def __init__(self, agents, seed):
        super().__init__(seed=seed)
        side = round(math.sqrt(agents / 0.16))
        self.grid = OrthogonalMooreGrid((side, side), torus=True, random=self.random)
        count = side * side
        grass = self.rng.integers(1, REGROWTH, (side, side), endpoint=True)
        grass[self.rng.random((side, side)) < 0.5] = 0
        self.grid.create_property_layer("countdown", default_value=0, dtype=int)
        self.grid.countdown.data = grass
        for kind, share in ((Sheep, 12), (Wolf, 8)):
            number = count * share // 125
            energies = self.rng.integers(1, 2 * kind.meal, number, endpoint=True).tolist()
            cells = self.random.choices(self.grid.all_cells.cells, k=number)
            kind.create_agents(self, number, energies, cells)

    def step(self):
        self.agents_by_type[Sheep].shuffle_do("step")
        self.agents_by_type[Wolf].shuffle_do("step")
        grass = self.grid.countdown.data
        grass[grass > 0] -= 1

    def counts(self):
        return {
            "sheep": len(self.agents_by_type[Sheep]),
            "wolves": len(self.agents_by_type[Wolf]),
            "grown cells": int((self.grid.countdown.data == 0).sum()),
        }
