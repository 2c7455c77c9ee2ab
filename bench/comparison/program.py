"""What a peer's program and its measurement are; times by the host's clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Steps between the first, which compiles, and the first that is timed.
WARM_UP = 3
#: A processor's step that takes long is timed less often: seconds, and the least samples.
_PATIENCE, _FEWEST = 0.3, 5


@dataclass
class Program:
    """One peer's form of a case. ``step`` queues one step, ``result`` waits and gives what is
    checked, ``check`` raises WrongResult if that is wrong after so many steps; ``source`` is what
    the user wrote."""

    step: Callable[[], None]
    result: Callable[[], Array]
    check: Callable[[Array, int], None]
    source: str
    #: Steps taken so far.
    steps: int = 0

    def advance(self) -> None:
        self.steps += 1
        self.step()

    def verify(self) -> None:
        """Raise WrongResult if the steps taken so far computed something else than NumPy."""
        self.check(self.result(), self.steps)


@dataclass
class Measurement:
    """Seconds. ``samples`` of a step on the device, ``host`` of what the host does to launch it,
    ``first`` of the first step, with compilation. ``lines`` of user code."""

    variant: str
    samples: list[float]
    host: list[float]
    first: float
    lines: int
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NotMeasured:
    """A form of a case that there is no time of, and why."""

    variant: str
    reason: str


Found = Iterator[Measurement | NotMeasured]


def seconds_of(action: Callable[[], None]) -> float:
    begun = perf_counter()
    action()
    return perf_counter() - begun


def host_samples(step: Callable[[], None], wait: Callable[[], None], repeat: int) -> list[float]:
    """Seconds that the host needs to queue each of ``repeat`` steps, on an idle device."""
    found = []
    for _ in range(repeat):
        wait()
        found.append(seconds_of(step))
    wait()
    return found


def clock_samples(step: Callable[[], None], repeat: int) -> list[float]:
    """Seconds of each of at most ``repeat`` steps that return when they are done."""
    step()
    found: list[float] = []
    while len(found) < repeat and (len(found) < _FEWEST or sum(found) < _PATIENCE):
        found.append(seconds_of(step))
    return found
