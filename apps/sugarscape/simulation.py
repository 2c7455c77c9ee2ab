"""The objects of a land, and a step of their lives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sharedoa import i32

from ..common.launches import Launches
from ..common.xorwow_streams import sequence_states
from . import kernels
from .classes import Agent, Cell, Female, Land, Male

Array = np.ndarray[Any, Any]


class State(NamedTuple):
    """The sugar of each cell, and of the agent there its kind, age and sugar, and how many more
    children she may have; of shape (height, width)."""

    cell_sugar: Array
    kind: Array
    age: Array
    sugar: Array
    children_left: Array


class Simulation:
    """``width`` by ``height`` cells; cell c draws from sequence c of cuRAND's generator of
    ``seed``."""

    def __init__(self, heap: Any, width: int, height: int, seed: int, launches: Launches) -> None:
        self._heap, self._launch = heap, launches
        self.shape = height, width
        count = width * height
        place = np.arange(count, dtype=np.int32)
        self._cells = heap.new(
            Cell, count, random=sequence_states(seed, count), x=place % width, y=place // width
        )
        self._land = heap.new(Land, width=width, height=height, cells=self._cells)
        self._launch.for_all(Cell, "begin", self._land)

    def advance(self) -> None:
        """One step: sugar, then moves, then children."""
        self._launch.repeat("step", self._step)

    def _step(self) -> None:
        land, for_all = self._land, self._launch.for_all
        for_all(Cell, "grow")
        for_all(Cell, "receive", land)
        for_all(Agent, "live")
        for_all(Agent, "seek_sugar", land)
        for_all(Cell, "let_one_in")
        for_all(Agent, "move")
        for_all(Male, "court", land)
        for_all(Female, "accept_one")
        for_all(Male, "seek_room", land)
        for_all(Cell, "let_one_in")
        for_all(Male, "have_child", land)

    def counts(self) -> dict[str, int]:
        return {
            "males": len(self._heap.all(Male)),
            "females": len(self._heap.all(Female)),
            "sugar": int(self._cells.sugar.numpy().sum(dtype=np.int64)),
        }

    def state(self) -> State:
        count = len(self._cells)
        found = [self._heap.zeros(count, i32) for _ in range(4)]
        self._launch(kernels.show, count, self._cells, *found)
        values = [self._cells.sugar.numpy(), *(np.array(each) for each in found)]
        return State(*(each.reshape(self.shape) for each in values))

    def misplaced(self) -> int:
        """Cells whose agent is not there, or is somewhere else."""
        found = self._heap.zeros(1, i32)
        self._launch(kernels.count_misplaced, len(self._cells), self._cells, found)
        return int(found[0])
