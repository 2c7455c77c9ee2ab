"""The people, and a step of theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.launches import Launches
from .classes import Person

Array = np.ndarray[Any, Any]


class Simulation:
    """Each of ``count`` people has 1 at first."""

    def __init__(self, heap: Any, count: int, seed: int, launches: Launches) -> None:
        self._launch, self._seed = launches, seed
        self._step = 0
        self._people = heap.new(Person, count, number=np.arange(count, dtype=np.uint32), wealth=1)

    def advance(self) -> None:
        self._step += 1
        self._launch.for_all(Person, "give", self._people, self._seed, self._step)
        self._launch.for_all(Person, "settle")

    def wealths(self) -> Array:
        """What each has, in the order of numbers."""
        return np.array(self._people.wealth.numpy())

    def counts(self) -> dict[str, int]:
        wealths = self.wealths()
        return {
            "people": len(wealths),
            "who have nothing": int((wealths == 0).sum()),
            "richest": int(wealths.max()),
            "gini in millionths": gini(wealths, 10**6),
        }


def gini(wealths: Array, unit: int) -> int:
    """The Gini coefficient in parts of ``unit``, rounded down: the sum of all differences of two
    people, by the number of people and their wealth."""
    count, total = len(wealths), int(wealths.sum(dtype=np.int64))
    # Two people differ by 1 for each wealth that one has at most and the other exceeds.
    at_most = np.bincount(wealths).cumsum().tolist()
    return unit * sum(number * (count - number) for number in at_most) // (count * total)
