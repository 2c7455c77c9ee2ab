"""Vectors in the plane, of f64."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f64


@oa.value
class Vector:
    x: f64
    y: f64

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, factor: f64) -> Vector:
        return Vector(self.x * factor, self.y * factor)

    def __truediv__(self, divisor: f64) -> Vector:
        return Vector(self.x / divisor, self.y / divisor)

    def square(self) -> f64:
        return self.x * self.x + self.y * self.y
