"""An epidemic among children, adults and old people, who differ in constants and in one method.

The oracle is NumPy with the same random numbers: every person is in the same state at the end.
"""

import argparse
from typing import ClassVar

import numpy as np

import sharedoa as oa
from sharedoa import i32, u64

SUSCEPTIBLE, INFECTED, RECOVERED = range(3)
SEED = 11


class Person(oa.Object):
    RISK: ClassVar[float] = 0.05  # to be infected, by a contact a day
    DAYS: ClassVar[int] = 7

    id: u64
    state: i32 = SUSCEPTIBLE
    next_state: i32 = SUSCEPTIBLE
    sick_for: i32
    contacts: oa.Array["Person"]

    def meets(self, day: i32) -> bool:
        return True

    def plan(self, day: i32) -> None:
        self.next_state = self.state
        if self.state == SUSCEPTIBLE and self.meets(day):
            sick = sum(1 for other in self.contacts if other.state == INFECTED)
            if oa.random(SEED, day, self.id) < 1.0 - (1.0 - self.RISK) ** sick:
                self.next_state = INFECTED
        elif self.state == INFECTED:
            self.sick_for += 1
            if self.sick_for == self.DAYS:
                self.next_state = RECOVERED

    def become(self, day: i32, history: oa.Array2[i32]) -> None:
        self.state = self.next_state
        oa.atomic_add(history, (day, self.state), 1)


class Child(Person):
    RISK = 0.08
    DAYS = 4

    def meets(self, day: i32) -> bool:
        return day % 7 < 5  # school


class Elder(Person):
    RISK = 0.1
    DAYS = 12


def expected(kinds: np.ndarray, friends: np.ndarray, state: np.ndarray, days: int) -> np.ndarray:
    risk, length = np.array([0.08, 0.05, 0.1])[kinds], np.array([4, 7, 12])[kinds]
    sick_for = np.zeros(len(kinds), int)
    for day in range(days):
        sick = (state[friends] == INFECTED).sum(axis=1)
        draw = oa.random(SEED, day, np.arange(len(kinds)))
        caught = (state == SUSCEPTIBLE) & (draw < 1.0 - (1.0 - risk) ** sick)
        caught &= (kinds != 0) | (day % 7 < 5)
        sick_for += state == INFECTED
        over = (state == INFECTED) & (sick_for == length)
        state = np.where(caught, INFECTED, np.where(over, RECOVERED, state))
    return state


def main(size: int = 100_000, days: int = 60, plot: str = "") -> None:
    rng = np.random.default_rng(2)
    kinds = np.sort(rng.choice(3, size, p=(0.2, 0.6, 0.2)))
    friends = rng.integers(0, size, (size, 8))
    state = (rng.random(size) < 0.01).astype(np.int32)
    children, adults, elders = np.bincount(kinds, minlength=3)
    people = oa.concat(oa.new(Child, children), oa.new(Person, adults), oa.new(Elder, elders))
    people.id = np.arange(size)
    people.contacts = oa.split(people[friends.ravel()], np.full(size, 8))
    people.state = state
    history = oa.zeros((days, 3), i32)
    for day in range(days):
        people.plan(day)
        people.become(day, history)
    print(" day  susceptible  infected  recovered")
    for day in range(0, days, max(days // 10, 1)):
        print("{:4} {:12} {:9} {:10}".format(day, *history[day]))
    np.testing.assert_array_equal(people.state, expected(kinds, friends, state, days))
    print(f"each of {size} people fares as in NumPy")
    if plot:
        import matplotlib.pyplot as plt

        plt.plot(history.numpy(), label=("susceptible", "infected", "recovered"))
        plt.legend()
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))
