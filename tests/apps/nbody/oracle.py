"""N-body in NumPy on f32, written from the rules alone; it shares nothing with the program.

What pulls a body is added up in the order of the bodies, and each operation is rounded as IEEE 754
says, so that all numbers are equal to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..wator.oracle import Generators

Array = np.ndarray[Any, Any]

F = np.float32
G = 6.673e-11
SOFTENING = F(0.05)


def first_state(seed: int, count: int, heaviest: float) -> tuple[Array, Array, Array]:
    """Positions and velocities of shape (bodies, 2), masses of shape (bodies,)."""
    generators = Generators.sequences(seed, count)

    def uniform() -> Array:
        draws = generators.draw(np.arange(count)).astype(F)
        return draws * F(2.0**-32) + F(2.0**-33)

    places = [F(2) * uniform() - F(1) for _ in range(2)]
    speeds = [((uniform() - np.float64(0.5)) / np.float64(1000)).astype(F) for _ in range(2)]
    masses = ((uniform() * F(0.5) + np.float64(0.5)) * np.float64(heaviest)).astype(F)
    return np.stack(places, axis=1), np.stack(speeds, axis=1), masses


def pulls(places: Array, sources: Array, masses: Array) -> Array:
    """What sources with these masses do to each place, without the constant of gravity: of shape
    (places, 2)."""
    total = np.zeros_like(places)
    for source, mass in zip(sources, masses, strict=True):
        away = source - places
        square = away[:, 0] ** 2 + away[:, 1] ** 2
        here = square == 0
        square[here] = 1
        strength = mass / ((square + SOFTENING) * np.sqrt(square))
        strength[here] = 0
        total += away * strength[:, None]
    return total


def moved(places: Array, speeds: Array, pull: Array, seconds: float) -> tuple[Array, Array]:
    """Places and speeds after a step."""
    speeds = speeds + pull * F(G * seconds)
    places = places + speeds * F(seconds)
    return places, np.where((places < -1) | (places > 1), -speeds, speeds)


class Bodies:
    def __init__(self, count: int, seed: int) -> None:
        self.places, self.speeds, self.masses = first_state(seed, count, 1000)

    def step(self) -> None:
        pull = pulls(self.places, self.places, self.masses)
        self.places, self.speeds = moved(self.places, self.speeds, pull, 0.02)
