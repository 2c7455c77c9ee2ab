"""Programs count the same in tiles as in records, whichever way a call finds its method."""

from __future__ import annotations

import pytest

from apps.interface import RunOptions
from apps.registry import APPS

from .test_debug_mode import MODES
from .test_debug_mode import SIZES as BOTH_AT_ONCE
from .test_launches import SIZES

#: Programs of which ``test_debug_mode``, or tests of their own, compare records and tiles.
ELSEWHERE = {
    "wator", "sugarscape", "wolf_sheep", "forest_fire", "wealth", "schelling", "flocking",
    "circles", "boids", "nbody", "collision", "barnes_hut", *BOTH_AT_ONCE,
}  # fmt: skip
NATURAL = ("game_of_life", "structure", "generation", "raytracer")
FLAVOURS = [
    *((name, False) for name in APPS if name not in ELSEWHERE),
    *((name, True) for name in NATURAL),
]
#: Of a program with two flavours the other one is slow: what they differ in is of no moment here.
SLOW = {*((name, name == "raytracer") for name in NATURAL), ("generation", True)}
RUNS = [
    pytest.param(
        *flavour,
        MODES[number % len(MODES)],
        marks=pytest.mark.slow if flavour in SLOW else (),
    )
    for number, flavour in enumerate(FLAVOURS)
]


@pytest.mark.parametrize(("name", "natural", "mode"), RUNS)
def test_the_layout_changes_no_result(name: str, natural: bool, mode: str) -> None:
    counts = [
        APPS[name].run(
            RunOptions(
                size=SIZES[name],
                steps=5,
                mode=mode,
                backend="cpu",
                layout=layout,
                natural=natural,
                check=layout == "tile",
            )
        )
        for layout in ("aos", "tile")
    ]
    assert counts[0].counts == counts[1].counts
    assert counts[0].objects == counts[1].objects
