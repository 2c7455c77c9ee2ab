"""Bodies that pull each other, and become one where they meet.

Each shows the others where it is. Who looks at others looks at what they show, so it may change
itself meanwhile. Where several want to merge with one, the lowest number gets it: no order of
threads matters.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from ..common.gravity import GRAVITY, Vector, attraction, turned_back

#: Of a step.
SECONDS = 0.05
#: Higher than all numbers of bodies.
NOBODY = (1 << 31) - 1


@oa.value
class PointMass:
    """What others see of a body. Of one that is gone there is no mass, which pulls nobody."""

    pos: Vector
    mass: f32


class Body(oa.Object):
    """``number`` is its place in the crowd. ``goal`` is the body to merge into: its number."""

    pos: Vector
    velocity: Vector
    mass: f32
    number: i32
    goal: i32

    def show(self, crowd: oa.Array[PointMass]) -> None:
        """Show where it is now; it has no goal yet."""
        crowd[self.number] = PointMass(self.pos, self.mass)
        self.goal = NOBODY

    def move(self, crowd: oa.Array[PointMass]) -> None:
        """Fly to where all others pull, adding up in the order of their numbers."""
        pull = Vector(0.0, 0.0)
        for k in range(len(crowd)):
            other = crowd[k]
            pull += attraction(other.pos - self.pos, other.mass)
        velocity = self.velocity + pull * (GRAVITY * SECONDS)
        self.pos += velocity * SECONDS
        self.velocity = turned_back(velocity, self.pos)

    def call(self, crowd: oa.Array[PointMass], bodies: oa.Array[Body], contact: f32) -> None:
        """Call the nearest of the heavier bodies within ``contact`` to merge into this one."""
        nearest, found = contact * contact, NOBODY
        for k in range(len(crowd)):
            other = crowd[k]
            square = (other.pos - self.pos).square()
            if other.mass > self.mass and square < nearest:
                nearest, found = square, k
        if found != NOBODY:
            oa.atomic_min(bodies[found], "goal", self.number)

    def merge(self, crowd: oa.Array[PointMass], bodies: oa.Array[Body]) -> None:
        """Become part of the goal, unless that is to become part of another one itself."""
        if self.goal == NOBODY:
            return
        goal = bodies[self.goal]
        if goal.goal != NOBODY:
            return
        mass = self.mass + goal.mass
        momentum = self.velocity * self.mass + goal.velocity * goal.mass
        goal.velocity = momentum / mass
        goal.pos = (self.pos + goal.pos) * 0.5
        goal.mass = mass
        crowd[goal.number] = PointMass(goal.pos, mass)
        crowd[self.number] = PointMass(self.pos, 0.0)
        oa.delete(self)
