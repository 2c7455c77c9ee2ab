"""The ray tracer as the registry names it, and small scenes that several tests use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sharedoa as oa
from apps.common.launches import Launches
from apps.raytracer.faithful.population import populate
from apps.raytracer.faithful.rendering import FaithfulRendering
from apps.raytracer.natural.rendering import NaturalRendering
from apps.raytracer.natural.scene import Scene
from apps.raytracer.natural.scene_file import read_scene
from apps.registry import AppInfo

RAYTRACER = AppInfo(
    name="raytracer",
    title="Ray tracing: mirror-like spheres, or a scene of shapes of glass, metal and matt colours",
    module="apps.raytracer",
    unit="pixels a side",
    size=200,
    steps=8,
    seed=47,
    paper_size=64,
    paper_steps=1,
)

#: Every shape and every material, close together.
SCENE = """
camera = { eye = [3, 2, 5], target = [0, 0.5, 0], angle = 45, aspect = 1.25 }
sky = { horizon = [1, 0.9, 0.8], zenith = [0.3, 0.5, 1] }
surfaces = 6
shapes = [
    { kind = "plane", point = [0, 0, 0], material = "floor" },
    { kind = "sphere", centre = [0, 0.7, 0.5], radius = 0.7, material = "glass" },
    { kind = "box", low = [-2, 0, -1], high = [-1, 1.5, 0.2], material = "brass" },
    { kind = "sphere", centre = [1.3, 0.5, -0.4], radius = 0.5, material = "mirror" },
    { kind = "triangle", corners = [[-1, 0, -2], [2, 0, -2], [0.5, 2, -2]], material = "red" },
    { kind = "box", low = [0.8, 0, 0.8], high = [1.4, 0.6, 1.4], material = "glass" },
]
[materials]
floor = { kind = "checkered", colour = [0.8, 0.8, 0.8], second_colour = [0.1, 0.2, 0.1] }
red = { kind = "diffuse", colour = [0.8, 0.1, 0.1] }
brass = { kind = "metal", colour = [0.9, 0.7, 0.3], fuzz = 0.3 }
mirror = { kind = "metal", colour = [0.9, 0.9, 0.9] }
glass = { kind = "glass", refraction = 1.5 }
"""


def small_scene(folder: Path) -> Scene:
    file = folder / "small.toml"
    file.write_text(SCENE)
    return read_scene(file)


@contextmanager
def faithful(
    side: int, objects: int, *, mode: str = "sharedoa", backend: str = "cpu"
) -> Iterator[FaithfulRendering]:
    """The picture of the paper's objects, in a heap of its own."""
    with oa.Heap(mode=mode, backend=backend) as heap:
        yield FaithfulRendering(heap, populate(objects, 47), side, Launches(heap, timed=False))


@contextmanager
def natural(
    scene: Scene, side: int, *, mode: str = "sharedoa", backend: str = "cpu"
) -> Iterator[NaturalRendering]:
    """The picture of a scene, in a heap of its own."""
    with oa.Heap(mode=mode, backend=backend) as heap:
        yield NaturalRendering(heap, scene, side, 47, Launches(heap, timed=False))
