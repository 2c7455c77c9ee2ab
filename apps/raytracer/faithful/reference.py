"""The same picture by NumPy, for all pixels at once: what the rendering is checked against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .population import EYE, FIELD_OF_VIEW, FORWARD, UP, Population

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Picture:
    """``pixels`` of shape (height, width, 3), the top row first; ``alpha`` and ``hits``, the
    surfaces that each ray met, alike."""

    pixels: np.ndarray[Any, np.dtype[np.uint8]]
    alpha: np.ndarray[Any, np.dtype[np.uint8]]
    hits: Array


def render(population: Population, side: int, dtype: Any = np.float32) -> Picture:
    """The picture of ``side`` x ``side`` pixels, computed in ``dtype``."""
    return _Tracer(population, dtype).picture(side)


class _Tracer:
    """Points and directions are arrays of shape (rays, 3), distances of shape (rays,)."""

    def __init__(self, population: Population, dtype: Any) -> None:
        self._dtype = dtype
        self._colours = population.colours.astype(dtype)
        self._centres = population.centres.astype(dtype)
        self._radii = population.radii.astype(dtype)

    def picture(self, side: int) -> Picture:
        origins, directions = self._camera_rays(side)
        levels: list[tuple[Array, Array]] = []
        rays = np.arange(side * side)
        while len(levels) < 5 and len(rays):
            distance, number = self._nearest(origins, directions)
            seen = number >= 0
            rays, number = rays[seen], number[seen]
            origins, directions, distance = origins[seen], directions[seen], distance[seen]
            points = origins + directions * distance[:, None]
            normals = self._normals(points, number)
            to_viewer = _unit(origins - points)
            levels.append((rays, self._shade(points, normals, to_viewer, number)))
            mirrored = _unit(2 * normals * _dot(normals, to_viewer)[:, None] - to_viewer)
            origins, directions = points + self._dtype(1e-4) * mirrored, mirrored
        total = np.zeros((side * side, 4), self._dtype)
        for rays, colours in reversed(levels):
            total *= self._dtype(0.8)
            total[rays] += colours
        hits = np.zeros(side * side, int)
        for rays, _ in levels:
            hits[rays] += 1
        total[hits == 0] = (0, 0, 0, 1)
        image = (np.clip(total, 0, 1) * 255).astype(np.uint8).reshape(side, side, 4)[::-1]
        return Picture(image[..., :3], image[..., 3], hits.reshape(side, side)[::-1])

    def _camera_rays(self, side: int) -> tuple[Array, Array]:
        forward = np.array(FORWARD) / np.linalg.norm(FORWARD)
        right = np.cross(forward, UP)
        right /= np.linalg.norm(right)
        steps = (np.arange(side) - side / 2) * 2 / side
        directions = (
            forward / math.tan(math.radians(FIELD_OF_VIEW / 2))
            + steps[None, :, None] * right
            + steps[:, None, None] * np.cross(right, forward)
        ).reshape(-1, 3)
        eyes = np.broadcast_to(np.array(EYE), directions.shape)
        return eyes.astype(self._dtype), _unit(directions).astype(self._dtype)

    def _nearest(self, origins: Array, directions: Array) -> tuple[Array, Array]:
        """The distance of the first hit of each ray, and the object's number or -1."""
        nearest = np.full(len(origins), 10_000, self._dtype)
        number = np.full(len(origins), -1)
        for j in range(len(self._radii)):
            distance = self._hit(j, origins, directions)
            closer = (distance > 0) & (distance < nearest)
            nearest[closer], number[closer] = distance[closer], j
        return nearest, number

    def _hit(self, j: int, origins: Array, directions: Array) -> Array:
        """The distance to object j, 0 where a ray misses it."""
        if j == 0:
            rise = directions[:, 1]
            flat = np.abs(rise) < 1e-4
            distance = (self._centres[0, 1] - origins[:, 1]) / np.where(flat, 1, rise)
            return np.where(flat | (distance <= 0), 0, distance)
        to_centre = self._centres[j] - origins
        along, outside = _dot(to_centre, directions), _dot(to_centre, to_centre)
        radius2 = self._radii[j] ** 2
        chord2 = radius2 - (outside - along**2)
        missed = ((along < 0) & (outside > radius2)) | (chord2 < 0)
        half = np.sqrt(np.where(missed, 0, chord2))
        return np.where(missed, 0, along + np.where(outside > radius2, -half, half))

    def _normals(self, points: Array, number: Array) -> Array:
        around = np.where((number == 0)[:, None], UP, points - self._centres[number])
        return _unit(around).astype(self._dtype)

    def _shade(self, points: Array, normals: Array, to_viewer: Array, number: Array) -> Array:
        surface = self._colours[number]
        path = np.array((10, 10, 10), self._dtype) - points
        to_light = _unit(path)
        backwards = _dot(to_viewer, normals) < 0
        normals = np.where(backwards[:, None], -normals, normals)
        facing = _dot(normals, to_light)
        lit = facing > 0
        lit[lit] = ~self._shadowed(points[lit], to_light[lit], _dot(path, path)[lit])
        halfway = _unit(to_light + to_viewer)
        highlight = np.clip(_dot(normals, halfway), 0, 1) ** 50
        bright = self._dtype(0.3) * np.minimum(1, facing)[:, None] * surface
        bright[:, :3] += self._dtype(0.8) * highlight[:, None]
        return np.asarray(self._dtype(0.05) * surface + np.where(lit[:, None], bright, 0))

    def _shadowed(self, points: Array, to_light: Array, distance2: Array) -> Array:
        starts = points + self._dtype(1e-4) * to_light
        shadowed = np.zeros(len(points), bool)
        for j in range(len(self._radii)):
            distance = self._hit(j, starts, to_light)
            place = points + to_light * distance[:, None]
            shadowed |= (distance > 0) & (_dot(place, place) <= distance2)
        return shadowed


def _dot(a: Array, b: Array) -> Array:
    return np.asarray((a * b).sum(axis=1))


def _unit(vectors: Array) -> Array:
    lengths = np.sqrt(_dot(vectors, vectors))
    return np.asarray(vectors / lengths[:, None])
