"""In which order steps are taken again, so that they can be reversed with few states in memory.

The schedule is binomial: with s states, C(s + t, s) steps can be reversed so that none is taken
more than t times on the way back, and no schedule does with fewer steps in all (Griewank and
Walther, "Algorithm 799: revolve", ACM TOMS 26(1), 2000).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Literal, NamedTuple


class Action(NamedTuple):
    """``store`` the state before step ``step``, ``drop`` it, or ``reverse`` the step; each from
    the nearest stored state before."""

    kind: Literal["store", "drop", "reverse"]
    step: int


def schedule(steps: int, states: int) -> Iterator[Action]:
    """What to do to reverse steps 0 to ``steps - 1``, newest first. The state before step 0 is
    stored, and is one of the ``states``, of which there is one at least."""
    if steps:
        yield from _between(0, steps, states - 1)


def _between(first: int, last: int, free: int) -> Iterator[Action]:
    """Reverse the steps from ``first``, whose state is stored, to the one before ``last``."""
    while last - first > 1 and free:
        middle = first + _ahead(last - first, free + 1)
        yield Action("store", middle)
        yield from _between(middle, last, free - 1)
        yield Action("drop", middle)
        last = middle
    for step in reversed(range(first, last)):
        yield Action("reverse", step)


def _ahead(steps: int, states: int) -> int:
    """How far from the first of some steps the next state is stored, with two states or more."""
    times = 1
    while comb(states + times, states) < steps:
        times += 1
    before = comb(states + times - 2, states)  # 0 where a state for each step is there
    return max(before, steps - comb(states + times - 1, states - 1), 1)
