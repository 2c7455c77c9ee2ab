"""Conway's game with Dr.Jit: a tag a cell says which state it is in."""

from __future__ import annotations

from typing import Any

import drjit as dr
import numpy as np

from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in


# [user code]
class Dead:
    def lives_on(self, neighbours):
        return neighbours == 3


class Alive:
    def lives_on(self, neighbours):
        return (neighbours == 2) | (neighbours == 3)


def generation(library, states, side):
    place = dr.arange(library.Int32, side * side)
    row, column = place // side, place % side
    neighbours = dr.zeros(library.UInt32, side * side)
    for y in (-1, 0, 1):
        for x in (-1, 0, 1):
            if (y, x) != (0, 0):
                near_row, near_column = row + y, column + x
                inside = (near_row >= 0) & (near_row < side)
                inside &= (near_column >= 0) & (near_column < side)
                near = library.UInt32(near_row * side + near_column)
                neighbours += dr.gather(library.UInt32, states, near, inside)
    lives = dr.switch(states, [Dead().lives_on, Alive().lives_on], neighbours)
    return dr.select(lives, library.UInt32(1), library.UInt32(0))


# [end of user code]

VARIANTS = ("tag and slot",)


def prepare(case: Case, variant: str, library: Any) -> Program:
    board = inputs.board(case)
    boards = [library.UInt32(board.ravel().astype(np.uint32))]

    def step() -> None:
        boards[0] = generation(library, boards[0], inputs.side(case))
        dr.eval(boards)

    return Program(
        step,
        lambda: boards[0].numpy().reshape(board.shape).astype(bool),
        lambda found, steps: inputs.require_equal(found, inputs.board_after(case, steps)),
        marked_in(__file__),
    )
