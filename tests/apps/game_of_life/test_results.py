"""Known results in every mode: a glider, and the Turing machine on a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from apps.common.automaton.board import read_board
from apps.common.automaton.rule import ALIVE
from apps.common.automaton.simulation import Simulation
from apps.game_of_life.boards import shifted

from ...modes import ONE_BY_ONE, modes_and_flavours
from .running import (
    RUNS,
    TURING_MACHINE,
    TURING_MACHINE_AS_ARTIFACT,
    glider,
    simulation,
    three_counts,
)

NATURAL = pytest.mark.parametrize("natural", [False, True], ids=["faithful", "natural"])


def live_cells(running: Simulation) -> list[tuple[int, int]]:
    """As pairs of x and y."""
    rows, columns = np.nonzero(running.states() == ALIVE)
    return sorted(zip(columns.tolist(), rows.tolist(), strict=True))


@pytest.mark.parametrize(("mode", "natural"), modes_and_flavours(2))
def test_glider(mode: str, natural: bool) -> None:
    with simulation(glider(), mode=mode, natural=natural) as running:
        start = live_cells(running)
        for generation in range(1, 121):
            running.advance()
            if generation == 4:
                assert live_cells(running) == [(x + 1, y + 1) for x, y in start]
            elif generation == 20:
                assert live_cells(running) == [(75, 77), (76, 75), (76, 77), (77, 76), (77, 77)]
            elif generation in (112, 120):
                assert live_cells(running) == [(98, 98), (98, 99), (99, 98), (99, 99)]


@NATURAL
def test_the_turing_machine_starts(data: Path, natural: bool) -> None:
    board = read_board(data / "tm.pgm.gz")
    check_rows(board, TURING_MACHINE, 10, "range+switch", "cpu", natural)
    check_rows(shifted(board), TURING_MACHINE_AS_ARTIFACT, 2, "range+switch", "cpu", natural)


@pytest.mark.gpu
@pytest.mark.parametrize(("mode", "natural"), RUNS)
def test_the_turing_machine_on_a_gpu(data: Path, mode: str, natural: bool) -> None:
    board = read_board(data / "tm.pgm.gz")
    last = 100 if natural and mode in ONE_BY_ONE else 3000
    check_rows(board, TURING_MACHINE, last, mode, "cuda", natural)


@pytest.mark.gpu
@NATURAL
def test_the_turing_machine_as_the_artifact_reads_it(data: Path, natural: bool) -> None:
    board = shifted(read_board(data / "tm.pgm.gz"))
    check_rows(board, TURING_MACHINE_AS_ARTIFACT, 3000, "range+switch", "cuda", natural)


def check_rows(
    board: np.ndarray,
    rows: dict[int, tuple[int, int, int]] | dict[int, tuple[int, int]],
    last: int,
    mode: str,
    backend: str,
    natural: bool,
) -> None:
    with simulation(board, mode=mode, backend=backend, natural=natural) as running:
        for generation in range(last + 1):
            if generation > 0:
                running.advance()
            if generation in rows:
                row = rows[generation]
                assert three_counts(running)[: len(row)] == row, f"generation {generation}"
