"""Vectors, rays and cameras: values that kernels compute with.

Only operations that IEEE 754 rounds correctly are used (+, -, *, /, square root), in a fixed order,
so that every backend computes the same bits.
"""

from __future__ import annotations

import math

import sharedoa as oa
from sharedoa import f32


@oa.value
class Vec3:
    """A point, a direction or a colour."""

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

    def normalised(self) -> Vec3:
        return self * (1.0 / f32(math.sqrt(self.dot(self))))


@oa.value
class Ray:
    """What goes from ``origin`` along ``direction``, which has length 1."""

    origin: Vec3
    direction: Vec3

    def at(self, distance: f32) -> Vec3:
        return self.origin + self.direction * distance


@oa.value
class Camera:
    """A pinhole: ``forward`` leads to the picture's middle, ``right`` and ``up`` one pixel on."""

    eye: Vec3
    forward: Vec3
    right: Vec3
    up: Vec3

    def ray(self, across: f32, upwards: f32) -> Ray:
        """Through a place of the picture, in pixels from its middle."""
        direction = self.forward + self.right * across + self.up * upwards
        return Ray(self.eye, direction.normalised())
