"""How light leaves a surface."""

from __future__ import annotations

import math

import sharedoa as oa
from sharedoa import f32

from ...common.space import Vec3
from .sampling import Numbers


@oa.value
class Scattered:
    """Where a path goes on, and the share of each colour's light that comes along."""

    direction: Vec3
    share: Vec3


@oa.func
def mirrored(direction: Vec3, normal: Vec3) -> Vec3:
    return direction - normal * (2.0 * direction.dot(normal))


@oa.func
def towards(normal: Vec3, direction: Vec3) -> Vec3:
    """``normal`` or its opposite, whichever looks against ``direction``."""
    return -normal if normal.dot(direction) > 0.0 else normal


class Material(oa.Object):
    colour: Vec3

    # How a path arriving at ``point`` along ``direction`` goes on; ``normal`` looks outwards.
    def scatter(
        self, direction: Vec3, point: Vec3, normal: Vec3, numbers: Numbers
    ) -> Scattered: ...


class Diffuse(Material):
    """Matt: light leaves in all directions, less of it sideways (Lambert)."""

    def scatter(self, direction: Vec3, point: Vec3, normal: Vec3, numbers: Numbers) -> Scattered:
        facing = towards(normal, direction)
        scattered = facing + numbers.direction()
        if scattered.dot(scattered) < 1e-6:
            scattered = facing
        return Scattered(scattered.normalised(), self.colour_at(point))

    def colour_at(self, point: Vec3) -> Vec3:
        return self.colour


class Checkered(Diffuse):
    """Cubes of two colours in turn."""

    second_colour: Vec3
    side: f32

    def colour_at(self, point: Vec3) -> Vec3:
        # A little aside, for planes between two layers of cubes.
        place = point * (1.0 / self.side) + Vec3(1e-3, 1e-3, 1e-3)
        cubes = math.floor(place.x) + math.floor(place.y) + math.floor(place.z)
        return self.colour if cubes % 2 == 0 else self.second_colour


class Metal(Material):
    """Mirrors, blurred by ``fuzz`` from 0 to 1."""

    fuzz: f32

    def scatter(self, direction: Vec3, point: Vec3, normal: Vec3, numbers: Numbers) -> Scattered:
        facing = towards(normal, direction)
        scattered = mirrored(direction, facing)
        if self.fuzz > 0.0:
            scattered = (scattered + numbers.direction() * self.fuzz).normalised()
        # What would go into the metal is lost.
        share = self.colour if scattered.dot(facing) > 0.0 else Vec3(0.0, 0.0, 0.0)
        return Scattered(scattered, share)


class Glass(Material):
    """Refracts (Snell), and mirrors a share that grows with the angle (Schlick)."""

    refraction: f32

    def scatter(self, direction: Vec3, point: Vec3, normal: Vec3, numbers: Numbers) -> Scattered:
        facing = towards(normal, direction)
        entering = normal.dot(direction) <= 0.0
        ratio = 1.0 / self.refraction if entering else self.refraction
        cosine = min(f32(1.0), -direction.dot(facing))
        across = (direction + facing * cosine) * ratio
        along2 = 1.0 - across.dot(across)
        if along2 <= 0.0 or numbers.number(0) < self.reflectance(cosine):
            return Scattered(mirrored(direction, facing), self.colour)
        refracted = across - facing * f32(math.sqrt(along2))
        return Scattered(refracted.normalised(), self.colour)

    def reflectance(self, cosine: f32) -> f32:
        root = (1.0 - self.refraction) / (1.0 + self.refraction)
        straight = root * root
        side = 1.0 - cosine
        side2 = side * side
        return straight + (1.0 - straight) * (side2 * side2 * side)
