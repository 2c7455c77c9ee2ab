"""The natural flavour's objects, made from a scene, and its picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sharedoa import i32

from ...common.launches import Launches
from ...common.space import Vec3
from ..camera import Array, as_vectors, make_camera, vec3
from ..comparison import require_agreement
from ..rendering import Pixels, channel_sums
from . import materials, scene, shapes
from .kernels import Sky, add_path
from .reference import PathTracer
from .scene import Scene

#: Pixels that agree with the reference. The last bit can decide which way a path goes.
AGREEMENT = 0.97


class NaturalRendering:
    """A picture of one scene; ``advance`` follows one more path of light through each pixel."""

    def __init__(
        self, heap: Any, described: Scene, side: int, seed: int, launches: Launches
    ) -> None:
        self._scene, self._launch, self._seed = described, launches, seed
        self._paths = 0
        self._size = picture_size(described, side)
        view = described.view
        self._camera = make_camera(
            view.eye, np.subtract(view.target, view.eye), view.up, view.angle, self._size
        )
        self._sky = Sky(vec3(described.horizon), vec3(described.zenith))
        self._shapes = _make_shapes(heap, described.shapes, _make_materials(heap, described))
        pixels = self._size[0] * self._size[1]
        self._light = heap.zeros(pixels, Vec3)
        self._rays = heap.zeros(pixels, i32)
        self._reference = PathTracer(described, self._size, seed)

    def advance(self) -> None:
        self._launch(
            add_path,
            self._size, self._shapes, self._camera, self._sky, self._scene.surfaces, self._seed,
            self._paths, self._light, self._rays,
        )  # fmt: skip
        self._paths += 1

    def counts(self) -> dict[str, int]:
        """Rays of all paths, sums of each channel of the picture, and of the bits of all light."""
        light = np.array(self._light).view(np.uint32)
        return {
            "paths": self._paths * len(self._rays),
            "rays": int(self._rays.numpy().sum(dtype=np.int64)),
            **channel_sums(self.pixels()),
            "checksum": int(light.sum(dtype=np.uint64)),
        }

    def pixels(self) -> Pixels:
        light = np.array(self._light).view(np.float32)
        return developed(light, self._paths, self._size)

    def check(self) -> Iterator[str]:
        while self._reference.paths < self._paths:
            self._reference.add_path()
        expected = developed(self._reference.light, self._paths, self._size)
        require_agreement(self.pixels(), expected, AGREEMENT)
        yield "as the reference picture"


def picture_size(described: Scene, side: int) -> tuple[int, int]:
    """Width and height of the picture whose longer side has ``side`` pixels."""
    aspect = described.view.aspect
    shorter = max(1, round(side / max(aspect, 1 / aspect)))
    return (side, shorter) if aspect >= 1 else (shorter, side)


def developed(light: Array, paths: int, size: tuple[int, int]) -> Pixels:
    """The picture of the light that so many paths brought, rows from the bottom; bright parts are
    compressed by a square root, as screens expand them."""
    mean = light.reshape(size[1], size[0], 3) / np.float32(max(paths, 1))
    return (np.sqrt(np.clip(mean, 0, 1)) * np.float32(255))[::-1].astype(np.uint8)


def _make_materials(heap: Any, described: Scene) -> Any:
    """Objects in the order of the scene's list."""

    def fields(kind: type, rows: Any) -> dict[str, Any]:
        made: dict[str, Any] = {"colour": as_vectors([row.colour for row in rows])}
        if kind is scene.Checkered:
            made["second_colour"] = as_vectors([row.second_colour for row in rows])
            made["side"] = _numbers(rows, "side")
        elif kind is scene.Metal:
            made["fuzz"] = _numbers(rows, "fuzz")
        elif kind is scene.Glass:
            made["refraction"] = _numbers(rows, "refraction")
        return made

    return _in_order(heap, described.materials, materials, fields)


def _make_shapes(heap: Any, described: Sequence[scene.Shape], made_materials: Any) -> Any:
    """Objects in the order of the scene's list."""

    def fields(kind: type, rows: Any) -> dict[str, Any]:
        made = {"material": made_materials[np.array([row.material for row in rows])]}
        if kind is scene.Sphere:
            made["centre"] = as_vectors([row.centre for row in rows])
            made["radius"] = _numbers(rows, "radius")
        elif kind is scene.Plane:
            up = np.array([row.normal for row in rows])
            up /= np.linalg.norm(up, axis=1, keepdims=True)
            made["up"] = as_vectors(up)
            made["height"] = (up * [row.point for row in rows]).sum(axis=1).astype(np.float32)
        elif kind is scene.Box:
            made["low"] = as_vectors([row.low for row in rows])
            made["high"] = as_vectors([row.high for row in rows])
        elif kind is scene.Triangle:
            corners = np.array([row.corners for row in rows])
            edges = corners[:, 1:] - corners[:, :1]
            up = np.cross(edges[:, 0], edges[:, 1])
            made["corner"] = as_vectors(corners[:, 0])
            made["edge_1"], made["edge_2"] = as_vectors(edges[:, 0]), as_vectors(edges[:, 1])
            made["up"] = as_vectors(up / np.linalg.norm(up, axis=1, keepdims=True))
        return made

    return _in_order(heap, described, shapes, fields)


def _numbers(rows: Any, name: str) -> Array:
    return np.array([getattr(row, name) for row in rows], np.float32)


def _in_order(heap: Any, rows: Sequence[Any], classes: Any, fields: Any) -> Any:
    """An object for each row, of the class in module ``classes`` that has the row's class's name.
    Those of one class are made at once."""
    groups, places = [], []
    for kind in dict.fromkeys(map(type, rows)):
        place = [index for index, row in enumerate(rows) if type(row) is kind]
        chosen = [rows[index] for index in place]
        groups.append(heap.new(getattr(classes, kind.__name__), len(place), **fields(kind, chosen)))
        places += place
    return heap.concat(*groups)[np.argsort(places)]
