"""Vectors in space, of f32.

Only operations that IEEE 754 rounds correctly are used (+, -, *, /, square root), in a fixed order,
so that every backend computes the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32

Array = np.ndarray[Any, Any]


@oa.value
class Vec3:
    """A point, a direction, a velocity or a colour."""

    x: f32
    y: f32
    z: f32

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor: f32) -> Vec3:
        return Vec3(self.x * factor, self.y * factor, self.z * factor)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def times(self, other: Vec3) -> Vec3:
        """The product of each component, as light is filtered by a colour."""
        return Vec3(self.x * other.x, self.y * other.y, self.z * other.z)

    def dot(self, other: Vec3) -> f32:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def length(self) -> f32:
        return f32(math.sqrt(self.dot(self)))

    def normalised(self) -> Vec3:
        return self * (1.0 / self.length())


# ---------------------------------------------------------------------- on the host


def components(vectors: Any) -> Array:
    """Of a view of vectors, as an array of shape (vectors, 3)."""
    return np.stack([vectors[axis].numpy() for axis in "xyz"], axis=1)


def set_components(vectors: Any, values: Array) -> None:
    """Give a view of vectors ``values``, of shape (vectors, 3)."""
    for axis, column in zip("xyz", values.T, strict=True):
        vectors[axis] = column


def along_cells(positions: Array, edge: float) -> Array:
    """``positions``, of shape (n, 3), by the cube of that edge that each is in: cubes along x, then
    y, then z, and as given within one. What is near in space then mostly is so in memory."""
    x, y, z = np.floor(positions / np.float32(edge)).T
    ordered: Array = positions[np.lexsort((x, y, z))]
    return ordered
