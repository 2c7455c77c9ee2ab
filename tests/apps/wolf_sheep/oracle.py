"""Wolf and sheep in plain Python, written from the rules alone; it shares nothing with the program.

Animals are kept by id, and where several want one thing, the lowest id gets it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..philox import philox

MASK = (1 << 32) - 1


@dataclass
class Animal:
    id: int
    cell: int
    energy: float


class Pasture:
    def __init__(self, width: int, height: int, seed: int) -> None:
        self.width, self.height, self.seed = width, height, seed
        self.step_number = 0
        cells = width * height
        self.countdown = [
            0 if self.number(cell, 5, 2) == 0 else 1 + self.number(cell, 6, 20)
            for cell in range(cells)
        ]
        sheep, wolves = cells * 12 // 125, cells * 8 // 125
        self.sheep = {id: self.first(id, 10) for id in range(sheep)}
        self.wolves = {id: self.first(id, 26) for id in range(sheep, sheep + wolves)}

    def first(self, id: int, energies: int) -> Animal:
        cell = self.number(id, 3, self.width * self.height)
        return Animal(id, cell, 1.0 + self.number(id, 4, energies))

    def words(self, id: int, purpose: int) -> list[int]:
        counter = [id & MASK, id >> 32, self.step_number, purpose]
        return philox(counter, [self.seed & MASK, self.seed >> 32])

    def number(self, id: int, purpose: int, bound: int) -> int:
        return self.words(id, purpose)[0] * bound >> 32

    def around(self, cell: int) -> list[int]:
        """The cell itself, then the eight others in rows."""
        x, y = cell % self.width, cell // self.width
        ways = [(dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy]
        return [
            (y + dy) % self.height * self.width + (x + dx) % self.width
            for dx, dy in [(0, 0), *ways]
        ]

    def step(self) -> None:
        self.step_number += 1
        self.walk(self.sheep)
        grazed = set()
        for _, sheep in sorted(self.sheep.items()):
            if self.countdown[sheep.cell] == 0 and sheep.cell not in grazed:
                grazed.add(sheep.cell)
                sheep.energy += 5
        for cell in grazed:
            self.countdown[cell] = 20
        self.die_or_breed(self.sheep, 1.0, 0.2)
        self.walk(self.wolves)
        hungry = sorted(self.wolves)
        for turn in range(2):
            hungry = self.hunt(hungry, turn)
        self.die_or_breed(self.wolves, 0.0, 0.1)
        self.countdown = [max(0, left - 1) for left in self.countdown]

    def walk(self, animals: dict[int, Animal]) -> None:
        for id, animal in animals.items():
            animal.cell = self.around(animal.cell)[1 + self.number(id, 0, 8)]
            animal.energy -= 1

    def die_or_breed(self, animals: dict[int, Animal], least: float, often: float) -> None:
        for id, animal in list(animals.items()):
            if animal.energy < least:
                del animals[id]
            elif self.words(id, 1)[0] < round(often * 2**32):
                animal.energy /= 2
                low, high = self.words(id, 2)[:2]
                child = high << 32 | low
                assert child not in self.sheep and child not in self.wolves
                animals[child] = Animal(child, animal.cell, animal.energy)

    def hunt(self, hungry: list[int], turn: int) -> list[int]:
        """Each hungry wolf, in the order of ids, goes for the lowest sheep on a cell around it,
        unless a wolf before it got that one. Those that stay hungry are returned."""
        seen: dict[int, int] = {}
        for id, sheep in sorted(self.sheep.items()):
            seen.setdefault(sheep.cell, id)
        still_hungry = []
        for id in hungry:
            cells = [cell for cell in self.around(self.wolves[id].cell) if cell in seen]
            goal = cells[self.number(id, 7 + turn, len(cells))] if cells else -1
            if goal != -1 and seen[goal] in self.sheep:
                del self.sheep[seen[goal]]
                self.wolves[id].energy += 13
            else:
                still_hungry.append(id)
        return still_hungry
