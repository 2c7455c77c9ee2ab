"""Running the Game of Life as the command line does: options, pictures, bad input."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps.common.automaton.program import run_automaton
from apps.common.automaton.reference import Reference
from apps.common.automaton.rule import ALIVE
from apps.game_of_life.boards import random_board, shifted
from apps.game_of_life.parameters import RULE
from apps.game_of_life.program import GAME_OF_LIFE, measure, run
from apps.interface import CheckFailed, RunOptions
from sharedoa import ArgumentError

from .running import APP, glider

NATURAL = pytest.mark.parametrize("natural", [False, True], ids=["faithful", "natural"])


def small(**options: object) -> RunOptions:
    return RunOptions(**{"size": 40, "steps": 20, "backend": "cpu", **options})  # type: ignore[arg-type]


def write(file: Path, board: np.ndarray) -> Path:
    Image.fromarray(np.where(board, 0, 255).astype(np.uint8)).save(file)
    return file


@NATURAL
def test_invariants_hold_after_every_step(natural: bool) -> None:
    result = APP.run(small(natural=natural, check=True))
    assert result.checks == {"cells follow the rule": 20, "agents count themselves": 20}
    agents = result.counts["alive"] + result.counts["candidates"] if natural else 40 * 40
    assert result.objects == 40 * 40 + agents


def test_both_flavours_count_the_same() -> None:
    assert APP.run(small(steps=50)).counts == APP.run(small(steps=50, natural=True)).counts


def test_a_wrong_rule_is_noticed() -> None:
    other = dataclasses.replace(RULE, birth=frozenset({3, 6}))
    wrong = dataclasses.replace(GAME_OF_LIFE, rule=other)
    with pytest.raises(CheckFailed, match=r"step \d+: \d+ cells are not as the rule says; the one"):
        run_automaton(wrong, lambda: random_board(40, 1), small(check=True))


def test_a_wrong_count_is_noticed() -> None:
    wrong = dataclasses.replace(GAME_OF_LIFE, measure=lambda states: {"alive": 1})
    with pytest.raises(CheckFailed, match=r"the agents count .* but the board shows"):
        run_automaton(wrong, glider, small(check=True))


@pytest.mark.parametrize("steps", [0, 1])
def test_few_steps(steps: int) -> None:
    reference = Reference(RULE, random_board(40, 42))
    for _ in range(steps):
        reference.advance()
    result = APP.run(small(steps=steps, seed=42, check=True))
    assert result.counts == measure(reference.states())
    assert result.timings["run"] == 0


def test_progress_timings_and_kernel_times() -> None:
    seen: list[tuple[int, int]] = []
    result = APP.run(small(progress=lambda done, all: seen.append((done, all)), time_kernels=True))
    assert seen == [(step, 20) for step in range(1, 21)]
    kernels = {name for name in result.timings if name.startswith("kernel ")}
    assert set(result.timings) - kernels == {"board", "objects", "first step", "run"}
    assert {"kernel candidate_prepare", "kernel alive_prepare"} < kernels
    assert {"kernel candidate_update", "kernel alive_update"} < kernels


def test_seed_changes_the_board() -> None:
    assert APP.run(small(seed=7)).counts != APP.run(small(seed=8)).counts


def test_random_boards_stay_what_they_are() -> None:
    """The words of NumPy's generator are promised to be the same in every version."""
    states = random_board(500, 42).astype(np.int32) * ALIVE
    assert measure(states)["alive"] / 500**2 == pytest.approx(0.3, abs=0.005)
    assert measure(states)["hash"] == 6500109390794538248


@NATURAL
def test_input_of_any_shape(tmp_path: Path, natural: bool) -> None:
    for shape in ((1, 1), (1, 9), (9, 1), (3, 5)):
        for board in (np.ones(shape, np.bool_), np.zeros(shape, np.bool_)):
            file = write(tmp_path / "board.pgm", board)
            APP.run(small(input=file, natural=natural, check=True, steps=4))


def test_input_as_the_artifact_reads_it(tmp_path: Path) -> None:
    board = random_board(9, 1)
    board[0, 0] = board[-1, -1] = True
    moved = shifted(board)
    assert not moved[0, 0]
    assert np.array_equal(moved.ravel()[1:], board.ravel()[:-1])
    file = write(tmp_path / "board.pgm", board)
    options = small(input=file, steps=0)
    assert run(options).counts["alive"] == np.count_nonzero(board)
    assert run(options, as_artifact=True).counts["alive"] == np.count_nonzero(board) - 1


@NATURAL
def test_picture(tmp_path: Path, natural: bool) -> None:
    file = tmp_path / "board.png"
    assert APP.run(small(out=file, natural=natural)).picture == file
    with Image.open(file) as image:
        assert image.width == 2048 // 40 * 40


def test_animation(tmp_path: Path) -> None:
    file = tmp_path / "film.gif"
    APP.run(small(out=file, steps=8))
    with Image.open(file) as image:
        assert getattr(image, "n_frames", 1) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "a board cannot be 0 cells wide"),
        ({"size": -3}, "a board cannot be -3 cells wide"),
        ({"size": 1_000_000}, "a board cannot be 1000000 cells wide and high"),
        ({"steps": -1}, "-1 steps cannot be made"),
        ({"input": Path("none.pgm")}, "none.pgm: cannot be read: No such file"),
        ({"out": Path("none/board.png")}, "cannot be written: No such file"),
        ({"out": Path("board.bmp")}, "no picture format has the ending .bmp"),
    ],
)
def test_what_cannot_be_run(options: dict[str, object], message: str) -> None:
    def fail(done: int, total: int) -> None:
        raise AssertionError("the run had started")

    with pytest.raises(ArgumentError, match=message):
        APP.run(small(**options, progress=fail))


def test_one_cell() -> None:
    assert APP.run(small(size=1, check=True)).counts["alive"] == 0
