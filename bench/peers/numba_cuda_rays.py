"""The ray tracer with numba-cuda: arrays for fields, ladders for classes."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from bench.comparison.cases import Case
from bench.comparison.inputs import side
from bench.comparison.program import Program
from bench.comparison.scene import pitch, require_picture, scene
from bench.comparison.user_lines import marked_in

# [user code]
f32 = np.float32
NEAR, FAR, PARALLEL = f32(1e-3), f32(1e6), f32(1e-6)
ZERO, HALF, ONE, TWO = f32(0), f32(0.5), f32(1), f32(2)
AMBIENT, DIRECT = f32(0.2), f32(0.8)
LIGHT_X, LIGHT_Y, LIGHT_Z = f32(0.6), f32(0.64), f32(0.48)
SURFACES, PLANE, MATT = 4, 0, 0


@cuda.jit(device=True)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@cuda.jit(device=True)
def hit_plane(place, r, origin, direction):
    approach = dot(place, direction)
    if abs(approach) < PARALLEL:
        return FAR
    distance = (r - dot(place, origin)) / approach
    return distance if distance >= NEAR else FAR


@cuda.jit(device=True)
def hit_sphere(place, r, origin, direction):
    to_centre = place[0] - origin[0], place[1] - origin[1], place[2] - origin[2]
    along = dot(to_centre, direction)
    beside = (
        to_centre[0] - direction[0] * along,
        to_centre[1] - direction[1] * along,
        to_centre[2] - direction[2] * along,
    )
    square = r * r - dot(beside, beside)
    if square < ZERO:
        return FAR
    half_chord = math.sqrt(square)
    if along - half_chord >= NEAR:
        return along - half_chord
    return along + half_chord if along + half_chord >= NEAR else FAR


@cuda.jit
def render(kinds, xs, ys, zs, rs, materials, material_kinds, albedos, side, pitch, picture):
    x, y = cuda.grid(2)
    if x >= side or y >= side:
        return
    across = (f32(x) + HALF - f32(side) * HALF) * pitch
    upwards = (f32(y) + HALF - f32(side) * HALF) * pitch
    way = across, upwards, -ONE
    scale = ONE / math.sqrt(dot(way, way))
    origin = ZERO, f32(1.5), f32(6.0)
    direction = across * scale, upwards * scale, -scale
    light, share = ZERO, ONE
    for _ in range(SURFACES):
        nearest, seen = FAR, -1
        for j in range(kinds.size):
            place = xs[j], ys[j], zs[j]
            if kinds[j] == PLANE:
                distance = hit_plane(place, rs[j], origin, direction)
            else:
                distance = hit_sphere(place, rs[j], origin, direction)
            if distance < nearest:
                nearest, seen = distance, j
        if seen < 0:
            light += share * ((direction[1] + ONE) * HALF)
            break
        origin = (
            origin[0] + direction[0] * nearest,
            origin[1] + direction[1] * nearest,
            origin[2] + direction[2] * nearest,
        )
        place = xs[seen], ys[seen], zs[seen]
        if kinds[seen] == PLANE:
            normal = place
        else:
            inverse = ONE / rs[seen]
            normal = (
                (origin[0] - place[0]) * inverse,
                (origin[1] - place[1]) * inverse,
                (origin[2] - place[2]) * inverse,
            )
        material = materials[seen]
        albedo = albedos[material]
        if material_kinds[material] == MATT:
            facing = max(dot(normal, (LIGHT_X, LIGHT_Y, LIGHT_Z)), ZERO)
            light += share * (albedo * (AMBIENT + DIRECT * facing))
            break
        share *= albedo
        twice = TWO * dot(direction, normal)
        direction = (
            direction[0] - normal[0] * twice,
            direction[1] - normal[1] * twice,
            direction[2] - normal[2] * twice,
        )
    picture[y * side + x] = light


# [end of user code]

BLOCK = (16, 16)


def prepare(case: Case) -> Program:
    given, length, step = scene(case), side(case), np.float32(pitch(case))
    names = ("kinds", "x", "y", "z", "r", "materials", "material_kinds", "albedo")
    arrays = [cuda.to_device(getattr(given, name)) for name in names]
    picture = cuda.to_device(np.zeros(case.calls, np.float32))
    blocks = tuple((length + size - 1) // size for size in BLOCK)
    launch = render[blocks, BLOCK]
    return Program(
        lambda: launch(*arrays, length, step, picture),
        picture.copy_to_host,
        lambda found, _: require_picture(found, case),
        marked_in(__file__),
    )
