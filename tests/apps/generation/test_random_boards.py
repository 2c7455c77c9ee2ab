"""Both flavours against the reference on arrays, cell by cell, on random boards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.game_of_life.boards import random_board
from apps.generation.parameters import RULE
from tests.differential.effort import examples

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_flavours, rotated
from ..common.boards import BOARDS, comparing
from .running import RUNS, simulation

compare = comparing(RULE, simulation)


@settings(max_examples=examples(4))
@given(
    board=BOARDS,
    steps=st.sampled_from([8, 265]),
    run=st.sampled_from(RUNS),
)
def test_small_boards(board: np.ndarray, steps: int, run: tuple[str, bool]) -> None:
    mode, natural = run
    compare(board, steps, mode, "cpu", natural)


@pytest.mark.parametrize(("mode", "natural"), modes_and_flavours(0))
def test_a_random_board_in_every_mode(mode: str, natural: bool) -> None:
    assert compare(random_board(20, 3), 270, mode, "cpu", natural) > 0


@pytest.mark.parametrize(("mode", "natural"), rotated(["coal", "typepointer"], [True, False]))
def test_cpython_runs_the_same_program(mode: str, natural: bool) -> None:
    assert compare(random_board(8, 5), 6, mode, "python", natural) > 0


@pytest.mark.slow
def test_warps() -> None:
    assert compare(random_board(5, 5), 2, "sharedoa", InterpretedGpu(), natural=True) > 0


@pytest.mark.parametrize("natural", [pytest.param(False, marks=pytest.mark.slow), True])
def test_debug_mode_finds_nothing(monkeypatch: pytest.MonkeyPatch, natural: bool) -> None:
    monkeypatch.setenv("SHAREDOA_DEBUG", "1")
    assert compare(random_board(40, 7), 30, "coal", "cpu", natural) > 0


@pytest.mark.gpu
@pytest.mark.parametrize(("mode", "natural"), RUNS)
def test_a_random_board_on_a_gpu(mode: str, natural: bool) -> None:
    assert compare(random_board(300, 3), 300, mode, "cuda", natural) > 0
