"""Every program says which kernels it launches, when it is asked to."""

from __future__ import annotations

from collections import Counter

import pytest

from apps.interface import RunOptions
from apps.registry import APPS

SIZES = {
    "traffic": 20, "game_of_life": 30, "structure": 300, "generation": 221, "routes": 100,
    "raytracer": 16, "scalability": 1024,
}  # fmt: skip
GRAPH = 200


@pytest.mark.parametrize("name", APPS)
def test_launches_are_watched(name):
    seen: Counter[str] = Counter()
    options = RunOptions(
        size=SIZES.get(name, GRAPH),
        steps=2,
        backend="cpu",
        time_kernels=True,
        on_launch=lambda kernel: seen.update([kernel.name]),
    )
    timings = APPS[name].run(options).timings
    timed = {key.removeprefix("kernel ") for key in timings if key.startswith("kernel ")}
    assert set(seen) == timed
    # Whatever else is launched once, some kernel is launched in every step.
    assert max(seen.values()) >= 2
