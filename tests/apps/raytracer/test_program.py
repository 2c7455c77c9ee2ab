"""Running the ray tracer as the command line does: options, timings, pictures, bad paths."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps.interface import CheckFailed, RunOptions
from apps.raytracer import run
from apps.raytracer.camera import LARGEST_SIDE
from apps.raytracer.comparison import agreement, require_agreement
from apps.raytracer.natural.sampling import MOST_PATHS
from sharedoa import ArgumentError

from .running import RAYTRACER, SCENE, faithful

SMALL = RunOptions(size=20, steps=3, seed=47, backend="cpu")


def small(**options: object) -> RunOptions:
    return dataclasses.replace(SMALL, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("natural", [False, True])
def test_progress_and_timings(natural: bool) -> None:
    seen: list[tuple[int, int]] = []
    options = small(natural=natural, progress=lambda done, total: seen.append((done, total)))
    result = RAYTRACER.run(dataclasses.replace(options, time_kernels=True))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    kernel = "kernel add_path" if natural else "kernel render"
    assert {"objects", "first step", "run", kernel} == set(result.timings)
    assert result.objects == (52 if natural else 1_000)
    assert result.regions >= 2


def test_one_step() -> None:
    assert run(small(steps=1)).timings["run"] == 0


def test_rendering_again_changes_nothing_and_paths_add_up() -> None:
    assert run(small(steps=1)).counts == run(small(steps=4)).counts
    one, four = (run(small(steps=n, natural=True)).counts for n in (1, 4))
    assert four["paths"] == 4 * one["paths"]
    assert four["rays"] > 3 * one["rays"]


@pytest.mark.parametrize("natural", [False, True])
def test_seed_changes_the_picture(natural: bool) -> None:
    one, other = (run(small(seed=seed, natural=natural), objects=50).counts for seed in (1, 2))
    assert one != other


def test_picture(tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    assert run(small(out=file), objects=50).picture == file
    with Image.open(file) as image:
        pixels = np.asarray(image)
    with faithful(20, 50) as rendering:
        rendering.advance()
        assert np.array_equal(pixels, rendering.pixels())
    assert pixels[0].sum() != pixels[-1].sum()


def test_picture_of_a_scene(tmp_path: Path) -> None:
    scene = tmp_path / "scene.toml"
    scene.write_text(SCENE)
    file = tmp_path / "picture.png"
    run(small(out=file, input=scene, natural=True, size=50))
    with Image.open(file) as image:
        assert image.size == (50, 40)
        # The sky is above.
        assert np.asarray(image)[:3].mean() > np.asarray(image)[-3:].mean()


def test_animation(tmp_path: Path) -> None:
    file = tmp_path / "film.gif"
    run(small(out=file, natural=True, steps=5))
    with Image.open(file) as image:
        assert getattr(image, "n_frames", 1) == 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/picture.png", "cannot be written: No such file or directory"),
        ("picture.bmp", "no picture format has the ending .bmp"),
        ("folder.png", "cannot be written: Is a directory"),
    ],
)
def test_pictures_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.png").mkdir()

    def fail(done: int, total: int) -> None:
        raise AssertionError("the run had started")

    with pytest.raises(ArgumentError, match=message):
        run(small(out=tmp_path / name, progress=fail))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "cannot have 0 pixels a side"),
        ({"size": LARGEST_SIDE + 1}, "cannot have 16385 pixels a side"),
        ({"steps": 0}, "0 steps"),
        ({"steps": MOST_PATHS + 1, "natural": True}, "no random numbers for 1048577 paths"),
        ({"input": Path("scene.toml")}, "are generated, not read"),
        ({"input": Path("no_scene.toml"), "natural": True}, "no_scene.toml: cannot be read"),
        ({"seed": -1, "natural": True}, "seed"),
        ({"seed": 2**64, "natural": True}, "seed"),
    ],
)
def test_what_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        run(small(**options))


@pytest.mark.parametrize("objects", [0, -3, 10**9])
def test_numbers_of_objects(objects: int) -> None:
    with pytest.raises(ArgumentError, match=f"a picture of {objects} objects"):
        run(SMALL, objects=objects)


def test_a_wrong_picture_is_noticed() -> None:
    right = np.zeros((10, 10, 3), np.uint8)
    wrong = right.copy()
    wrong[0, :5, 1] = 3
    wrong[1, :, 1] = 2
    assert agreement(right, wrong) == agreement(wrong, right) == 0.95
    require_agreement(right, wrong, 0.95)
    with pytest.raises(CheckFailed, match=r"95.00% of the pixels"):
        require_agreement(right, wrong, 0.96)
