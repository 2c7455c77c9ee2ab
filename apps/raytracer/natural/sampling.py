"""Random numbers along a path of light: the same ones on every backend, in every order."""

from __future__ import annotations

import math

import sharedoa as oa
from sharedoa import f32, i32, u64

from ...common.space import Vec3

#: Tries before a direction is given up; each fails with a probability of 1 - pi / 4.
DIRECTION_TRIES = 16
#: Numbers set aside for one surface of a path, and for all surfaces of a path.
NUMBERS_PER_SURFACE = 64
NUMBERS_PER_PATH = 4096
#: Surfaces and paths of one pixel for which there are numbers.
MOST_SURFACES = NUMBERS_PER_PATH // NUMBERS_PER_SURFACE - 1
MOST_PATHS = 2**32 // NUMBERS_PER_PATH


@oa.value
class Numbers:
    """The random numbers set aside for one surface of a path; those before the first surface are
    for the camera."""

    seed: u64
    first: u64

    def number(self, index: i32) -> f32:
        """From 0 to below 1."""
        return oa.random(self.seed, self.first + u64(index))

    def for_next_surface(self) -> Numbers:
        return Numbers(self.seed, self.first + NUMBERS_PER_SURFACE)

    def direction(self) -> Vec3:
        """Of length 1, every one equally likely.

        Marsaglia, "Choosing a Point from the Surface of a Sphere" (1972): needs no sine, whose last
        bit differs between backends.
        """
        for attempt in range(DIRECTION_TRIES):
            a = self.number(2 * attempt) * 2.0 - 1.0
            b = self.number(2 * attempt + 1) * 2.0 - 1.0
            square = a * a + b * b
            if square < 1.0:
                factor = 2.0 * f32(math.sqrt(1.0 - square))
                return Vec3(a * factor, b * factor, 1.0 - 2.0 * square)
        return Vec3(0.0, 0.0, 1.0)


@oa.func
def numbers_of_path(seed: u64, pixel: i32, path: i32) -> Numbers:
    """Those of one path through one pixel."""
    return Numbers(seed, (u64(pixel) << 32) + u64(path) * NUMBERS_PER_PATH)
