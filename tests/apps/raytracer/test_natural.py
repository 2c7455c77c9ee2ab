"""The natural flavour: each shape and material by hand, pictures against the reference."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from apps.common.space import Vec3
from apps.interface import RunOptions
from apps.raytracer import run
from apps.raytracer.comparison import agreement
from apps.raytracer.natural import philox
from apps.raytracer.natural.kernels import add_path
from apps.raytracer.natural.materials import Checkered, Diffuse, Glass, Metal
from apps.raytracer.natural.reference import PathTracer
from apps.raytracer.natural.rendering import developed, picture_size
from apps.raytracer.natural.sampling import Numbers
from apps.raytracer.natural.scene import Scene
from apps.raytracer.natural.scene_file import DEFAULT_SCENE, read_scene
from apps.raytracer.natural.shapes import FAR, Box, Plane, Shape, Sphere, Triangle
from apps.raytracer.rays import Ray
from dispatch.mode import MODES

from ...modes import quick_modes
from .running import SCENE, natural, small_scene

SIDE, PATHS = 40, 3


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return small_scene(tmp_path)


# ------------------------------------------------------------ shapes and materials


def test_hits_by_hand(heap: oa.Heap) -> None:
    up = Vec3(0.0, 1.0, 0.0)
    made: list[Shape] = [
        oa.new(Sphere, centre=Vec3(0.0, 2.0, -5.0), radius=2.0),
        oa.new(Plane, up=up, height=-1.5),
        oa.new(Box, low=Vec3(-1.0, 1.0, -9.0), high=Vec3(1.0, 4.0, -7.0)),
        oa.new(
            Triangle, corner=Vec3(-1.0, 1.0, -3.0), edge_1=Vec3(4.0, 0.0, 0.0),
            edge_2=Vec3(0.0, 4.0, 0.0), up=Vec3(0.0, 0.0, 1.0),
        ),
    ]  # fmt: skip
    shapes = oa.array(Shape, made)
    never = float(FAR)

    def meet(origin: Vec3, direction: Vec3) -> list[float]:
        found: list[float] = shapes.hit(Ray(origin, direction)).numpy().tolist()
        return found

    ahead, down = Vec3(0.0, 0.0, -1.0), Vec3(0.0, -1.0, 0.0)
    assert meet(Vec3(0.0, 2.0, 0.0), ahead) == [3, never, 7, 3]
    assert meet(Vec3(0.0, 2.0, -5.0), ahead) == [2, never, 2, never]  # from within the sphere
    assert meet(Vec3(0.0, 2.0, -8.0), ahead) == [never, never, 1, never]  # within the box
    assert meet(Vec3(2.5, 2.5, 0.0), ahead) == [never, never, never, never]
    assert meet(Vec3(2.5, 1.25, 0.0), ahead) == [never, never, never, 3]
    assert meet(Vec3(0.0, 6.5, -8.0), down) == [never, 8, 2.5, never]
    assert meet(Vec3(0.0, 6.5, -9.5), down) == [never, 8, never, never]
    sphere, plane, box, triangle = made
    assert sphere.normal(Vec3(2.0, 2.0, -5.0)) == Vec3(1.0, 0.0, 0.0)
    assert plane.normal(Vec3(2.0, -1.5, 3.0)) == up
    assert box.normal(Vec3(0.5, 4.0, -7.5)) == up
    assert box.normal(Vec3(-1.0, 2.0, -7.5)) == Vec3(-1.0, 0.0, 0.0)
    assert box.normal(Vec3(0.5, 2.0, -7.0)) == Vec3(0.0, 0.0, 1.0)
    assert triangle.normal(Vec3(0.0, 2.0, -3.0)) == Vec3(0.0, 0.0, 1.0)


def test_light_leaves_as_each_material_says() -> None:
    up, point = Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 0.0)
    down = Vec3(0.6, -0.8, 0.0)
    with oa.Heap(backend="cpu"):
        colour = Vec3(0.5, 0.25, 1.0)
        mirror, glass = oa.new(Metal, colour=colour), oa.new(Glass, colour=colour, refraction=1.5)
        matt = oa.new(Diffuse, colour=colour)
        for first in range(0, 64 * 200, 64):
            numbers = Numbers(1, first)
            mirrored = mirror.scatter(down, point, up, numbers)
            assert mirrored.share == colour
            assert close(mirrored.direction, Vec3(0.6, 0.8, 0.0))
            for normal in (up, -up):  # from either side light is sent back
                scattered = matt.scatter(down, point, normal, numbers).direction
                assert scattered.dot(up) >= 0
                assert scattered.dot(scattered) == pytest.approx(1, abs=1e-5)
            through = glass.scatter(down, point, up, numbers).direction
            bent = Vec3(0.4, -math.sqrt(1 - 0.4**2), 0.0)  # Snell: 0.6 / 1.5
            assert close(through, bent) or close(through, mirrored.direction)
            # from within, above the critical angle, all light stays inside
            inside = glass.scatter(Vec3(0.8, 0.6, 0.0), point, up, numbers).direction
            assert close(inside, Vec3(0.8, -0.6, 0.0))
        blurred = oa.new(Metal, colour=colour, fuzz=0.5)
        shares = [blurred.scatter(Vec3(1.0, 0.0, 0.0), point, up, Numbers(1, 64 * k)).share
                  for k in range(50)]  # fmt: skip
        assert {share.x for share in shares} == {0.0, 0.5}


def test_checkered_cubes() -> None:
    with oa.Heap(backend="cpu"):
        floor = oa.new(Checkered, colour=Vec3(1, 1, 1), second_colour=Vec3(0, 0, 0), side=2.0)
        colours = [[floor.colour_at(Vec3(x, 0, z)).x for x in (-3, -1, 1, 3)] for z in (-1, 1)]
    assert colours == [[0, 1, 0, 1], [1, 0, 1, 0]]


def close(one: Vec3, other: Vec3) -> bool:
    difference = one - other
    return bool(difference.dot(difference) < 1e-10)


def test_directions_are_spread_evenly() -> None:
    directions = [Numbers(3, 64 * k).direction() for k in range(2000)]
    points = np.array([(d.x, d.y, d.z) for d in directions], float)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-6)
    assert np.abs(points.mean(axis=0)).max() < 0.05
    np.testing.assert_allclose((points**2).mean(axis=0), 1 / 3, atol=0.03)


def test_numbers_of_the_reference_are_those_of_kernels() -> None:
    counters = np.array([0, 1, 2**32 - 1, 2**32, 2**63 + 12345], np.uint64)
    for seed in (0, 47, 2**40 + 3):
        expected = [oa.random(seed, int(counter)) for counter in counters]
        assert philox.random(seed, counters).tolist() == expected


# ------------------------------------------------------------------------- pictures


@functools.cache
def counts_on_the_cpu(
    file: Path, side: int, paths: int, mode: str = "range+switch"
) -> dict[str, int]:
    with natural(read_scene(file), side, mode=mode) as rendering:
        for _ in range(paths):
            rendering.advance()
        return rendering.counts()


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])
def test_against_the_reference(scene: Scene, dtype: type) -> None:
    size = picture_size(scene, SIDE)
    assert size == (40, 32)
    reference = PathTracer(scene, size, 47, dtype)
    with natural(scene, SIDE) as rendering:
        for paths in range(1, 9):
            rendering.advance()
            reference.add_path()
            expected = developed(reference.light, paths, size)
            assert agreement(rendering.pixels(), expected) >= 0.97
        assert rendering.counts()["rays"] == pytest.approx(reference.rays.sum(), rel=1e-3)


@pytest.mark.parametrize("mode", quick_modes("bits+switch"))
def test_every_mode_agrees_with_the_reference(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "scene.toml"
    file.write_text(SCENE)
    options = RunOptions(
        size=SIDE, steps=PATHS, seed=47, mode=mode, backend="cpu", natural=True, input=file,
        check=True,
    )  # fmt: skip
    result = run(options)
    assert result.checks == {"as the reference picture": PATHS}
    assert result.counts == counts_on_the_cpu(file, SIDE, PATHS)
    assert result.objects == 6 + 5
    assert counts_on_the_cpu(DEFAULT_SCENE, SIDE, 2, mode) == counts_on_the_cpu(
        DEFAULT_SCENE, SIDE, 2
    )


@pytest.mark.parametrize("mode", ["coal", pytest.param("typepointer", marks=pytest.mark.slow)])
def test_cpython_makes_the_same_picture(mode: str) -> None:
    with natural(read_scene(DEFAULT_SCENE), 10, mode=mode, backend="python") as rendering:
        rendering.advance()
        assert rendering.counts() == counts_on_the_cpu(DEFAULT_SCENE, 10, 1)


def test_a_scene_without_light_is_black(tmp_path: Path) -> None:
    file = tmp_path / "dark.toml"
    file.write_text(
        SCENE.replace("[1, 0.9, 0.8]", "[0, 0, 0]").replace("[0.3, 0.5, 1]", "[0, 0, 0]")
    )
    assert counts_on_the_cpu(file, 8, 1)["checksum"] == 0


def test_white_surfaces_under_a_white_sky_are_white(tmp_path: Path) -> None:
    """No light is lost or made: whatever a path meets, it comes from the sky with all its light,
    unless it meets too many surfaces."""
    file = tmp_path / "white.toml"
    file.write_text("""
        camera = { eye = [0, 1, 4], target = [0, 0.5, 0] }
        sky = { horizon = [1, 1, 1], zenith = [1, 1, 1] }
        surfaces = 40
        shapes = [
            { kind = "sphere", centre = [0, 0.5, 0], radius = 0.5, material = "matt" },
            { kind = "sphere", centre = [1, 0.5, 0], radius = 0.5, material = "glass" },
            { kind = "box", low = [-1.5, 0, -0.5], high = [-0.6, 1, 0.5], material = "mirror" },
        ]
        [materials]
        matt = { kind = "diffuse", colour = [1, 1, 1] }
        glass = { kind = "glass" }
        mirror = { kind = "metal", colour = [1, 1, 1] }
    """)
    with natural(read_scene(file), 48) as rendering:
        for _ in range(4):
            rendering.advance()
        assert rendering.pixels().min() == 255


@pytest.mark.parametrize("side", [1, 2, 3])
def test_smallest_pictures(side: int) -> None:
    options = RunOptions(size=side, steps=2, seed=1, backend="cpu", natural=True, check=True)
    assert run(options).counts["paths"] == 2 * side * max(1, round(side / 1.5))


def test_calls_have_several_classes_to_choose_from() -> None:
    with oa.Heap(mode="coal", backend="cpu"):
        rows = {line.split()[0]: line for line in add_path.explain().splitlines() if "." in line}
    for call in ("Shape.hit", "Shape.normal"):
        assert "Sphere, Plane, Box, Triangle" in rows[call]
    assert "Diffuse, Checkered, Metal, Glass" in rows["Material.scatter"]
    assert "uniform receiver" in rows["Shape.hit"]
    for call in ("Shape.normal", "Material.scatter", "Diffuse.colour_at"):
        assert "range + vtable" in rows[call]


def test_debug_mode_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = counts_on_the_cpu(DEFAULT_SCENE, 20, 1)
    monkeypatch.setenv("SHAREDOA_DEBUG", "1")
    with natural(read_scene(DEFAULT_SCENE), 20, mode="typepointer") as rendering:
        rendering.advance()
        assert rendering.counts() == expected


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_equal_on_a_gpu(mode: str) -> None:
    """Every operation is rounded correctly, in the same order: the bits are those of the CPU."""
    with natural(read_scene(DEFAULT_SCENE), 512, mode=mode, backend="cuda") as rendering:
        for _ in range(8):
            rendering.advance()
        assert rendering.counts() == counts_on_the_cpu(DEFAULT_SCENE, 512, 8)


@pytest.mark.gpu
def test_reference_on_a_gpu() -> None:
    options = RunOptions(size=240, steps=4, seed=47, backend="cuda", natural=True, check=True)
    assert run(options).checks == {"as the reference picture": 4}
