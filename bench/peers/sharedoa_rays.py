"""The ray tracer with this project's classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import sharedoa as oa
from bench.comparison.cases import Case
from bench.comparison.inputs import side
from bench.comparison.program import Program
from bench.comparison.scene import pitch, require_picture, scene
from bench.comparison.user_lines import marked_in
from sharedoa import f32

# [user code]
SURFACES, NEAR, FAR, PARALLEL = 4, f32(1e-3), f32(1e6), f32(1e-6)


@oa.value
class Vector:
    x: f32
    y: f32
    z: f32

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor: f32) -> Vector:
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    def dot(self, other: Vector) -> f32:
        return self.x * other.x + self.y * other.y + self.z * other.z


class Material(oa.Object):
    albedo: f32

    def direct(self, normal: Vector) -> f32: ...

    def mirrored(self) -> f32: ...


class Matt(Material):
    def direct(self, normal: Vector) -> f32:
        facing = max(normal.dot(Vector(0.6, 0.64, 0.48)), f32(0.0))
        return self.albedo * (f32(0.2) + f32(0.8) * facing)

    def mirrored(self) -> f32:
        return f32(0.0)


class Mirror(Material):
    def direct(self, normal: Vector) -> f32:
        return f32(0.0)

    def mirrored(self) -> f32:
        return self.albedo


class Shape(oa.Object):
    place: Vector
    r: f32
    material: Material

    def hit(self, origin: Vector, direction: Vector) -> f32: ...

    def normal(self, point: Vector) -> Vector: ...


class Plane(Shape):
    def hit(self, origin: Vector, direction: Vector) -> f32:
        approach = self.place.dot(direction)
        if abs(approach) < PARALLEL:
            return FAR
        distance = (self.r - self.place.dot(origin)) / approach
        return distance if distance >= NEAR else FAR

    def normal(self, point: Vector) -> Vector:
        return self.place


class Sphere(Shape):
    def hit(self, origin: Vector, direction: Vector) -> f32:
        to_centre = self.place - origin
        along = to_centre.dot(direction)
        beside = to_centre - direction * along
        square = self.r * self.r - beside.dot(beside)
        if square < 0.0:
            return FAR
        half_chord = f32(math.sqrt(square))
        if along - half_chord >= NEAR:
            return along - half_chord
        return along + half_chord if along + half_chord >= NEAR else FAR

    def normal(self, point: Vector) -> Vector:
        return (point - self.place) * (1.0 / self.r)


@oa.kernel
def render(shapes: oa.Array[Shape], eye: Vector, pitch: f32, picture: oa.Array[f32]) -> None:
    x, y = oa.grid(2)
    width, height = oa.gridsize(2)
    across = (f32(x) + f32(0.5) - f32(width) * f32(0.5)) * pitch
    upwards = (f32(y) + f32(0.5) - f32(height) * f32(0.5)) * pitch
    way = Vector(across, upwards, -1.0)
    origin, direction = eye, way * (f32(1.0) / f32(math.sqrt(way.dot(way))))
    light, share = f32(0.0), f32(1.0)
    for _ in range(SURFACES):
        nearest = FAR
        seen = None
        for j in range(len(shapes)):
            distance = shapes[j].hit(origin, direction)
            if distance < nearest:
                nearest = distance
                seen = shapes[j]
        if seen is None:
            light += share * ((direction.y + f32(1.0)) * f32(0.5))
            break
        origin = origin + direction * nearest
        normal = seen.normal(origin)
        light += share * seen.material.direct(normal)
        share *= seen.material.mirrored()
        if share == 0.0:
            break
        direction = direction - normal * (f32(2.0) * direction.dot(normal))
    picture[y * width + x] = light


def make_shapes(heap: Any, given: Any) -> Any:
    def in_order(kinds: Any, classes: Any, fields: Any) -> Any:
        rows = [np.flatnonzero(kinds == kind) for kind in range(len(classes))]
        made = [
            heap.new(cls, len(own), **{name: values[own] for name, values in fields.items()})
            for cls, own in zip(classes, rows, strict=True)
        ]
        return heap.concat(*made)[np.argsort(np.concatenate(rows))]

    materials = in_order(given.material_kinds, (Matt, Mirror), {"albedo": given.albedo})
    places = np.stack([given.x, given.y, given.z], axis=1)
    vectors = places.view([("x", np.float32), ("y", np.float32), ("z", np.float32)])[:, 0]
    fields = {"place": vectors, "r": given.r, "material": materials[given.materials]}
    return in_order(given.kinds, (Plane, Sphere), fields)


# [end of user code]


def prepare(case: Case, heap: Any) -> Program:
    shapes = make_shapes(heap, scene(case))
    picture = heap.zeros(case.calls, f32)
    launch, step = render[side(case), side(case)], pitch(case)
    eye = Vector(0.0, 1.5, 6.0)
    return Program(
        lambda: launch(shapes, eye, step, picture),
        lambda: np.array(picture),
        lambda found, _: require_picture(found, case),
        marked_in(__file__),
    )
