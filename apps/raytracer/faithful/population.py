"""The objects of the picture and the camera, as the artifact makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...common.glibc_random import GlibcRandom

Floats = np.ndarray[Any, np.dtype[np.float32]]

EYE, FORWARD, UP = (0.0, 0.5, 2.0), (0.0, -0.5, -2.0), (0.0, 1.0, 0.0)
FIELD_OF_VIEW = 65.0

#: Red, green, blue, alpha, centre and radius of the plane and the first spheres.
_FIRST = (
    (0.0, 1.0, 1.0, 1.0, 0.0, -1.5, 0.0, 0.5),
    (1.0, 0.0, 0.0, 1.0, -1.0, 0.0, -1.0, 0.5),
    (0.0, 0.0, 1.0, 1.0, 1.0, 0.0, -1.0, 0.5),
    (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, -2.0, 0.75),
)
#: Where a sphere lies: its colour times the spread, less the middle.
_SPREAD, _MIDDLE = np.array([5, 5, -5], np.float32), np.array([2.5, 2.5, 0], np.float32)


@dataclass(frozen=True)
class Population:
    """The plane, which comes first, and spheres: colours of shape (n, 4), centres of shape (n, 3),
    radii."""

    colours: Floats
    centres: Floats
    radii: Floats

    def __getitem__(self, rows: slice) -> Population:
        return Population(self.colours[rows], self.centres[rows], self.radii[rows])


def populate(count: int, seed: int) -> Population:
    """The first ``count`` objects, at least 1. From the fifth on they are drawn; the place of a
    sphere follows from its colour, and its radius may be 0."""
    rand = GlibcRandom(seed).rand
    rows = np.empty((max(count, len(_FIRST)), 8), np.float32)
    rows[: len(_FIRST)] = _FIRST
    drawn = [[rand() % 255, rand() % 255, rand() % 255, rand() % 100] for _ in rows[len(_FIRST) :]]
    numbers = np.array(drawn, np.float32).reshape(-1, 4)
    colours = numbers[:, :3] / np.float32(255)
    rows[len(_FIRST) :, :3] = colours
    rows[len(_FIRST) :, 3] = 1
    rows[len(_FIRST) :, 4:7] = colours * _SPREAD - _MIDDLE
    rows[len(_FIRST) :, 7] = numbers[:, 3] / np.float32(100)
    rows = rows[:count]
    return Population(rows[:, :4], rows[:, 4:7], rows[:, 7])
