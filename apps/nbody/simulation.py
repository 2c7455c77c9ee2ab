"""The bodies, and a step of theirs."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from ..common.gravity import start
from ..common.launches import Launches
from .classes import Body

Array = np.ndarray[Any, Any]

HEAVIEST = 1000.0


class Simulation:
    """``count`` bodies in the square from -1 to 1."""

    def __init__(self, heap: Any, count: int, seed: int, launches: Launches) -> None:
        self._launch = launches
        positions, velocities, masses = start(seed, count, HEAVIEST)
        self.bodies = heap.new(Body, count, mass=masses)
        self.bodies.pos["x"], self.bodies.pos["y"] = positions
        self.bodies.velocity["x"], self.bodies.velocity["y"] = velocities

    def advance(self) -> None:
        """One step: all feel what pulls them, then all move."""
        self._launch.repeat("step", self._step)

    def _step(self) -> None:
        self._launch.for_all(Body, "feel", self.bodies)
        self._launch.for_all(Body, "move")

    def positions(self) -> Array:
        """Of shape (bodies, 2)."""
        return _columns(self.bodies.pos)

    def velocities(self) -> Array:
        """Of shape (bodies, 2)."""
        return _columns(self.bodies.velocity)

    def masses(self) -> Array:
        """Of shape (bodies,)."""
        return np.array(self.bodies.mass.numpy())

    def counts(self) -> dict[str, int]:
        """``checksum`` is the CRC-32 of all positions."""
        return {"bodies": len(self.bodies), "checksum": zlib.crc32(self.positions().tobytes())}


def _columns(vectors: Any) -> Array:
    return np.stack([vectors["x"].numpy(), vectors["y"].numpy()], axis=1)
