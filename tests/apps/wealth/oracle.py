"""Wealth in plain Python, written from the rules alone; it shares nothing with the program."""

from __future__ import annotations

from ..philox import philox


class People:
    def __init__(self, count: int, seed: int) -> None:
        self.seed, self.step_number = seed, 0
        self.wealth = [1] * count

    def step(self) -> None:
        self.step_number += 1
        count = len(self.wealth)
        for giver in [person for person in range(count) if self.wealth[person] > 0]:
            others = [person for person in range(count) if person != giver]
            word = philox([giver, 0, self.step_number, 0], [self.seed, 0])[0]
            self.wealth[giver] -= 1
            self.wealth[others[word * len(others) >> 32]] += 1

    def gini(self) -> float:
        """Half of the mean difference of two people, as a part of the mean wealth."""
        count = len(self.wealth)
        differences = sum(abs(a - b) for a in self.wealth for b in self.wealth)
        return differences / (2 * count * sum(self.wealth))
