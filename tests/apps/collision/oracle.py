"""Collision in NumPy and Python, written from the rules alone; it shares nothing with the program.

Bodies that are gone do not exist here: numbers, places, speeds and masses are of those left, in the
order of their numbers."""

from __future__ import annotations

import numpy as np

from ..nbody.oracle import F, first_state, moved, pulls


class Crowd:
    def __init__(self, count: int, contact: float, seed: int) -> None:
        self.numbers = np.arange(count)
        self.contact = F(contact)
        self.places, self.speeds, self.masses = first_state(seed, count, 75)
        #: What happened in the last step: bodies that were asked by several others, bodies whose
        #: goal had a goal itself, and bodies that became part of another one.
        self.contested = self.waiting = self.merged = 0

    def step(self) -> None:
        pull = pulls(self.places, self.places, self.masses)
        self.places, self.speeds = moved(self.places, self.speeds, pull, 0.05)
        askers: dict[int, list[int]] = {}
        for body in range(len(self.masses)):
            asked = self.nearest_heavier(body)
            if asked is not None:
                askers.setdefault(asked, []).append(body)
        pairs = [(asked, min(those)) for asked, those in askers.items()]
        merging = [(asked, asker) for asked, asker in pairs if asker not in askers]
        self.contested = sum(len(those) > 1 for those in askers.values())
        self.waiting, self.merged = len(pairs) - len(merging), len(merging)
        for asked, asker in merging:
            self.merge(asked, asker)
        left = np.ones(len(self.masses), bool)
        left[[asked for asked, _ in merging]] = False
        self.numbers, self.masses = self.numbers[left], self.masses[left]
        self.places, self.speeds = self.places[left], self.speeds[left]

    def nearest_heavier(self, body: int) -> int | None:
        """Of equally near ones the first."""
        away = self.places - self.places[body]
        squares = away[:, 0] ** 2 + away[:, 1] ** 2
        able = (self.masses > self.masses[body]) & (squares < self.contact**2)
        candidates = np.flatnonzero(able)
        return int(candidates[squares[candidates].argmin()]) if len(candidates) else None

    def merge(self, gone: int, stays: int) -> None:
        one, two = self.masses[gone], self.masses[stays]
        both = self.speeds[gone] * one + self.speeds[stays] * two
        self.masses[stays] = one + two
        self.speeds[stays] = both / (one + two)
        self.places[stays] = (self.places[gone] + self.places[stays]) / F(2)
