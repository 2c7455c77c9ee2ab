"""F-13: what deciding about fusion takes of a run of traffic."""

from __future__ import annotations

import time
from typing import Any

import pytest

import sharedoa as oa
from apps.common.launches import Launches
from apps.interface import RunOptions
from apps.traffic.program import run
from sharedoa.runtime import knobs
from sharedoa.runtime.fusion import block, plans, steps
from sharedoa.runtime.fusion.grouping import Grouping

from ..modes import rotated

_MOST = 0.05
"""Of the time of the run; PyFuser takes 3.7 % for tracing, 7.7 % with fusion."""
_RUNS = {"captured": (850, 200), "block": (6000, 10)}
"""Intersections and steps. The program captures its steps; 850 are those of its paper, of which
there are 5000 steps. A block in each step records them anew, a greater part of small steps."""
_CAPTURED = pytest.param("captured", marks=pytest.mark.slow)  # which decides but once


class _Spent:
    """Seconds in functions that decide, those that they call included once."""

    def __init__(self) -> None:
        self.seconds, self.calls, self._depth = 0.0, 0, 0

    def watch(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def timed(*given: Any, **named: Any) -> Any:
            self.calls += 1
            self._depth += 1
            start = time.thread_time()
            try:
                return function(*given, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.thread_time() - start

        monkeypatch.setattr(owner, name, timed)


_DECIDING = (
    (steps.StepFusion, "_group"), (Grouping, "holds"), (plans.Plans, "_plan"),
    (block.Fusion, "call_again"), (block.Fusion, "defer_population_call"),
)  # fmt: skip


@pytest.mark.parametrize(("way", "natural"), rotated(["block", _CAPTURED], [True, False]))
def test_deciding_takes_little_of_a_run(
    natural: bool, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-13, of all steps but the first, in which programs are translated and compiled. By the time
    of the thread, as other processes make clocks useless."""
    size, count = _RUNS[way]
    spent, repeat = _Spent(), Launches.repeat
    for owner, name in _DECIDING:
        spent.watch(monkeypatch, owner, name)
    if not natural:  # of the natural flavour some launches do not wait, and are launched in it
        spent.watch(monkeypatch, block.Fusion, "record")
    taken: list[float] = []

    def one_step(launches: Launches, key: Any, sequence: Any) -> None:
        start = time.thread_time()
        if way == "captured":
            repeat(launches, key, sequence)
        else:
            with oa.fuse():
                sequence()
        taken.append(time.thread_time() - start)
        if len(taken) == 1:
            taken[0] = spent.seconds = 0.0

    monkeypatch.setattr(Launches, "repeat", one_step)
    with knobs.scope(fuse="1"):
        run(RunOptions(backend="cpu", size=size, steps=count, seed=1, natural=natural))
    assert len(taken) == count
    assert spent.calls >= (len(taken) if way == "block" else 1)
    assert spent.seconds <= _MOST * sum(taken)
