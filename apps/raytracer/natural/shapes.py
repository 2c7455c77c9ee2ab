"""Where a ray meets a shape."""

from __future__ import annotations

import math

import sharedoa as oa
from sharedoa import f32

from ...common.space import Vec3
from ..rays import Ray
from .materials import Material

#: Hits nearer than this are those of the surface that the ray comes from.
NEAR = f32(1e-3)
#: Nothing is seen from farther away.
FAR = f32(1e6)
#: A ray that nears a plane by less, for each unit of its length, is parallel to it.
PARALLEL = f32(1e-6)


class Shape(oa.Object):
    material: Material

    # The distance at which the ray first meets the surface, at least NEAR; FAR if it does not.
    def hit(self, ray: Ray) -> f32: ...

    # Of length 1, outwards, at a point of the surface.
    def normal(self, point: Vec3) -> Vec3: ...


@oa.func
def first_of(near: f32, far: f32) -> f32:
    """The first of two hits that is no hit of the ray's own surface."""
    if near >= NEAR:
        return near
    return far if far >= NEAR else FAR


class Sphere(Shape):
    centre: Vec3
    radius: f32

    def hit(self, ray: Ray) -> f32:
        to_centre = self.centre - ray.origin
        along = to_centre.dot(ray.direction)
        beside = to_centre - ray.direction * along
        half_chord2 = self.radius * self.radius - beside.dot(beside)
        if half_chord2 < 0.0:
            return FAR
        half_chord = f32(math.sqrt(half_chord2))
        return first_of(along - half_chord, along + half_chord)

    def normal(self, point: Vec3) -> Vec3:
        return (point - self.centre) * (1.0 / self.radius)


class Plane(Shape):
    """All points whose product with ``up``, of length 1, is ``height``."""

    up: Vec3
    height: f32

    def hit(self, ray: Ray) -> f32:
        approach = self.up.dot(ray.direction)
        if abs(approach) < PARALLEL:
            return FAR
        distance = (self.height - self.up.dot(ray.origin)) / approach
        return distance if distance >= NEAR else FAR

    def normal(self, point: Vec3) -> Vec3:
        return self.up


@oa.func
def between(low: f32, high: f32, origin: f32, direction: f32) -> tuple[f32, f32]:
    """From where to where a ray is between two values of one coordinate."""
    if abs(direction) < PARALLEL:
        return (-FAR, FAR) if low <= origin and origin <= high else (FAR, -FAR)
    one, other = (low - origin) / direction, (high - origin) / direction
    return min(one, other), max(one, other)


class Box(Shape):
    """With faces along the axes."""

    low: Vec3
    high: Vec3

    def hit(self, ray: Ray) -> f32:
        start, way = ray.origin, ray.direction
        near_x, far_x = between(self.low.x, self.high.x, start.x, way.x)
        near_y, far_y = between(self.low.y, self.high.y, start.y, way.y)
        near_z, far_z = between(self.low.z, self.high.z, start.z, way.z)
        near, far = max(near_x, near_y, near_z), min(far_x, far_y, far_z)
        return first_of(near, far) if near <= far else FAR

    def normal(self, point: Vec3) -> Vec3:
        """Of the face that is nearest, as a share of the box's size."""
        from_middle = point * 2.0 - (self.low + self.high)
        size = self.high - self.low
        x, y, z = from_middle.x / size.x, from_middle.y / size.y, from_middle.z / size.z
        if abs(x) >= abs(y) and abs(x) >= abs(z):
            return Vec3(math.copysign(1.0, x), 0.0, 0.0)
        if abs(y) >= abs(z):
            return Vec3(0.0, math.copysign(1.0, y), 0.0)
        return Vec3(0.0, 0.0, math.copysign(1.0, z))


class Triangle(Shape):
    """A corner, the edges from it to the others, and their normal."""

    corner: Vec3
    edge_1: Vec3
    edge_2: Vec3
    up: Vec3

    def hit(self, ray: Ray) -> f32:
        """Möller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection" (1997)."""
        p = ray.direction.cross(self.edge_2)
        determinant = self.edge_1.dot(p)
        if abs(determinant) < PARALLEL * PARALLEL:
            return FAR
        from_corner = ray.origin - self.corner
        u = from_corner.dot(p) / determinant
        q = from_corner.cross(self.edge_1)
        v = ray.direction.dot(q) / determinant
        if u < 0.0 or v < 0.0 or u + v > 1.0:
            return FAR
        distance = self.edge_2.dot(q) / determinant
        return distance if distance >= NEAR else FAR

    def normal(self, point: Vec3) -> Vec3:
        return self.up
