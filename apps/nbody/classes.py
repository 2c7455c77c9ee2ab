"""Bodies, each of which is pulled by all others: first all feel where to, then all move."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32

from ..common.gravity import GRAVITY, Vector, attraction, turned_back

#: Of a step.
SECONDS = 0.02


class Body(oa.Object):
    """``pull`` is its acceleration, divided by the constant of gravity."""

    pos: Vector
    velocity: Vector
    pull: Vector
    mass: f32

    def feel(self, bodies: oa.Array[Body]) -> None:
        """Add up what all pull, in the order of ``bodies``."""
        pull = Vector(0.0, 0.0)
        for k in range(len(bodies)):
            other = bodies[k]
            pull += attraction(other.pos - self.pos, other.mass)
        self.pull = pull

    def move(self) -> None:
        velocity = self.velocity + self.pull * (GRAVITY * SECONDS)
        self.pos += velocity * SECONDS
        self.velocity = turned_back(velocity, self.pos)
