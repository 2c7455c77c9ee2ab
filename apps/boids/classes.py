"""Birds in a cube from 0 to 1. Each looks at all that it sees, and turns; then all fly."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from ..common.space import Vec3

#: How much a bird heeds where those in sight are, how they fly, and those too near.
COHESION, ALIGNMENT, SEPARATION = 0.055, 0.015, 10.0
#: Those nearer than this are too near.
TOO_NEAR = 0.01
#: Which part of what it wishes a bird does in a step.
HASTE = 0.15
SLOWEST, FASTEST = 0.5, 1.0
#: A wall that is nearer than this turns birds away, by so much.
WALL, AWAY = 0.1, 0.05
#: Of a step.
DURATION = 0.0005


@oa.func
def from_walls(x: f32) -> f32:
    """What the two walls of an axis add to a velocity."""
    found = f32(0.0)
    if x < WALL:
        found += AWAY
    if 1.0 - x < WALL:
        found -= AWAY
    return found


@oa.func
def held(x: f32) -> f32:
    """A coordinate, or if it has left the cube that of the wall."""
    if x < 0.0:
        return 0.0
    if x > 1.0:
        return 1.0
    return x


class Boid(oa.Object):
    """``turned`` is the velocity that it takes on next; ``seen`` are the birds in its sight."""

    pos: Vec3
    velocity: Vec3
    turned: Vec3
    seen: i32

    def turn(self, grid: oa.HashGrid[Boid], sight: f32) -> None:
        """Choose the next velocity by those in sight: to their middle, with them, and away from
        those too near; and away from walls."""
        none = Vec3(0.0, 0.0, 0.0)
        middle, flight, crowd = none, none, none
        seen = i32(0)
        for other in grid.near(self.pos, sight):
            if other is self:
                continue
            seen += 1
            middle += other.pos
            flight += other.velocity
            away = self.pos - other.pos
            apart = away.length()
            if apart < TOO_NEAR:
                missing = 1.0 - apart / TOO_NEAR
                crowd += away * (SEPARATION * missing * missing)
        wish = crowd
        if seen > 0:
            part = 1.0 / f32(seen)
            wish += (middle * part - self.pos) * COHESION
            wish += flight * (part * ALIGNMENT) - self.velocity
        velocity = self.velocity + wish * HASTE
        speed = velocity.length()
        if speed > FASTEST:
            velocity *= FASTEST / speed
        elif 0.0 < speed < SLOWEST:
            velocity *= SLOWEST / speed
        pos = self.pos
        velocity += Vec3(from_walls(pos.x), from_walls(pos.y), from_walls(pos.z))
        self.turned, self.seen = velocity, seen

    def fly(self) -> None:
        self.velocity = self.turned
        moved = self.pos + self.turned * DURATION
        self.pos = Vec3(held(moved.x), held(moved.y), held(moved.z))
