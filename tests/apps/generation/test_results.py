"""Known results in every mode, from 300 cells a side to the paper's 1024."""

from __future__ import annotations

import numpy as np
import pytest

from apps.generation.burst import burst

from ...modes import ONE_BY_ONE, modes_and_flavours
from .running import ROWS, RUNS, check_row, simulation


@pytest.mark.parametrize(("side", "alive"), [(221, 453), (300, 453), (600, 3_624), (1024, 14_496)])
def test_burst(side: int, alive: int) -> None:
    board = burst(side)
    assert board.shape == (side, side)
    assert np.count_nonzero(board) == alive
    assert np.array_equal(board, board.T)


@pytest.mark.parametrize(("mode", "natural"), modes_and_flavours(3))
def test_ten_generations(mode: str, natural: bool) -> None:
    compare(300, 10, mode, "cpu", natural)


# Random boards, too, are compared with the reference beyond the first deaths.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "natural"),
    [run for run in RUNS if run[0] in ("concord", "sharedoa", "range+switch")],
)
def test_beyond_the_first_deaths(mode: str, natural: bool) -> None:
    """Decayed cells die from generation 256 on."""
    compare(300, 300, mode, "cpu", natural)


@pytest.mark.slow
def test_the_larger_board() -> None:
    compare(600, 300, "range+switch", "cpu", False)


@pytest.mark.slow
@pytest.mark.parametrize("natural", [False, True], ids=["faithful", "natural"])
def test_the_paper_size_starts(natural: bool) -> None:
    compare(1024, 10, "range+switch", "cpu", natural)


@pytest.mark.gpu
@pytest.mark.parametrize(("mode", "natural"), RUNS)
def test_the_paper_size_on_a_gpu(mode: str, natural: bool) -> None:
    # Random boards go beyond the first deaths there.
    compare(1024, 10 if natural and mode in ONE_BY_ONE else 1000, mode, "cuda", natural)


def compare(side: int, last: int, mode: str, backend: str, natural: bool) -> None:
    """Compare all known rows up to a generation, and the symmetry of the board there."""
    rows = {generation: row for generation, row in ROWS[side].items() if generation <= last}
    with simulation(burst(side), mode=mode, backend=backend, natural=natural) as running:
        for generation in range(last + 1):
            if generation > 0:
                running.advance()
            if generation in rows:
                check_row(running, rows.pop(generation))
                states = running.states()
                assert np.array_equal(states, states.T)
    assert not rows
