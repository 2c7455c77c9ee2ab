"""Sampled threads look for neighbours in a grid as it is in memory."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32

from .touching import sampled, touched


class Dot(oa.Object):
    x: f32
    y: f32
    weight: f32
    total: f32


@oa.kernel
def meet(dots: oa.Array[Dot], grid: oa.HashGrid[Dot]):
    dot = dots[oa.grid(1)]
    for other in grid.near(dot.x, dot.y, 0.3):
        if other is not dot:
            dot.total += other.weight


def test_threads_touch_whom_they_find(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs, each in a cell of its own, so that no loop is cut short."""
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32):
        numbers = np.arange(32) // 2
        dots = oa.new(Dot, 32, x=numbers % 4 + 0.4, y=numbers // 4 + 0.4)
        dots[1::2].x += 0.2
        dots = dots[np.random.default_rng(1).permutation(32)]
        grid = oa.HashGrid(cell=1.0, size=(4, 4), periodic=True)
        grid.build(dots)
        found = sampled(monkeypatch, meet, (32, 1), dots, grid)
        assert {*found} == touched(monkeypatch, meet, (32, 1), dots, grid)
        assert sum(name == "weight" for _, _, name, _, _ in found) == 32
