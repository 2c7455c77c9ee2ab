"""Conway's game with NumPy: whole boards at once."""

from __future__ import annotations

import numpy as np

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in


# [user code]
def generation(alive):
    count = np.zeros(alive.shape, np.uint8)
    padded = np.pad(alive, 1)
    rows, columns = alive.shape
    for y in range(3):
        for x in range(3):
            if (y, x) != (1, 1):
                count += padded[y : y + rows, x : x + columns]
    return (count == 3) | (alive & (count == 2))


# [end of user code]


def prepare(case: Case) -> Program:
    boards = [inputs.board(case)]

    def step() -> None:
        boards[0] = generation(boards[0])

    return Program(
        step,
        lambda: boards[0],
        lambda found, steps: inputs.require_equal(found, inputs.board_after(case, steps)),
        marked_in(__file__),
    )
