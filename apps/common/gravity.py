"""Bodies that pull each other in the square from -1 to 1, as DynaSOAr's examples have them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import sharedoa as oa
from sharedoa import f32

from .xorwow_streams import next_draws, sequence_states, uniform

Array = np.ndarray[Any, Any]

#: In m^3 / (kg s^2), as lengths are in metres, masses in kg and times in seconds.
GRAVITY = 6.673e-11
#: Added to the square of a distance, so that bodies that meet do not fly apart.
DAMPING = 0.05
#: A distance counts as this at least; a body itself, which is none away, so pulls itself nowhere.
LEAST_DISTANCE = 1e-10


@oa.value
class Vector:
    x: f32
    y: f32

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, factor: f32) -> Vector:
        return Vector(self.x * factor, self.y * factor)

    def __truediv__(self, divisor: f32) -> Vector:
        return Vector(self.x / divisor, self.y / divisor)

    def square(self) -> f32:
        return self.x * self.x + self.y * self.y


@oa.func
def attraction(apart: Vector, mass: f32) -> Vector:
    """The acceleration towards a mass that is ``apart``, divided by the constant of gravity."""
    square = apart.square()
    distance = max(f32(math.sqrt(square)), LEAST_DISTANCE)
    return apart * (mass / ((square + DAMPING) * distance))


@oa.func
def turned_back(velocity: Vector, pos: Vector) -> Vector:
    """The velocity of a body at ``pos``: along each axis reversed, if it has left the square."""
    x = -velocity.x if abs(pos.x) > 1.0 else velocity.x
    y = -velocity.y if abs(pos.y) > 1.0 else velocity.y
    return Vector(x, y)


class Start(NamedTuple):
    """Positions and velocities of shape (2, bodies), masses of shape (bodies,), of f32."""

    positions: Array
    velocities: Array
    masses: Array


def start(seed: int, count: int, heaviest: float) -> Start:
    """Where ``count`` bodies begin: body n draws from sequence n of cuRAND's generator of ``seed``.
    Their masses are between half of ``heaviest`` and all of it. What DynaSOAr computes in f64 is
    computed in f64."""
    drawn = uniform(next_draws(sequence_states(seed, count), 5)).T
    positions = 2 * drawn[:2] - np.float32(1)
    velocities = ((drawn[2:4].astype(np.float64) - 0.5) / 1000).astype(np.float32)
    masses = (((drawn[4] / 2).astype(np.float64) + 0.5) * heaviest).astype(np.float32)
    return Start(positions, velocities, masses)
