"""Schelling's model in plain Python, written from the rules alone; it shares nothing with the
program."""

from __future__ import annotations

from ..philox import philox


class Town:
    def __init__(self, width: int, height: int, seed: int) -> None:
        self.width, self.height, self.seed = width, height, seed
        self.step_number = self.moves = self.busy_steps = 0
        cells = sorted(range(width * height), key=lambda cell: (self.word(cell, 0), cell))
        self.reds = width * height * 5 // 16
        #: The cell of each person; the free ones in the order in which they are drawn from.
        self.places, self.free = cells[: 2 * self.reds], cells[2 * self.reds :]

    def word(self, number: int, purpose: int) -> int:
        return philox([number, 0, self.step_number, purpose], [self.seed, 0])[0]

    def likes(self, person: int, living: dict[int, int]) -> int:
        """How many neighbours are of the person's own group."""
        x, y = self.places[person] % self.width, self.places[person] // self.width
        count = 0
        for b in range(max(0, y - 1), min(self.height, y + 2)):
            for a in range(max(0, x - 1), min(self.width, x + 2)):
                other = living.get(b * self.width + a)
                if other is not None and other != person:
                    count += (other < self.reds) == (person < self.reds)
        return count

    def step(self) -> None:
        self.step_number += 1
        living = {cell: person for person, cell in enumerate(self.places)}
        unhappy = [person for person in range(2 * self.reds) if self.likes(person, living) < 3]
        taken: dict[int, int] = {}
        for person in unhappy:
            taken.setdefault(self.word(person, 1) * len(self.free) >> 32, person)
        for slot, person in taken.items():
            self.places[person], self.free[slot] = self.free[slot], self.places[person]
        self.moves += len(taken)
        self.busy_steps += bool(taken)

    def counts(self) -> dict[str, int]:
        return {
            "people": 2 * self.reds,
            "moves": self.moves,
            "steps with moves": self.busy_steps,
        }
