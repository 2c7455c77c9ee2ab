"""Running traffic as the command line does: options, timings, pictures, bad paths."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from apps.interface import RunOptions
from apps.registry import APPS
from sharedoa import ArgumentError

TRAFFIC = APPS["traffic"]


def small(**options: object) -> RunOptions:
    return RunOptions(**{"size": 10, "steps": 20, "backend": "cpu", **options})  # type: ignore[arg-type]


def test_the_list_of_programs_imports_nothing_heavy() -> None:
    script = "import sys, apps.registry; print('sharedoa' in sys.modules, 'numpy' in sys.modules)"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def test_progress_and_timings() -> None:
    seen: list[tuple[int, int]] = []
    result = TRAFFIC.run(small(progress=lambda done, total: seen.append((done, total))))
    assert seen == [(step, 20) for step in range(1, 21)]
    assert {"network", "objects", "first step", "run"} == set(result.timings)
    assert result.objects == result.heap.objects
    assert result.regions == result.heap.regions >= 3


def test_kernel_times() -> None:
    result = TRAFFIC.run(small(time_kernels=True))
    names = {name.removeprefix("kernel ") for name in result.timings if name.startswith("kernel ")}
    assert "kernel_Car_step_move" in names
    assert len(names) == 10


def test_one_step() -> None:
    result = TRAFFIC.run(small(steps=1))
    assert result.timings["run"] == 0


def test_seed_changes_the_run() -> None:
    assert TRAFFIC.run(small(seed=7)).counts != TRAFFIC.run(small(seed=8)).counts


@pytest.mark.parametrize("natural", [pytest.param(False, marks=pytest.mark.slow), True])
def test_picture(tmp_path: Path, natural: bool) -> None:
    file = tmp_path / "frame.png"
    result = TRAFFIC.run(small(out=file, natural=natural, steps=60))
    assert result.picture == file
    with Image.open(file) as image:
        assert image.width == 1600
        colours = image.convert("RGB").getcolors(1 << 20)
    assert colours is not None
    assert len(colours) > 50


def test_animation(tmp_path: Path) -> None:
    file = tmp_path / "film.gif"
    TRAFFIC.run(small(out=file, steps=8))
    with Image.open(file) as image:
        assert getattr(image, "n_frames", 1) == 8


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/frame.png", "cannot be written: No such file or directory"),
        ("frame.bmp", "no picture format has the ending .bmp"),
        ("frame", "no picture format has the ending"),
        ("folder.png", "cannot be written: Is a directory"),
    ],
)
def test_pictures_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.png").mkdir()

    def fail(done: int, total: int) -> None:
        raise AssertionError("the run had started")

    with pytest.raises(ArgumentError, match=message):
        TRAFFIC.run(small(out=tmp_path / name, progress=fail))


def test_a_file_that_exists_is_kept_until_the_end(tmp_path: Path) -> None:
    file = tmp_path / "frame.png"
    file.write_bytes(b"old")
    with pytest.raises(ArgumentError):
        TRAFFIC.run(small(out=file, size=1))
    assert file.read_bytes() == b"old"
