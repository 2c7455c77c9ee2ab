"""Conway's game on the processor with numba: two flags a cell."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in

# [user code]
DEAD, ALIVE = 0, 1


@njit
def lives_on(state, neighbours):
    if state == DEAD:
        return neighbours == 3
    return neighbours == 2 or neighbours == 3


@njit(parallel=True)
def decide(states, following):
    rows, columns = states.shape
    for row in prange(rows):
        for column in range(columns):
            neighbours = 0
            for y in range(max(row - 1, 0), min(row + 2, rows)):
                for x in range(max(column - 1, 0), min(column + 2, columns)):
                    if (x != column or y != row) and states[y, x] == ALIVE:
                        neighbours += 1
            next_state = ALIVE if lives_on(states[row, column], neighbours) else DEAD
            following[row, column] = next_state


# [end of user code]


def prepare(case: Case) -> Program:
    board = inputs.board(case)
    boards = [board.astype(np.uint8) for _ in range(2)]

    def step() -> None:
        decide(*boards)
        boards.reverse()

    return Program(
        step,
        lambda: boards[0].astype(bool),
        lambda found, steps: inputs.require_equal(found, inputs.board_after(case, steps)),
        marked_in(__file__),
    )
