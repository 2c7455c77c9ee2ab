"""Running the generations automaton as the command line does: options, pictures, bad input."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps.common.automaton.program import run_automaton
from apps.generation.parameters import RULE
from apps.generation.program import GENERATION
from apps.interface import CheckFailed, RunOptions
from sharedoa import ArgumentError

from .running import APP, small_star

NATURAL = pytest.mark.parametrize("natural", [False, True], ids=["faithful", "natural"])
#: What boards and pictures are given differs by no flavour.
FAITHFUL = pytest.mark.parametrize(
    "natural", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["faithful", "natural"]
)


def small(**options: object) -> RunOptions:
    return RunOptions(**{"size": 221, "steps": 20, "backend": "cpu", **options})  # type: ignore[arg-type]


def write(file: Path, board: np.ndarray) -> Path:
    Image.fromarray(np.where(board, 0, 255).astype(np.uint8)).save(file)
    return file


@NATURAL
def test_invariants_hold_after_every_step(natural: bool) -> None:
    result = APP.run(small(natural=natural, check=True))
    assert result.checks == {"cells follow the rule": 20, "agents count themselves": 20}
    agents = result.counts["checksum"] if natural else 221 * 221
    assert result.objects == 221 * 221 + agents


@NATURAL
def test_invariants_hold_while_cells_die(tmp_path: Path, natural: bool) -> None:
    file = write(tmp_path / "star.pgm", small_star())
    result = APP.run(small(input=file, natural=natural, check=True, steps=600))
    assert result.checks["cells follow the rule"] == 600


@pytest.mark.parametrize("decaying", [254, 256])
def test_a_wrong_time_to_decay_is_noticed(decaying: int) -> None:
    wrong = dataclasses.replace(GENERATION, rule=dataclasses.replace(RULE, decaying=decaying))
    with pytest.raises(CheckFailed, match=r"step 25[567]: \d+ cells are not as the rule says"):
        run_automaton(wrong, small_star, small(check=True, steps=300))


def test_the_seed_has_nothing_to_draw() -> None:
    assert APP.run(small(seed=1)).counts == APP.run(small(seed=2)).counts


def test_no_steps() -> None:
    counts = APP.run(small(steps=0)).counts
    assert counts["undecayed"] == counts["alive"] == 453


def test_kernel_times() -> None:
    result = APP.run(small(time_kernels=True))
    assert {"kernel prepare", "kernel update", "kernel alive_update"} < set(result.timings)


@FAITHFUL
def test_input_of_any_shape(tmp_path: Path, natural: bool) -> None:
    for shape in ((1, 1), (1, 9), (9, 1), (3, 5)):
        for is_full in (False, True):
            file = write(tmp_path / "board.pgm", np.full(shape, is_full))
            # Once beyond the first deaths.
            steps = 260 if is_full and shape == (3, 5) else 5
            APP.run(small(input=file, natural=natural, check=True, steps=steps))


@FAITHFUL
def test_picture(tmp_path: Path, natural: bool) -> None:
    file = tmp_path / "board.png"
    assert APP.run(small(out=file, natural=natural)).picture == file
    with Image.open(file) as image:
        assert image.width == 2048 // 221 * 221


def test_animation(tmp_path: Path) -> None:
    file = tmp_path / "film.gif"
    APP.run(small(out=file, steps=8))
    with Image.open(file) as image:
        assert getattr(image, "n_frames", 1) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "a board cannot be 0 cells wide"),
        ({"size": 1}, "a board of 1 by 1 cells has no room for the pattern"),
        ({"size": 220}, "a board of 220 by 220 cells has no room for the pattern"),
        ({"size": 1_000_000}, "a board cannot be 1000000 cells wide and high"),
        ({"steps": -1}, "-1 steps cannot be made"),
        ({"input": Path("none.pgm")}, "none.pgm: cannot be read: No such file"),
        ({"out": Path("none/board.png")}, "cannot be written: No such file"),
    ],
)
def test_what_cannot_be_run(options: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        APP.run(small(**options))
