"""Programs count the same in tiles as in records, whichever way a call finds its method."""

from __future__ import annotations

import pytest

from apps.interface import RunOptions
from apps.registry import APPS

from .test_launches import GRAPH, SIZES

#: Programs whose own tests compare them with an oracle in records and in tiles.
ELSEWHERE = {
    "wator", "sugarscape", "wolf_sheep", "forest_fire", "wealth", "schelling", "flocking",
    "circles", "boids", "nbody", "collision", "barnes_hut", "sssp", "kcore", "triangles",
    "label_propagation",
}  # fmt: skip
MODES = ("auto", "coal", "typepointer", "tag+switch")
NATURAL = ("traffic", "game_of_life", "structure", "generation", "raytracer")
FLAVOURS = [
    *((name, False) for name in APPS if name not in ELSEWHERE),
    *((name, True) for name in NATURAL),
]
RUNS = [
    pytest.param(
        *flavour,
        MODES[number % len(MODES)],
        # What the others have with other vertices.
        marks=[pytest.mark.slow] * flavour[0].endswith("_ven"),
    )
    for number, flavour in enumerate(FLAVOURS)
]


@pytest.mark.parametrize(("name", "natural", "mode"), RUNS)
def test_the_layout_changes_no_result(name: str, natural: bool, mode: str) -> None:
    counts = [
        APPS[name].run(
            RunOptions(
                size=SIZES.get(name, GRAPH),
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
