"""The ray tracer with Dr.Jit: an instance a shape and a material; which shapes there are is part of
the kernel, where a ray meets them is not."""

from __future__ import annotations

from typing import Any

import drjit as dr

from bench.comparison.cases import Case
from bench.comparison.inputs import side
from bench.comparison.program import Program
from bench.comparison.scene import pitch, require_picture, scene
from bench.comparison.user_lines import marked_in

# [user code]
SURFACES, NEAR, FAR, PARALLEL = 4, 1e-3, 1e6, 1e-6


def positive(value):
    # dr.maximum is an instruction that LLVM 15 cannot compile on x86.
    return dr.select(value > 0, value, 0)


class Material:
    def __init__(self, library, albedo):
        self.albedo = dr.opaque(library.Float, albedo)


class Matt(Material):
    def scatter(self, normal):
        light = type(normal)(0.6, 0.64, 0.48)
        facing = positive(dr.dot(normal, light))
        return self.albedo * (0.2 + 0.8 * facing), type(self.albedo)(0)


class Mirror(Material):
    def scatter(self, normal):
        return type(self.albedo)(0), type(self.albedo)(self.albedo)


class Shape:
    def __init__(self, library, place, r, material):
        self.place = library.Array3f(*(dr.opaque(library.Float, each) for each in place))
        self.r, self.material = dr.opaque(library.Float, r), material


class Plane(Shape):
    def hit(self, origin, direction):
        approach = dr.dot(self.place, direction)
        distance = (self.r - dr.dot(self.place, origin)) / approach
        return dr.select((dr.abs(approach) < PARALLEL) | ~(distance >= NEAR), FAR, distance)

    def normal(self, point):
        return type(point)(self.place)


class Sphere(Shape):
    def hit(self, origin, direction):
        to_centre = self.place - origin
        along = dr.dot(to_centre, direction)
        beside = to_centre - direction * along
        square = self.r * self.r - dr.dot(beside, beside)
        half_chord = dr.sqrt(positive(square))
        near, far = along - half_chord, along + half_chord
        distance = dr.select(near >= NEAR, near, dr.select(far >= NEAR, far, FAR))
        return dr.select(square < 0, FAR, distance)

    def normal(self, point):
        return (point - self.place) * (1 / self.r)


def render(library, shapes, materials, side, pitch):
    Float, UInt32, Array3f = library.Float, library.UInt32, library.Array3f
    pixel = dr.arange(UInt32, side * side)
    x = (Float(pixel % side) + 0.5 - side * 0.5) * pitch
    y = (Float(pixel // side) + 0.5 - side * 0.5) * pitch
    way = Array3f(x, y, -1)
    direction = way * (1 / dr.sqrt(dr.dot(way, way)))
    materials_of = [shape.material for shape in shapes]

    def next_surface(origin, direction, light, share, surfaces):
        nearest, seen = Float(FAR), UInt32(0)
        for number, shape in enumerate(shapes):
            distance = shape.hit(origin, direction)
            seen = dr.select(distance < nearest, number, seen)
            nearest = dr.select(distance < nearest, distance, nearest)
        free = nearest >= FAR
        sky = (direction.y + 1) * 0.5
        origin = origin + direction * nearest
        normal = dr.switch(seen, [shape.normal for shape in shapes], origin)
        material = dr.switch(seen, [lambda own=own: UInt32(own) for own in materials_of])
        direct, mirrored = dr.switch(material, [own.scatter for own in materials], normal)
        light += share * dr.select(free, sky, direct)
        share = dr.select(free, 0, share * mirrored)
        direction = direction - normal * (2 * dr.dot(direction, normal))
        return origin, direction, light, share, surfaces + 1

    state = (Array3f(0, 1.5, 6), direction, dr.zeros(Float, side * side), Float(1), UInt32(0))
    state = dr.while_loop(
        state,
        lambda origin, direction, light, share, surfaces: (share > 0) & (surfaces < SURFACES),
        next_surface,
    )
    return state[2]


def make_shapes(library, given):
    kinds = (Matt, Mirror)
    albedos = zip(given.material_kinds, given.albedo.tolist(), strict=True)
    materials = [kinds[kind](library, albedo) for kind, albedo in albedos]
    places = zip(given.x.tolist(), given.y.tolist(), given.z.tolist(), strict=True)
    rest = zip(given.r.tolist(), given.materials.tolist(), strict=True)
    shapes = [
        (Plane, Sphere)[kind](library, place, *own)
        for kind, place, own in zip(given.kinds, places, rest, strict=True)
    ]
    return shapes, materials


# [end of user code]

VARIANTS = ("instances",)


def prepare(case: Case, variant: str, library: Any) -> Program:
    shapes, materials = make_shapes(library, scene(case))
    found: list[Any] = []

    def step() -> None:
        found[:] = [render(library, shapes, materials, side(case), pitch(case))]
        dr.eval(found)

    return Program(
        step,
        lambda: found[0].numpy(),
        lambda picture, _: require_picture(picture, case),
        marked_in(__file__),
    )
