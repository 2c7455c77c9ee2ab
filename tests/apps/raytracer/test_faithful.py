"""The faithful flavour: sizes and hits by hand, known pictures in every mode."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import sharedoa as oa
from apps.common.space import Vec3
from apps.interface import RunOptions
from apps.raytracer import run
from apps.raytracer.comparison import agreement
from apps.raytracer.faithful import reference
from apps.raytracer.faithful.classes import Object, Plain, Sphere
from apps.raytracer.faithful.kernels import render
from apps.raytracer.faithful.population import populate
from apps.raytracer.rays import Ray
from dispatch.mode import MODES
from sharedoa.model.object import shared_type

from ...modes import few_modes
from .running import faithful

#: Pixels a side, objects: sums of red, green, blue and alpha, and pixels by number of hits, in
#: double precision, by programs that share nothing with this one.
TABLE = {
    (16, 8): ((2_337, 10_050, 9_928, 27_917), (64, 141, 26, 16, 6, 3)),
    (64, 4): ((25_030, 162_218, 156_423, 480_467), (1183, 2249, 395, 204, 35, 30)),
    (64, 100): ((118_499, 207_332, 174_409, 284_156), (11, 735, 1087, 798, 471, 994)),
    (64, 1000): ((177_927, 286_084, 179_712, 345_455), (0, 1290, 2051, 577, 136, 42)),
}
#: Every object of a picture is asked at every pixel.
SIZES = [pytest.param(*size, marks=[pytest.mark.slow] * (size[1] == 1000)) for size in TABLE]
CHANNELS = ("red", "green", "blue", "alpha")


def hits(counts: dict[str, int]) -> list[int]:
    return [counts[f"{number} hits"] for number in range(6)]


def test_an_object_has_40_bytes_with_a_header_of_8() -> None:
    with oa.Heap(mode="cuda", backend="cpu") as heap:
        for cls in (Plain, Sphere):
            assert heap.layout.record(shared_type(cls)).size == 40
    assert len(shared_type(Object).slots) == len(shared_type(Object).abstract_methods) == 2


def test_hits_by_hand(heap: oa.Heap) -> None:
    sphere = oa.new(Sphere, centre=Vec3(1.0, 2.0, -5.0), radius=2.0)
    plain = oa.new(Plain, centre=Vec3(7.0, -1.5, 7.0))
    objects = oa.array(Object, [sphere, plain])

    def meet(origin: Vec3, direction: Vec3) -> list[float]:
        found: list[float] = objects.intersection(Ray(origin, direction)).numpy().tolist()
        return found

    ahead, down = Vec3(0.0, 0.0, -1.0), Vec3(0.0, -1.0, 0.0)
    assert meet(Vec3(1.0, 2.0, 0.0), ahead) == [3, 0]  # in front, and parallel
    assert meet(Vec3(1.0, 2.0, -6.0), ahead) == [1, 0]  # from within
    assert meet(Vec3(1.0, 2.0, -8.0), ahead) == [0, 0]  # behind
    assert meet(Vec3(1.0, 4.5, 0.0), ahead) == [0, 0]  # beside
    assert meet(Vec3(0.0, 0.5, 0.0), down) == [0, 2]
    assert meet(Vec3(0.0, -2.0, 0.0), down) == [0, 0]
    assert meet(Vec3(1.0, 10.0, -5.0), down) == [6, 11.5]
    assert sphere.get_normale(Vec3(1.0, 4.0, -5.0)) == Vec3(0.0, 1.0, 0.0)
    assert plain.get_normale(Vec3(3.0, -1.5, 4.0)) == Vec3(0.0, 1.0, 0.0)


def test_normals_have_length_1() -> None:
    population = populate(200, 47)
    with oa.Heap(backend="cpu"):
        for centre, radius in zip(population.centres, population.radii, strict=True):
            if radius > 0:
                sphere = oa.new(Sphere, centre=Vec3(*map(float, centre)), radius=radius)
                normal = sphere.get_normale(Vec3(*map(float, centre + radius / math.sqrt(3))))
                assert normal.dot(normal) == pytest.approx(1, abs=1e-6)


def test_population() -> None:
    """The drawn objects: places follow from colours; glibc's first numbers for seed 47."""
    population = populate(1000, 47)
    assert population.colours[:4].tolist() == [
        [0, 1, 1, 1],
        [1, 0, 0, 1],
        [0, 0, 1, 1],
        [0, 1, 0, 1],
    ]
    drawn = population[4:]
    red, green, blue, alpha = drawn.colours.T
    assert (alpha == 1).all()
    np.testing.assert_allclose(drawn.centres[:, 0], 5 * red - 2.5, atol=1e-6)
    np.testing.assert_allclose(drawn.centres[:, 1], 5 * green - 2.5, atol=1e-6)
    np.testing.assert_allclose(drawn.centres[:, 2], -5 * blue, atol=1e-6)
    assert drawn.radii.min() == 0
    assert drawn.radii.max() < 1
    fewer = populate(10, 47)
    assert np.array_equal(population[:10].centres, fewer.centres)


@pytest.mark.parametrize(("side", "objects"), SIZES)
def test_reference_in_double_precision(side: int, objects: int) -> None:
    sums, numbers = TABLE[side, objects]
    picture = reference.render(populate(objects, 47), side, np.float64)
    found = [*picture.pixels.reshape(-1, 3).sum(axis=0).tolist(), int(picture.alpha.sum())]
    assert found == pytest.approx(sums, abs=1)
    # One pixel of two rows is at the edge of a sphere, where the last bit decides.
    edge = 1 if objects == 100 else 0
    assert np.bincount(picture.hits.ravel(), minlength=6).tolist() == pytest.approx(
        numbers, abs=edge
    )


@pytest.mark.parametrize(("side", "objects"), SIZES)
def test_known_pictures(side: int, objects: int) -> None:
    sums, numbers = TABLE[side, objects]
    with faithful(side, objects) as rendering:
        rendering.advance()
        counts = rendering.counts()
        assert [counts[name] for name in CHANNELS] == pytest.approx(sums, rel=1e-4, abs=2)
        assert hits(counts) == pytest.approx(numbers, abs=1)
        expected = reference.render(populate(objects, 47), side)
        assert agreement(rendering.pixels(), expected.pixels) >= 0.995
        assert np.mean(rendering.pixels() == expected.pixels) >= 0.995


@functools.cache
def counts_on_the_cpu(side: int, objects: int, mode: str = "range+switch") -> dict[str, int]:
    with faithful(side, objects, mode=mode) as rendering:
        rendering.advance()
        return rendering.counts()


@pytest.mark.parametrize("mode", few_modes(0))
def test_equal_in_every_mode(mode: str) -> None:
    for side, objects in ((16, 50), (64, 100)):
        assert counts_on_the_cpu(side, objects, mode) == counts_on_the_cpu(side, objects)


@pytest.mark.parametrize("mode", [pytest.param("coal", marks=pytest.mark.slow), "typepointer"])
def test_cpython_makes_the_same_picture(mode: str) -> None:
    with faithful(8, 20, mode=mode, backend="python") as rendering:
        rendering.advance()
        assert rendering.counts() == counts_on_the_cpu(8, 20)


@pytest.mark.parametrize(("side", "objects"), [(1, 1), (1, 50), (3, 2), (17, 3)])
def test_smallest_pictures(side: int, objects: int) -> None:
    options = RunOptions(size=side, steps=1, seed=47, backend="cpu", check=True)
    result = run(options, objects=objects)
    assert result.objects == objects
    assert sum(hits(result.counts)) == side * side


def test_coal_spares_the_intersections_only() -> None:
    """M-14: all threads of a warp ask the same object where they hit it, in both loops; whose
    normal they ask for differs."""
    with oa.Heap(mode="coal", backend="cpu"):
        lines = render.explain().splitlines()
    intersections = [line for line in lines if line.startswith("Object.intersection")]
    normals = [line for line in lines if line.startswith("Object.get_normale")]
    assert len(intersections) == 2
    assert all("uniform receiver" in line for line in intersections)
    assert len(normals) == 1
    assert "range + vtable" in normals[0] and "uniform" not in normals[0]


def check_instrumentation_changes_nothing(backend: str, side: int) -> None:
    """M-14: the same objects, with every call looked up by address."""
    with faithful(side, 100, mode="coal", backend=backend) as rendering:
        rendering.advance()
        spared = rendering.words()
        for mode in ("range+vtable", "range+switch"):
            image = oa.zeros(side * side, oa.u32)
            hits = oa.zeros(side * side, oa.i32)
            render[(side, side), (16, 8)](
                rendering.objects, rendering.camera, image, hits, mode=mode
            )
            assert np.array_equal(np.array(image).reshape(side, side), spared)


def test_instrumentation_changes_nothing() -> None:
    check_instrumentation_changes_nothing("cpu", 64)


def test_debug_mode_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAREDOA_DEBUG", "1")
    with faithful(16, 50, mode="coal") as rendering:
        rendering.advance()
        assert rendering.counts() == counts_on_the_cpu(16, 50)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_equal_on_a_gpu(mode: str) -> None:
    """Every operation is rounded correctly, in the same order: the bits are those of the CPU."""
    for side, objects in ((16, 8), (64, 1000), (512, 100)):
        with faithful(side, objects, mode=mode, backend="cuda") as rendering:
            rendering.advance()
            assert rendering.counts() == counts_on_the_cpu(side, objects)


@pytest.mark.gpu
@pytest.mark.parametrize(("side", "objects"), [(64, 1000), (512, 100)])
def test_reference_on_a_gpu(side: int, objects: int) -> None:
    options = RunOptions(size=side, steps=1, seed=47, backend="cuda", check=True)
    assert run(options, objects=objects).checks == {"as the reference picture": 1}


@pytest.mark.gpu
def test_instrumentation_changes_nothing_on_a_gpu() -> None:
    check_instrumentation_changes_nothing("cuda", 512)
