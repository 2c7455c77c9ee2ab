"""People, and what they have."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import u32, u64

from ..common.counter_random import below, draw

#: What random numbers are drawn for.
CHOOSE = 0


class Person(oa.Object):
    """``number`` is its own place among all; what it is given counts from the next step on."""

    number: u32
    wealth: u32
    received: u32

    def choose(self, count: u32, seed: u64, step: u32) -> u32:
        """The number of one of the ``count - 1`` others."""
        other = below(draw(seed, step, u64(self.number), CHOOSE), count - 1)
        return other if other < self.number else other + 1

    def give(self, people: oa.Array[Person], seed: u64, step: u32) -> None:
        """Who has some gives 1 to somebody else."""
        if self.wealth > 0:
            other = people[self.choose(u32(len(people)), seed, step)]
            oa.atomic_add(other, "received", 1)

    def settle(self) -> None:
        """Who has some has given 1 away."""
        if self.wealth > 0:
            self.wealth -= 1
        self.wealth += self.received
        self.received = u32(0)
