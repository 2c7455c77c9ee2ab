"""Wealth in plain Python, written from the rules alone; it shares nothing with the program."""

from __future__ import annotations


def first_word(counter: list[int], key: list[int]) -> int:
    """Of Philox4x32-10 of Salmon et al., from four words of counter and two of key."""
    mask = (1 << 32) - 1
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [b >> 32 ^ counter[1] ^ key[0], b & mask, a >> 32 ^ counter[3] ^ key[1], a & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return counter[0]


class People:
    def __init__(self, count: int, seed: int) -> None:
        self.seed, self.step_number = seed, 0
        self.wealth = [1] * count

    def step(self) -> None:
        self.step_number += 1
        count = len(self.wealth)
        for giver in [person for person in range(count) if self.wealth[person] > 0]:
            others = [person for person in range(count) if person != giver]
            word = first_word([giver, 0, self.step_number, 0], [self.seed, 0])
            self.wealth[giver] -= 1
            self.wealth[others[word * len(others) >> 32]] += 1

    def gini(self) -> float:
        """Half of the mean difference of two people, as a part of the mean wealth."""
        count = len(self.wealth)
        differences = sum(abs(a - b) for a in self.wealth for b in self.wealth)
        return differences / (2 * count * sum(self.wealth))
