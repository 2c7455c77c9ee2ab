"""The birds, and a step of theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa

from ..common.counter_random import draws
from ..common.launches import Launches
from .classes import Bird

Array = np.ndarray[Any, Any]

#: What random numbers are drawn for.
START_X, START_Y, START_VELOCITY_X, START_VELOCITY_Y = range(4)


class Simulation:
    """``count`` birds that see as far as ``sight``, in a square of ``side``."""

    def __init__(
        self, heap: Any, count: int, side: float, sight: float, seed: int, launches: Launches
    ) -> None:
        self._launch, self._heap = launches, heap
        self.side, self._sight = side, sight
        numbers = np.arange(count, dtype=np.uint64)

        def shares(purpose: int) -> Array:
            """Of each bird, from 0 to less than 1."""
            found: Array = draws(seed, 0, numbers, purpose) * 2.0**-32
            return found

        self.birds = heap.new(Bird, count)
        self.birds.pos["x"] = shares(START_X) * side
        self.birds.pos["y"] = shares(START_Y) * side
        self.birds.velocity["x"] = shares(START_VELOCITY_X) * 2.0 - 1.0
        self.birds.velocity["y"] = shares(START_VELOCITY_Y) * 2.0 - 1.0
        self._grid = oa.HashGrid(cell=sight, size=(side, side), periodic=True)

    def advance(self) -> None:
        """One step: all look and turn, then all fly."""
        self._launch.build(self._grid, self._heap.all(Bird), "pos")
        self._launch.for_all(Bird, "turn", self._grid, self._sight, self.side)
        self._launch.for_all(Bird, "fly", self.side)

    def positions(self) -> Array:
        """Of shape (birds, 2), each coordinate from 0 to less than the side."""
        return _columns(self.birds.pos)

    def velocities(self) -> Array:
        """Of shape (birds, 2)."""
        return _columns(self.birds.velocity)

    def counts(self) -> dict[str, int]:
        """``in sight`` adds up the birds that each bird saw in the last step. ``order`` is how much
        they fly in one direction, in parts of a million."""
        mean = self.velocities().mean(axis=0)
        return {
            "birds": len(self.birds),
            "in sight": int(self.birds.seen.numpy().sum(dtype=np.int64)),
            "order in millionths": round(float(np.sqrt((mean * mean).sum())) * 10**6),
        }


def _columns(vectors: Any) -> Array:
    return np.stack([vectors["x"].numpy(), vectors["y"].numpy()], axis=1)
