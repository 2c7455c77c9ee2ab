"""The ray tracer by NumPy: all rays at once, those of one class of shape or material selected."""

from __future__ import annotations

import numpy as np

from bench.comparison.cases import Case
from bench.comparison.inputs import side
from bench.comparison.program import Program
from bench.comparison.scene import (
    AMBIENT,
    DIRECT,
    EYE,
    FAR,
    LIGHT,
    MATT,
    NEAR,
    PARALLEL,
    PLANE,
    SURFACES,
    Scene,
    pitch,
    require_picture,
    scene,
)
from bench.comparison.user_lines import marked_in


# [user code]
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def normalised(a):
    return a * (np.float32(1) / np.sqrt(dot(a, a)))


def hit(shapes, j, origin, direction):
    """The distance at which rays meet a shape; FAR where they do not."""
    place = np.array([shapes.x[j], shapes.y[j], shapes.z[j]])[:, None]
    if shapes.kinds[j] == PLANE:
        approach = dot(place, direction)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = (shapes.r[j] - dot(place, origin)) / approach
        return np.where((np.abs(approach) < PARALLEL) | ~(distance >= NEAR), FAR, distance)
    to_centre = place - origin
    along = dot(to_centre, direction)
    beside = to_centre - direction * along
    square = shapes.r[j] * shapes.r[j] - dot(beside, beside)
    half_chord = np.sqrt(np.maximum(square, 0))
    near, far = along - half_chord, along + half_chord
    distance = np.where(near >= NEAR, near, np.where(far >= NEAR, far, FAR))
    return np.where(square < 0, FAR, distance)


def picture(shapes: Scene, length: int, spacing: float) -> np.ndarray:
    pixels = np.arange(length * length)
    half, step = np.float32(length * 0.5), np.float32(spacing)
    x, y = (
        (p.astype(np.float32) + np.float32(0.5) - half) * step
        for p in (pixels % length, pixels // length)
    )
    direction = normalised(np.stack([x, y, np.full_like(x, -1)]))
    origin = np.repeat(np.array(EYE, np.float32)[:, None], len(pixels), axis=1)
    to_light = np.array(LIGHT, np.float32)
    light, share = np.zeros(len(pixels), np.float32), np.ones(len(pixels), np.float32)
    for _ in range(SURFACES):
        nearest = np.full(len(pixels), FAR)
        seen = np.full(len(pixels), -1)
        for j in range(len(shapes.kinds)):
            distance = hit(shapes, j, origin, direction)
            closer = distance < nearest
            nearest, seen = np.where(closer, distance, nearest), np.where(closer, j, seen)
        free = seen < 0
        sky = (direction[1] + np.float32(1)) * np.float32(0.5)
        light[pixels[free]] += share[free] * sky[free]
        on = ~free
        pixels, share, seen = pixels[on], share[on], seen[on]
        origin, direction = origin[:, on], direction[:, on]
        origin = origin + direction * nearest[on]
        place = np.stack([shapes.x[seen], shapes.y[seen], shapes.z[seen]])
        outwards = (origin - place) * (np.float32(1) / np.maximum(shapes.r[seen], PARALLEL))
        normal = np.where(shapes.kinds[seen] == PLANE, place, outwards)
        material = shapes.materials[seen]
        matt, albedo = shapes.material_kinds[material] == MATT, shapes.albedo[material]
        facing = np.maximum(dot(normal, to_light), np.float32(0))
        direct = np.where(matt, albedo * (AMBIENT + DIRECT * facing), np.float32(0))
        light[pixels] += share * direct
        share = share * np.where(matt, np.float32(0), albedo)
        direction = direction - normal * (np.float32(2) * dot(direction, normal))
        on = share > 0
        pixels, share = pixels[on], share[on]
        origin, direction = origin[:, on], direction[:, on]
    return light


# [end of user code]


def prepare(case: Case) -> Program:
    given, found = scene(case), [np.zeros(0, np.float32)]

    def step() -> None:
        found[0] = picture(given, side(case), pitch(case))

    return Program(
        step,
        lambda: found[0],
        lambda light, _: require_picture(light, case),
        marked_in(__file__),
    )
