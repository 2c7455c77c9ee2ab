"""Circles in NumPy on f32, every circle compared with every other one; written from the rules
alone, it shares nothing with the program and is equal to it to the last bit."""

from __future__ import annotations

import numpy as np

from ..space import Array, Cells, F, length, numbered, share

#: Of t, t^3 and so on, in the sine of 2 pi t.
SINE = [6.283183, -41.34142, 81.596184, -76.5801, 41.205394, -12.271259]


def wave(x: np.float32) -> np.float32:
    """The sine of -2 pi x."""
    t = x - F(0.5)
    found = F(0)
    for factor in reversed(SINE):
        found = found * (t * t) + F(factor)
    return t * found


class Circles:
    def __init__(self, count: int, side: float, seed: int) -> None:
        places = [
            np.array([share(circle, axis, seed) * F(side) for axis in range(3)])
            for circle in range(count)
        ]
        self.places = np.array(numbered(places, 2))
        self.pushes = np.zeros_like(self.places)
        self.cells = Cells(side, 2)
        self.near = 0

    def step(self) -> None:
        near = self.cells.near(self.places)
        self.near = sum(map(len, near)) - len(near)
        self.pushes = np.array([self.pushed(k, others) for k, others in enumerate(near)])
        self.places = self.places + self.pushes

    def pushed(self, circle: int, near: list[int]) -> Array:
        total = np.zeros(3, F)
        for other in near:
            if other == circle:
                continue
            offset = self.places[other] - self.places[circle]
            apart = length(offset)
            total = total + offset * (wave(apart / F(2)) * F(0.05) / apart)
        return total * (F(1) / F(len(near) - 1)) if len(near) > 1 else total
