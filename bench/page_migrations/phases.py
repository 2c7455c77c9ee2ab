"""The four parts of a program's run, as its own phases and CUPTI's clock tell them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FIRST_STEP = "first step"
#: Before: reading the input and making objects. The first step compiles and sends to the device
#: what the host made. After: the results are read.
PARTS = ("before", FIRST_STEP, "later steps", "after")


@dataclass(frozen=True)
class Boundaries:
    """When the first step began and ended, and the last one ended: nanoseconds."""

    steps_begin: int
    first_ends: int
    steps_end: int

    def part(self, moment: int) -> str:
        """The part of the run that something belongs to that began at ``moment``."""
        ends = (self.steps_begin, self.first_ends, self.steps_end)
        return PARTS[sum(moment >= end for end in ends)]


class PhaseClock:
    """Hears of a program's phases (``apps.common.phases.watched``) and notes the time of each,
    after waiting for the device, so that nothing runs across a boundary."""

    def __init__(self, now: Callable[[], int], synchronize: Callable[[], None]) -> None:
        self._now, self._synchronize = now, synchronize
        self._marks: list[tuple[str | None, int]] = []

    def __call__(self, phase: str | None) -> None:
        self._synchronize()
        self._marks.append((phase, self._now()))

    def boundaries(self) -> Boundaries:
        """Raises AssertionError for a program that made no step."""
        names = [name for name, _ in self._marks]
        if FIRST_STEP not in names:
            raise AssertionError(f"the program made no step: its phases are {names}")
        first = names.index(FIRST_STEP)
        times = [time for _, time in self._marks]
        return Boundaries(times[first], times[first + 1], times[-1])
