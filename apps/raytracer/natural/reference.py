"""The same paths of light by NumPy, through all pixels at once: what the rendering is checked
against. Points, directions and colours are arrays of shape (paths, 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import philox, scene
from .scene import Scene

Array = np.ndarray[Any, Any]

#: As in shapes.py and sampling.py.
NEAR, FAR = 1e-3, 1e6
PARALLEL = 1e-6
TRIES = 16
PER_SURFACE, PER_PATH = 64, 4096


class PathTracer:
    """``light`` is what ``paths`` paths through each pixel brought, of shape (pixels, 3), rows from
    the bottom; ``rays`` how many rays they consist of."""

    def __init__(
        self, described: Scene, size: tuple[int, int], seed: int, dtype: Any = np.float32
    ) -> None:
        self._scene, self._size, self._seed, self._dtype = described, size, seed, dtype
        self.light = np.zeros((size[0] * size[1], 3), dtype)
        self.rays = np.zeros(size[0] * size[1], np.int64)
        self.paths = 0

    def add_path(self) -> None:
        pixels = np.arange(len(self.light))
        first = (pixels.astype(np.uint64) << np.uint64(32)) + np.uint64(self.paths * PER_PATH)
        origins, directions = self._camera_rays(pixels, first)
        share = np.ones((len(pixels), 3), self._dtype)
        for _ in range(self._scene.surfaces + 1):
            self.rays[pixels] += 1
            distance, number = self._nearest(origins, directions)
            free = number < 0
            self.light[pixels[free]] += share[free] * self._sky(directions[free])
            on = ~free
            pixels, first, share = pixels[on], first[on] + np.uint64(PER_SURFACE), share[on]
            directions, number = directions[on], number[on]
            origins = origins[on] + directions * distance[on, None]
            directions, scattered = self._scatter(origins, directions, number, first)
            share = share * scattered
            on = share.sum(axis=1) > 0
            pixels, first, share = pixels[on], first[on], share[on]
            origins, directions = origins[on], directions[on]
            if not len(pixels):
                break
        self.paths += 1

    def _camera_rays(self, pixels: Array, first: Array) -> tuple[Array, Array]:
        width, height = self._size
        view = self._scene.view
        forward = _unit(np.subtract(view.target, view.eye)[None])[0]
        right = _unit(np.cross(forward, view.up)[None])[0]
        x = pixels % width + self._number(first, 0) - width / 2
        y = pixels // width + self._number(first, 1) - height / 2
        pitch = 2 / min(width, height)
        directions = (
            forward / math.tan(math.radians(view.angle) / 2)
            + (x * pitch)[:, None] * right
            + (y * pitch)[:, None] * np.cross(right, forward)
        )
        eyes = np.tile(np.array(view.eye, self._dtype), (len(pixels), 1))
        return eyes, _unit(directions).astype(self._dtype)

    def _sky(self, directions: Array) -> Array:
        share = (directions[:, 1:2] + 1) / 2
        horizon, zenith = (self._colour(c) for c in (self._scene.horizon, self._scene.zenith))
        return horizon * (1 - share) + zenith * share

    def _colour(self, colour: scene.Triple) -> Array:
        return np.array(colour, self._dtype)

    def _number(self, first: Array, index: int) -> Array:
        return philox.random(self._seed, first + np.uint64(index)).astype(self._dtype)

    def _nearest(self, origins: Array, directions: Array) -> tuple[Array, Array]:
        """The distance of the first hit of each path, and the shape's number or -1."""
        nearest = np.full(len(origins), FAR, self._dtype)
        number = np.full(len(origins), -1)
        for j, shape in enumerate(self._scene.shapes):
            distance = _HITS[type(shape)](shape, origins, directions)
            closer = distance < nearest
            nearest[closer], number[closer] = distance[closer], j
        return nearest, number

    def _scatter(
        self, points: Array, directions: Array, number: Array, first: Array
    ) -> tuple[Array, Array]:
        """Where paths go on from their points, and the share of the light that comes along."""
        onwards, share = np.empty_like(directions), np.empty_like(directions)
        for j, shape in enumerate(self._scene.shapes):
            here = np.flatnonzero(number == j)
            if not len(here):
                continue
            normals = _NORMALS[type(shape)](shape, points[here])
            material = self._scene.materials[shape.material]
            onwards[here], share[here] = self._leave(
                material, points[here], directions[here], normals, first[here]
            )
        return onwards, share

    def _leave(
        self, material: Any, points: Array, directions: Array, normals: Array, first: Array
    ) -> tuple[Array, Array]:
        outside = _dot(normals, directions) <= 0
        facing = np.where(outside[:, None], normals, -normals)
        colour = np.tile(self._colour(material.colour), (len(points), 1))
        if isinstance(material, scene.Glass):
            return self._refract(material, directions, facing, outside, first), colour
        if isinstance(material, scene.Metal):
            onwards = _mirrored(directions, facing)
            if material.fuzz > 0:
                onwards = _unit(onwards + self._dtype(material.fuzz) * self._direction(first))
            colour[_dot(onwards, facing) <= 0] = 0
            return onwards, colour
        if isinstance(material, scene.Checkered):
            cubes = np.floor(points / self._dtype(material.side) + self._dtype(1e-3)).sum(axis=1)
            colour[cubes % 2 != 0] = material.second_colour
        onwards = facing + self._direction(first)
        short = _dot(onwards, onwards) < 1e-6
        return _unit(np.where(short[:, None], facing, onwards)), colour

    def _direction(self, first: Array) -> Array:
        """Of length 1, by Marsaglia's method."""
        found = np.tile(np.array((0, 0, 1), self._dtype), (len(first), 1))
        open_ = np.arange(len(first))
        for attempt in range(TRIES):
            a, b = (self._number(first[open_], 2 * attempt + k) * 2 - 1 for k in (0, 1))
            square = a * a + b * b
            inside = square < 1
            a, b, square = a[inside], b[inside], square[inside]
            root = 2 * np.sqrt(1 - square)
            found[open_[inside]] = np.stack([a * root, b * root, 1 - 2 * square], axis=1)
            open_ = open_[~inside]
        return found

    def _refract(
        self, glass: scene.Glass, directions: Array, facing: Array, outside: Array, first: Array
    ) -> Array:
        ratio = np.where(outside, 1 / glass.refraction, glass.refraction).astype(self._dtype)
        cosine = np.minimum(1, -_dot(directions, facing))
        across = (directions + facing * cosine[:, None]) * ratio[:, None]
        along2 = 1 - _dot(across, across)
        straight = ((1 - glass.refraction) / (1 + glass.refraction)) ** 2
        reflectance = straight + (1 - straight) * (1 - cosine) ** 5
        mirrors = (along2 <= 0) | (self._number(first, 0) < reflectance)
        through = across - facing * np.sqrt(np.maximum(along2, 0))[:, None]
        return np.where(mirrors[:, None], _mirrored(directions, facing), _unit(through))


def _dot(a: Array, b: Array) -> Array:
    return np.asarray((a * b).sum(axis=-1))


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.sqrt(_dot(vectors, vectors))[:, None])


def _mirrored(directions: Array, normals: Array) -> Array:
    return np.asarray(directions - 2 * _dot(directions, normals)[:, None] * normals)


# -------------------------------------------------------------------- geometry


def _first_of(near: Array, far: Array) -> Array:
    return np.where(near >= NEAR, near, np.where(far >= NEAR, far, FAR))


def _hit_sphere(shape: scene.Sphere, origins: Array, directions: Array) -> Array:
    to_centre = np.array(shape.centre, origins.dtype) - origins
    along = _dot(to_centre, directions)
    beside = to_centre - directions * along[:, None]
    chord2 = origins.dtype.type(shape.radius) ** 2 - _dot(beside, beside)
    half = np.sqrt(np.maximum(chord2, 0))
    return np.where(chord2 < 0, FAR, _first_of(along - half, along + half))


def _plane_normal(shape: scene.Plane) -> Array:
    return np.array(shape.normal) / np.linalg.norm(shape.normal)


def _hit_plane(shape: scene.Plane, origins: Array, directions: Array) -> Array:
    normal = _plane_normal(shape).astype(origins.dtype)
    height = origins.dtype.type(_plane_normal(shape) @ shape.point)
    approach = _dot(directions, normal)
    flat = np.abs(approach) < PARALLEL
    distance = (height - _dot(origins, normal)) / np.where(flat, 1, approach)
    return np.where(flat | (distance < NEAR), FAR, distance)


def _hit_box(shape: scene.Box, origins: Array, directions: Array) -> Array:
    low, high = (np.array(corner, origins.dtype) for corner in (shape.low, shape.high))
    flat = np.abs(directions) < PARALLEL
    safe = np.where(flat, 1, directions)
    one, other = (low - origins) / safe, (high - origins) / safe
    beside = (origins < low) | (origins > high)
    near = np.where(flat, np.where(beside, FAR, -FAR), np.minimum(one, other)).max(axis=1)
    far = np.where(flat, np.where(beside, -FAR, FAR), np.maximum(one, other)).min(axis=1)
    return np.where(near <= far, _first_of(near, far), FAR)


def _hit_triangle(shape: scene.Triangle, origins: Array, directions: Array) -> Array:
    """Where the ray meets the plane, and whether all edges have that place on the same side."""
    corners = np.array(shape.corners)
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    approach = directions @ normal
    flat = np.abs(approach) < PARALLEL**2
    distance = ((corners[0] - origins) @ normal) / np.where(flat, 1, approach)
    places = origins + directions * distance[:, None]
    inside = ~flat & (distance >= NEAR)
    for k in range(3):
        edge = corners[(k + 1) % 3] - corners[k]
        inside &= np.cross(edge, places - corners[k]) @ normal >= 0
    return np.where(inside, distance, FAR).astype(origins.dtype)


_HITS: dict[type, Callable[[Any, Array, Array], Array]] = {
    scene.Sphere: _hit_sphere,
    scene.Plane: _hit_plane,
    scene.Box: _hit_box,
    scene.Triangle: _hit_triangle,
}


def _sphere_normals(shape: scene.Sphere, points: Array) -> Array:
    return (points - np.array(shape.centre, points.dtype)) / points.dtype.type(shape.radius)


def _plane_normals(shape: scene.Plane, points: Array) -> Array:
    return np.tile(_plane_normal(shape).astype(points.dtype), (len(points), 1))


def _box_normals(shape: scene.Box, points: Array) -> Array:
    low, high = (np.array(corner, points.dtype) for corner in (shape.low, shape.high))
    place = (2 * points - (low + high)) / (high - low)
    axis = np.abs(place).argmax(axis=1)
    rows = np.arange(len(points))
    normals = np.zeros_like(points)
    normals[rows, axis] = np.copysign(1, place[rows, axis])
    return normals


def _triangle_normals(shape: scene.Triangle, points: Array) -> Array:
    corners = np.array(shape.corners)
    normal = _unit(np.cross(corners[1] - corners[0], corners[2] - corners[0])[None])
    return np.tile(normal.astype(points.dtype), (len(points), 1))


_NORMALS: dict[type, Callable[[Any, Array], Array]] = {
    scene.Sphere: _sphere_normals,
    scene.Plane: _plane_normals,
    scene.Box: _box_normals,
    scene.Triangle: _triangle_normals,
}
