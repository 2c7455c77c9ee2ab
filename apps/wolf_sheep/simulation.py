"""The objects of a pasture, and a step of their lives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.counter_random import all_below, draws
from ..common.launches import Launches
from ..common.references import IndexOf
from . import classes, kernels
from .classes import Animal, Cell, Clock, Sheep, Wolf

Array = np.ndarray[Any, Any]

#: At the start, of 125 cells.
SHEEP_SHARE, WOLVES_SHARE = 12, 8


class Simulation:
    """``width`` by ``height`` cells, row by row, on a torus."""

    def __init__(self, heap: Any, width: int, height: int, seed: int, launches: Launches) -> None:
        self._heap, self._launch, self._seed = heap, launches, seed
        self.shape = height, width
        self._clock = heap.new(Clock, seed=seed)
        count = width * height
        self._cells = heap.new(Cell, count)
        self._launch(kernels.begin, count, self._cells, width, height, seed)
        sheep, wolves = count * SHEEP_SHARE // 125, count * WOLVES_SHARE // 125
        ids = np.arange(sheep + wolves, dtype=np.uint64)
        self._settle(Sheep, ids[:sheep], classes.GRASS)
        self._settle(Wolf, ids[sheep:], classes.SHEEP)

    def _draws(self, agents: Array, purpose: int, bound: int) -> Array:
        return all_below(draws(self._seed, 0, agents, purpose), bound)

    def _settle(self, cls: type, ids: Array, meal: float) -> None:
        """The first animals of a class; an energy is up to that of two meals."""
        place = self._draws(ids, classes.START_PLACE, len(self._cells))
        energy = 1 + self._draws(ids, classes.START_ENERGY, int(2 * meal))
        self._heap.new(cls, len(ids), id=ids, place=self._cells[place], energy=energy)

    def advance(self) -> None:
        """One step: all walk, sheep graze, wolves hunt, grass grows."""
        self._launch.repeat("step", self._step)

    def _step(self) -> None:
        for_all, clock = self._launch.for_all, self._clock
        for_all(Clock, "tick")
        for_all(Animal, "walk", clock)
        for_all(Sheep, "live", clock)
        for turn in range(classes.TURNS):
            if turn > 0:
                for_all(Cell, "forget_hunt")
            for_all(Sheep, "appear")
            for_all(Wolf, "hunt", clock, turn)
            for_all(Animal, "end_hunt")
        for_all(Wolf, "live", clock)
        for_all(Cell, "grow")

    def counts(self) -> dict[str, int]:
        return {
            "sheep": len(self._heap.all(Sheep)),
            "wolves": len(self._heap.all(Wolf)),
            "grown cells": int((self.countdowns() == 0).sum()),
        }

    def countdowns(self) -> Array:
        """Of the grass of all cells, of shape (height, width)."""
        return np.array(self._cells.countdown.numpy()).reshape(self.shape)

    def animals(self, cls: type) -> tuple[Array, Array, Array]:
        """Ids, ascending, with cells and energies, of all animals of a class."""
        all_of_them = self._heap.all(cls)
        ids = all_of_them.id.numpy()
        order = np.argsort(ids)
        places = IndexOf(self._cells)(all_of_them.place.numpy())
        return ids[order], places[order], all_of_them.energy.numpy()[order]
