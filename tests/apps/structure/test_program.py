"""Running the structure as the command line does: options, timings, pictures, bad input."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from apps.interface import RunOptions
from sharedoa import ArgumentError

from .running import APP


def small(**options: object) -> RunOptions:
    return RunOptions(**{"size": 100, "steps": 6, "backend": "cpu", **options})  # type: ignore[arg-type]


def fail(done: int, total: int) -> None:
    raise AssertionError("the run had started")


def test_progress_and_timings() -> None:
    seen: list[tuple[int, int]] = []
    result = APP.run(small(progress=lambda done, total: seen.append((done, total))))
    assert seen == [(step, 6) for step in range(1, 7)]
    assert {"structure", "objects", "first step", "run"} == set(result.timings)
    assert result.objects == result.heap.objects == 350
    assert result.regions == result.heap.regions == 2


@pytest.mark.parametrize(("natural", "kernels"), [(False, 8), (True, 11)])
def test_time_of_each_kernel(natural: bool, kernels: int) -> None:
    result = APP.run(small(time_kernels=True, natural=natural))
    names = {name for name in result.timings if name.startswith("kernel ")}
    assert len(names) == kernels


@pytest.mark.parametrize("natural", [False, True])
def test_checks(natural: bool) -> None:
    result = APP.run(small(check=True, natural=natural))
    assert len(result.checks) == 5
    assert set(result.checks.values()) == {6}


def test_one_step_of_the_smallest_structure() -> None:
    result = APP.run(small(steps=1, size=20))
    assert result.timings["run"] == 0
    assert result.counts["springs"] <= 35


def test_the_seed_changes_the_run() -> None:
    first, same, other = (APP.run(small(seed=seed)).counts for seed in (7, 7, 8))
    assert first == same != other


@pytest.mark.parametrize(
    ("size", "natural"), [(1_520, False), pytest.param(100, True, marks=pytest.mark.slow)]
)
def test_picture(tmp_path: Path, natural: bool, size: int) -> None:
    file = tmp_path / "structure.png"
    result = APP.run(small(out=file, natural=natural, size=size))
    assert result.picture == file
    with Image.open(file) as image:
        assert image.size == (1600, 1760)
        colours = image.convert("RGB").getcolors(1 << 20)
    assert colours is not None
    assert len(colours) > 500


def test_animation(tmp_path: Path) -> None:
    file = tmp_path / "fracture.gif"
    APP.run(small(out=file, steps=12))
    with Image.open(file) as image:
        assert getattr(image, "n_frames", 1) == 12


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/frame.png", "cannot be written: No such file or directory"),
        ("frame.bmp", "no picture format has the ending .bmp"),
        ("folder.gif", "cannot be written: Is a directory"),
    ],
)
def test_pictures_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(ArgumentError, match=message):
        APP.run(small(out=tmp_path / name, progress=fail))


@pytest.mark.parametrize("size", [0, 1, 30])
def test_sizes_that_make_no_structure(tmp_path: Path, size: int) -> None:
    with pytest.raises(ArgumentError, match="multiple of 20"):
        APP.run(small(size=size, progress=fail))


def test_there_is_no_input_to_read(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="not read from files"):
        APP.run(small(input=tmp_path / "bridge.txt", progress=fail))
