"""The bodies, and a step of theirs."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from ..common.gravity import start
from ..common.launches import Launches
from .classes import Body, PointMass

Array = np.ndarray[Any, Any]

#: At the start.
HEAVIEST = 75.0


class State(NamedTuple):
    """The bodies that are left by their numbers, ascending; positions and velocities have shape
    (bodies, 2)."""

    numbers: Array
    positions: Array
    velocities: Array
    masses: Array


class Simulation:
    """``count`` bodies at first, in the square from -1 to 1. They merge within ``contact``."""

    def __init__(
        self, heap: Any, count: int, contact: float, seed: int, launches: Launches
    ) -> None:
        self._heap, self._launch, self._contact = heap, launches, contact
        positions, velocities, masses = start(seed, count, HEAVIEST)
        self._bodies = heap.new(Body, count, mass=masses, number=np.arange(count))
        self._bodies.pos["x"], self._bodies.pos["y"] = positions
        self._bodies.velocity["x"], self._bodies.velocity["y"] = velocities
        self.whole_mass = float(masses.sum(dtype=np.float64))
        self._crowd = heap.zeros(count, PointMass)
        self._launch.for_all(Body, "show", self._crowd)

    def advance(self) -> None:
        """One step: all move, then those that have met merge."""
        self._launch.repeat("step", self._step)

    def _step(self) -> None:
        for_all, crowd, bodies = self._launch.for_all, self._crowd, self._bodies
        for_all(Body, "move", crowd)
        for_all(Body, "show", crowd)
        for_all(Body, "call", crowd, bodies, self._contact)
        for_all(Body, "merge", crowd, bodies)

    def state(self) -> State:
        left = self._heap.all(Body)
        numbers = left.number.numpy()
        order = np.argsort(numbers)
        positions, velocities = (
            np.stack([each["x"].numpy(), each["y"].numpy()], axis=1)[order]
            for each in (left.pos, left.velocity)
        )
        return State(numbers[order], positions, velocities, left.mass.numpy()[order])

    def shown_masses(self) -> Array:
        """What the others see of each body of the start, by number."""
        return np.array(self._crowd.numpy()["mass"])

    def counts(self) -> dict[str, int]:
        """``checksum`` is the CRC-32 of all positions, by number."""
        state = self.state()
        return {"bodies": len(state.numbers), "checksum": zlib.crc32(state.positions.tobytes())}
