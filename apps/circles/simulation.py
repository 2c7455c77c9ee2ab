"""The circles, and a step of theirs."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

import sharedoa as oa

from ..common.counter_random import draws, shares
from ..common.launches import Launches
from ..common.space import along_cells, components, set_components
from .classes import RADIUS, Circle

Array = np.ndarray[Any, Any]


class Simulation:
    """``count`` circles, at first anywhere in a cube of ``side``. They are numbered along the cells
    of the grid, so that those near in space are so in memory."""

    def __init__(self, heap: Any, count: int, side: float, seed: int, launches: Launches) -> None:
        self._launch, self._heap, self.side = launches, heap, side
        numbers = np.arange(count)
        places = np.stack([shares(draws(seed, 0, numbers, axis)) for axis in range(3)], axis=1)
        self.circles = heap.new(Circle, count)
        set_components(self.circles.pos, along_cells(places * np.float32(side), RADIUS))
        self._grid = oa.HashGrid(cell=RADIUS, size=(side, side, side))

    def advance(self) -> None:
        """One step: all feel, then all move."""
        self._launch.repeat("step", self._step)

    def _step(self) -> None:
        self._launch.build(self._grid, self._heap.all(Circle), "pos")
        self._launch.for_all(Circle, "feel", self._grid, RADIUS)
        self._launch.for_all(Circle, "move")

    def positions(self) -> Array:
        """Of shape (circles, 3)."""
        return components(self.circles.pos)

    def pushes(self) -> Array:
        """How far each moved in the last step, of shape (circles, 3)."""
        return components(self.circles.push)

    def counts(self) -> dict[str, int]:
        """``near`` adds up the circles that each felt in the last step; ``drift`` is how far they
        moved then, in the mean; ``checksum`` is the CRC-32 of all positions."""
        pushes = self.pushes().astype(np.float64)
        drift = float(np.sqrt((pushes * pushes).sum(axis=1)).mean())
        return {
            "circles": len(self.circles),
            "near": int(self.circles.seen.numpy().sum(dtype=np.int64)),
            "drift in millionths": round(drift * 10**6),
            "checksum": zlib.crc32(self.positions().tobytes()),
        }
