"""Conway's game with this project's classes: what a cell refers to says how the cell is."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from bench.comparison import inputs
from bench.comparison.cases import Case
from bench.comparison.program import Program
from bench.comparison.user_lines import marked_in
from sharedoa import i32


# [user code]
class State(oa.Object):
    def is_alive(self) -> bool: ...

    def lives_on(self, neighbours: i32) -> bool: ...


class Dead(State):
    def is_alive(self) -> bool:
        return False

    def lives_on(self, neighbours: i32) -> bool:
        return neighbours == 3


class Alive(State):
    def is_alive(self) -> bool:
        return True

    def lives_on(self, neighbours: i32) -> bool:
        return neighbours == 2 or neighbours == 3


class Cell(oa.Object):
    state: State
    following: State


@oa.kernel
def decide(cells: oa.Array[Cell], dead: State, alive: State) -> None:
    column, row = oa.grid(2)
    columns, rows = oa.gridsize(2)
    neighbours = i32(0)
    for y in range(max(row - 1, 0), min(row + 2, rows)):
        for x in range(max(column - 1, 0), min(column + 2, columns)):
            if (x != column or y != row) and cells[y * columns + x].state.is_alive():
                neighbours += 1
    cell = cells[row * columns + column]
    cell.following = alive if cell.state.lives_on(neighbours) else dead


@oa.kernel
def apply(cells: oa.Array[Cell]) -> None:
    cell = cells[oa.grid(1)]
    cell.state = cell.following


def make_cells(heap: Any, dead: Any, alive: Any, board: Any) -> Any:
    states = heap.concat(dead, alive)
    return heap.new(Cell, board.size, state=states[board.ravel().astype(int)])


# [end of user code]


def prepare(case: Case, heap: Any) -> Program:
    board = inputs.board(case)
    dead, alive = heap.new(Dead, 1), heap.new(Alive, 1)
    cells = make_cells(heap, dead, alive, board)
    decide_all, apply_all = decide[inputs.side(case), inputs.side(case)], apply[case.calls]

    one_dead, one_alive = dead[0], alive[0]

    def step() -> None:
        decide_all(cells, one_dead, one_alive)
        apply_all(cells)

    return Program(
        step,
        lambda: np.array(cells.state.is_alive()).reshape(board.shape),
        lambda found, steps: inputs.require_equal(found, inputs.board_after(case, steps)),
        marked_in(__file__),
    )
