"""Circles in space. Each feels those near it, which push it if they are nearer than half of the
radius and else pull it; then all move."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from ..common.space import Vec3

#: How far circles feel each other.
RADIUS = 2.0
#: How far one that is a quarter of the radius away pushes.
REPULSION = 0.05


@oa.func
def wave(x: f32) -> f32:
    """The sine of -2 pi x, for x from 0 to 1, within 1e-6. A polynomial, so that it is the same on
    every backend to the last bit, which ``math.sin`` of f32 is not."""
    t = x - 0.5
    square = t * t
    found = 41.205394 - square * 12.271259
    found = square * found - 76.5801
    found = square * found + 81.596184
    found = square * found - 41.34142
    return t * (square * found + 6.283183)


class Circle(oa.Object):
    """``push`` is where it moves next, ``seen`` are the circles that it feels."""

    pos: Vec3
    push: Vec3
    seen: i32

    def feel(self, grid: oa.HashGrid[Circle], radius: f32) -> None:
        """The mean of what those near do."""
        push = Vec3(0.0, 0.0, 0.0)
        seen = i32(0)
        for other in grid.near(self.pos, radius):
            offset = other.pos - self.pos
            apart = offset.length()
            if apart > 0.0:  # and so not itself
                push += offset * (wave(apart / radius) * REPULSION / apart)
                seen += 1
        if seen > 0:
            push *= 1.0 / f32(seen)
        self.push, self.seen = push, seen

    def move(self) -> None:
        self.pos += self.push
