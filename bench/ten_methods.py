"""The kernel whose compilation is timed: five classes, two virtual methods each."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32

EACH = 64


class Shape(oa.Object):
    size: f32

    def area(self) -> f32: ...

    def grow(self, factor: f32) -> None: ...


class Square(Shape):
    def area(self) -> f32:
        return self.size * self.size

    def grow(self, factor: f32) -> None:
        self.size *= factor


class Circle(Shape):
    def area(self) -> f32:
        return 3.0 * self.size * self.size

    def grow(self, factor: f32) -> None:
        self.size = self.size * factor + 1.0


class Triangle(Shape):
    height: f32

    def area(self) -> f32:
        return 0.5 * self.size * self.height

    def grow(self, factor: f32) -> None:
        self.size *= factor
        self.height *= factor


class Ring(Shape):
    hole: f32

    def area(self) -> f32:
        outer, inner = self.size * self.size, self.hole * self.hole
        return 3.0 * (outer - inner)

    def grow(self, factor: f32) -> None:
        if self.hole * factor < self.size:
            self.hole *= factor
        else:
            self.hole = self.size


class Strip(Shape):
    pieces: f32

    def area(self) -> f32:
        total = f32(0.0)
        for _ in range(4):
            total += self.size * self.pieces
        return total

    def grow(self, factor: f32) -> None:
        self.pieces += factor


@oa.kernel
def total(shapes: oa.Array[Shape], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    shape = shapes[i]
    before = shape.area()
    shape.grow(2.0)
    out[i] = before + shape.area()


def make_objects() -> tuple[Any, Any]:
    """One group of objects of each class, and an array for the results."""
    groups = [
        oa.new(Square, EACH, size=2.0),
        oa.new(Circle, EACH, size=2.0),
        oa.new(Triangle, EACH, size=2.0, height=4.0),
        oa.new(Ring, EACH, size=4.0, hole=1.0),
        oa.new(Strip, EACH, size=2.0, pieces=1.0),
    ]
    objects = oa.concat(*groups)
    return objects, oa.zeros(len(objects), f32)


def expected_total(count: int) -> np.ndarray[Any, Any]:
    """What ``total`` writes: area before plus area after growing by 2."""
    each = [4 + 16, 12 + 75, 4 + 16, 45 + 36, 8 + 24]
    return np.repeat(np.array(each, np.float32), count // len(each))
