"""``apps/schelling`` as one writes it with Mesa 3: the same town and rule, where people move one
after another in random order."""

from __future__ import annotations

import math

from mesa import Model
from mesa.discrete_space import CellAgent, OrthogonalMooreGrid

CONTENT = 3


class Person(CellAgent):
    def __init__(self, model, cell):
        super().__init__(model)
        self.cell = cell

    def step(self):
        kind, like = type(self), 0
        for cell in self.cell.neighborhood:
            for other in cell.agents:
                like += type(other) is kind
        if like < CONTENT:
            self.cell = self.model.grid.select_random_empty_cell()
            self.model.moves += 1


class Red(Person):
    pass


class Blue(Person):
    pass


class Simulation(Model):
    """``agents`` people, on 5 of 8 cells."""

    def __init__(self, agents, seed):
        super().__init__(seed=seed)
        height = round(math.sqrt(agents))
        width = agents * 8 // (5 * height)
        self.grid = OrthogonalMooreGrid(
            (height, width), torus=False, capacity=1, random=self.random
        )
        self.moves = 0
        group = width * height * 5 // 16
        cells = self.random.sample(self.grid.all_cells.cells, 2 * group)
        Red.create_agents(self, group, cells[:group])
        Blue.create_agents(self, group, cells[group:])

    def step(self):
        self.agents.shuffle_do("step")

    def counts(self):
        return {"people": len(self.agents), "moves": self.moves}
