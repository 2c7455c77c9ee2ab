"""The plane and the spheres: fields and virtual methods of the artifact. With a header of 8 bytes
an object has 40 bytes."""

from __future__ import annotations

import math

import sharedoa as oa
from sharedoa import f32

from ...common.space import Vec3
from ..rays import Ray

#: A ray whose direction rises less than this is parallel to the plane.
PARALLEL = f32(1e-4)


class Object(oa.Object, layout="aos"):
    """What a ray can hit. All rays look at the same one, so that its fields, not those of its
    neighbours, are to lie side by side."""

    red: f32
    green: f32
    blue: f32
    alpha: f32
    centre: Vec3
    radius: f32

    # The distance at which the ray meets the object; 0 if it does not.
    def intersection(self, ray: Ray) -> f32: ...

    # Of length 1, at a point of the surface.
    def get_normale(self, point: Vec3) -> Vec3: ...


class Plain(Object):
    """The horizontal plane through its centre."""

    def intersection(self, ray: Ray) -> f32:
        rise = ray.direction.y
        if abs(rise) < PARALLEL:
            return f32(0.0)
        distance = -(ray.origin.y - self.centre.y) / rise
        return distance if distance > 0.0 else f32(0.0)

    def get_normale(self, point: Vec3) -> Vec3:
        return Vec3(0.0, 1.0, 0.0)


class Sphere(Object):
    def intersection(self, ray: Ray) -> f32:
        to_centre = self.centre - ray.origin
        along = to_centre.dot(ray.direction)
        distance2 = to_centre.dot(to_centre)
        radius2 = self.radius * self.radius
        if along < 0.0 and distance2 > radius2:
            return f32(0.0)
        beside2 = distance2 - along * along
        if beside2 > radius2:
            return f32(0.0)
        half_chord = f32(math.sqrt(radius2 - beside2))
        return along - half_chord if distance2 > radius2 else along + half_chord

    def get_normale(self, point: Vec3) -> Vec3:
        return (point - self.centre).normalised()
