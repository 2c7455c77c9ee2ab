"""Conway's game with numba-cuda: two flags a cell."""

from __future__ import annotations

import numpy as np
from numba import cuda

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in

# [user code]
DEAD, ALIVE = 0, 1


@cuda.jit(device=True)
def lives_on(state, neighbours):
    if state == DEAD:
        return neighbours == 3
    return neighbours == 2 or neighbours == 3


@cuda.jit
def decide(states, following):
    column, row = cuda.grid(2)
    rows, columns = states.shape
    if row >= rows or column >= columns:
        return
    neighbours = 0
    for y in range(max(row - 1, 0), min(row + 2, rows)):
        for x in range(max(column - 1, 0), min(column + 2, columns)):
            if (x != column or y != row) and states[y, x] == ALIVE:
                neighbours += 1
    following[row, column] = ALIVE if lives_on(states[row, column], neighbours) else DEAD


# [end of user code]

BLOCK = (32, 8)


def prepare(case: Case) -> Program:
    board = inputs.board(case)
    boards = [cuda.to_device(board.astype(np.uint8)) for _ in range(2)]
    blocks = tuple((inputs.side(case) + size - 1) // size for size in BLOCK)
    launch = decide[blocks, BLOCK]

    def step() -> None:
        launch(*boards)
        boards.reverse()

    return Program(
        step,
        lambda: boards[0].copy_to_host().astype(bool),
        lambda found, steps: inputs.require_equal(found, inputs.board_after(case, steps)),
        marked_in(__file__),
    )
