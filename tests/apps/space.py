"""What the oracles of programs in space share, in NumPy on f32; none of it is sharedoa's.

Every operation is rounded as IEEE 754 says, and sums are made in the order that the programs
promise: by the cell of who is seen, from low to high z, y and then x, and then by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from .philox import philox

Array = np.ndarray[Any, Any]
F = np.float32


def share(agent: int, purpose: int, seed: int) -> np.float32:
    """From 0 to less than 1, of 24 random bits."""
    words = philox([agent, 0, 0, purpose], [seed & (1 << 32) - 1, seed >> 32])
    return F((words[0] >> 8) / 2**24)


def numbered(places: list[Array], edge: float) -> list[Array]:
    """In the order in which programs number what is at these places."""
    return sorted(places, key=lambda place: tuple((place // F(edge))[::-1]))


def length(vector: Array) -> np.float32:
    return np.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])


class Cells:
    """The cells of a cube from 0 to ``side``, with an edge of at least ``radius``."""

    def __init__(self, side: float, radius: float) -> None:
        self.count = max(1, int(side / radius))
        self.density = self.count / float(F(side))
        self.square = F(radius) * F(radius)

    def cell(self, place: Array) -> tuple[int, ...]:
        numbers = [int(float(each) * self.density) for each in place[::-1]]
        return tuple(min(max(number, 0), self.count - 1) for number in numbers)

    def near(self, places: Array) -> list[list[int]]:
        """Of each, who is within the radius, itself included, in order."""
        order = sorted(range(len(places)), key=lambda k: self.cell(places[k]))
        found = []
        for place in places:
            x, y, z = (places[order] - place).T
            found.append([order[k] for k in np.flatnonzero(x * x + y * y + z * z <= self.square)])
        return found
