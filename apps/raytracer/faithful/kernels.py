"""The one kernel, under the name that it has in the artifact, and the parts of its work."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32, u32

from ...common.space import Vec3
from ..rays import Camera, Ray
from .classes import Object

#: The most surfaces that a ray meets.
LEVELS = 5
#: Nothing is seen from farther away.
FAR = f32(10_000.0)
#: How far a new ray starts from the surface that it leaves.
OFFSET = f32(1e-4)
LIGHT = (10.0, 10.0, 10.0)
AMBIENT, DIFFUSE, SPECULAR, REFLECTED = f32(0.05), f32(0.3), f32(0.8), f32(0.8)


@oa.value
class Colour:
    red: f32
    green: f32
    blue: f32
    alpha: f32

    def plus(self, other: Colour, weight: f32) -> Colour:
        """With ``weight`` times the other one added."""
        return Colour(
            self.red + other.red * weight,
            self.green + other.green * weight,
            self.blue + other.blue * weight,
            self.alpha + other.alpha * weight,
        )


@oa.func
def is_lit(objects: oa.Array[Object], point: Vec3, to_light: Vec3, distance2: f32) -> bool:
    """Whether no object is accepted as one that stands in the light's way.

    A hit is not accepted if it is farther from the world's origin than the light is from the point:
    the artifact's test, which is not that for being behind the light.
    """
    ray = Ray(point + to_light * OFFSET, to_light)
    for j in range(len(objects)):
        distance = objects[j].intersection(ray)
        if distance > 0.0:
            place = point + to_light * distance
            if place.dot(place) <= distance2:
                return False
    return True


@oa.func
def power_50(base: f32) -> f32:
    """By squaring: the power function of math libraries differs in the last bit."""
    power_2 = base * base
    power_4 = power_2 * power_2
    power_8 = power_4 * power_4
    power_16 = power_8 * power_8
    power_32 = power_16 * power_16
    return power_32 * power_16 * power_2


@oa.func
def clamped(value: f32) -> f32:
    return min(max(value, f32(0.0)), f32(1.0))


@oa.func
def shade(
    objects: oa.Array[Object], seen: Object, point: Vec3, normal: Vec3, to_viewer: Vec3
) -> Colour:
    """The light that a point of ``seen`` sends to the viewer, without what it mirrors."""
    surface = Colour(seen.red, seen.green, seen.blue, seen.alpha)
    colour = Colour(0.0, 0.0, 0.0, 0.0).plus(surface, AMBIENT)
    path = Vec3(LIGHT[0], LIGHT[1], LIGHT[2]) - point
    to_light = path.normalised()
    if to_viewer.dot(normal) < 0.0:
        normal = -normal
    facing = normal.dot(to_light)
    if facing > 0.0 and is_lit(objects, point, to_light, path.dot(path)):
        colour = colour.plus(surface, DIFFUSE * min(f32(1.0), facing))
        halfway = (to_light + to_viewer).normalised()
        highlight = power_50(clamped(normal.dot(halfway)))
        colour = colour.plus(Colour(1.0, 1.0, 1.0, 0.0), SPECULAR * highlight)
    return colour


@oa.func
def level(value: f32) -> u32:
    """A component of a colour in 8 bits."""
    return u32(clamped(value) * 255.0)


@oa.kernel
def render(
    objects: oa.Array[Object], camera: Camera, image: oa.Array[u32], hits: oa.Array[i32]
) -> None:
    """A thread for each pixel, row 0 at the bottom: ``image`` becomes its colour, 8 bits each of
    alpha, red, green and blue; ``hits`` the number of surfaces that its ray met."""
    x, y = oa.grid(2)
    width, height = oa.gridsize(2)
    ray = camera.ray(f32(x) - f32(width) * 0.5, f32(y) - f32(height) * 0.5)
    colour = Colour(0.0, 0.0, 0.0, 0.0)
    weight = f32(1.0)
    count = i32(0)
    for _ in range(LEVELS):
        nearest = FAR
        seen = None
        for j in range(len(objects)):
            distance = objects[j].intersection(ray)
            if distance > 0.0 and distance < nearest:
                nearest = distance
                seen = objects[j]
        if seen is None:
            break
        point = ray.at(nearest)
        normal = seen.get_normale(point)
        to_viewer = (ray.origin - point).normalised()
        colour = colour.plus(shade(objects, seen, point, normal, to_viewer), weight)
        weight *= REFLECTED
        mirrored = (normal * (2.0 * normal.dot(to_viewer)) - to_viewer).normalised()
        ray = Ray(point + mirrored * OFFSET, mirrored)
        count += 1
    if count == 0:
        colour = Colour(0.0, 0.0, 0.0, 1.0)
    pixel = y * width + x
    image[pixel] = (
        level(colour.alpha) << 24
        | level(colour.red) << 16
        | level(colour.green) << 8
        | level(colour.blue)
    )
    hits[pixel] = count
