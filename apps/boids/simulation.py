"""The birds, and a step of theirs."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

import sharedoa as oa

from ..common.counter_random import draws, shares
from ..common.launches import Launches
from ..common.space import along_cells, components, set_components
from .classes import Boid

Array = np.ndarray[Any, Any]

#: What random numbers are drawn for: three for each of place and direction.
START_PLACE, START_DIRECTION, START_SPEED = 0, 3, 6
#: At the start.
SLOWEST, FASTEST = 0.1, 1.0


class Simulation:
    """``count`` birds that see as far as ``sight``, in the cube from 0 to 1. They are numbered
    along the cells of the grid, so that those near in space at first are so in memory."""

    def __init__(self, heap: Any, count: int, sight: float, seed: int, launches: Launches) -> None:
        self._launch, self._heap, self._sight = launches, heap, sight
        numbers = np.arange(count)

        def uniform(purpose: int) -> Array:
            return shares(draws(seed, 0, numbers, purpose))

        places, directions = (
            np.stack([uniform(first + axis) for axis in range(3)], axis=1)
            for first in (START_PLACE, START_DIRECTION)
        )
        directions = directions * np.float32(2) - np.float32(1)
        x, y, z = directions.T
        lengths = np.sqrt(x * x + y * y + z * z)
        lengths[lengths == 0] = 1
        speeds = np.float32(SLOWEST) + uniform(START_SPEED) * np.float32(FASTEST - SLOWEST)
        self.birds = heap.new(Boid, count)
        set_components(self.birds.pos, along_cells(places, sight))
        set_components(self.birds.velocity, directions * (speeds / lengths)[:, None])
        self._grid = oa.HashGrid(cell=sight, size=(1.0, 1.0, 1.0))

    def advance(self) -> None:
        """One step: all look and turn, then all fly."""
        self._launch.repeat("step", self._step)

    def _step(self) -> None:
        self._launch.build(self._grid, self._heap.all(Boid), "pos")
        self._launch.for_all(Boid, "turn", self._grid, self._sight)
        self._launch.for_all(Boid, "fly")

    def positions(self) -> Array:
        """Of shape (birds, 3), each coordinate from 0 to 1."""
        return components(self.birds.pos)

    def velocities(self) -> Array:
        """Of shape (birds, 3)."""
        return components(self.birds.velocity)

    def counts(self) -> dict[str, int]:
        """``in sight`` adds up the birds that each bird saw in the last step; ``checksum`` is the
        CRC-32 of all positions and velocities."""
        state = self.positions().tobytes() + self.velocities().tobytes()
        return {
            "birds": len(self.birds),
            "in sight": int(self.birds.seen.numpy().sum(dtype=np.int64)),
            "checksum": zlib.crc32(state),
        }
