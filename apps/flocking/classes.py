"""Birds in a plane that is a torus. Each looks at all that it sees, and turns; then all fly."""

from __future__ import annotations

import math

import sharedoa as oa
from sharedoa import f64, i32

from ..common.plane import Vector

#: How much a bird heeds where those in sight are, how they fly, and those too near.
COHESION, ALIGNMENT, SEPARATION = 0.03, 0.05, 0.015
#: Those nearer than this are too near.
TOO_NEAR = 1.0


@oa.func
def shortest(offset: f64, side: f64) -> f64:
    """Of the ways around the torus, the shortest one."""
    if offset > 0.5 * side:
        return offset - side
    if offset < -0.5 * side:
        return offset + side
    return offset


@oa.func
def around(x: f64, side: f64) -> f64:
    """A coordinate that has left the plane by less than its side, on the other side of it."""
    if x < 0.0:
        x += side
    if x >= side:
        x -= side
    return x


class Bird(oa.Object):
    """``turned`` is the velocity that it takes on next; ``seen`` are the birds in its sight."""

    pos: Vector
    velocity: Vector
    turned: Vector
    seen: i32

    def turn(self, grid: oa.HashGrid[Bird], sight: f64, side: f64) -> None:
        """Choose the next velocity by those in sight: to their middle, with them, and away from
        those too near."""
        none = Vector(0.0, 0.0)
        middle, crowd, flight = none, none, none
        seen = i32(0)
        for other in grid.near(self.pos, sight):
            if other is self:
                continue
            seen += 1
            apart = other.pos - self.pos
            offset = Vector(shortest(apart.x, side), shortest(apart.y, side))
            middle += offset
            if offset.square() < TOO_NEAR * TOO_NEAR:
                crowd += offset
            flight += other.velocity
        velocity = self.velocity
        if seen > 0:
            wish = middle * COHESION - crowd * SEPARATION + flight * ALIGNMENT
            velocity += wish / f64(seen)
        velocity *= 0.5
        length = math.sqrt(velocity.square())
        if length > 0.0:
            velocity /= length
        self.turned, self.seen = velocity, seen

    def fly(self, side: f64) -> None:
        self.velocity = self.turned
        moved = self.pos + self.turned
        self.pos = Vector(around(moved.x, side), around(moved.y, side))
