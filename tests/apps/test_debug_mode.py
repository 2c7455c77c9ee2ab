"""Programs in tiles and in debug mode, which reports nothing that they do, count what they count in
records without it, whichever way a call finds its method."""

from __future__ import annotations

from typing import Any

import pytest

from apps.interface import RunOptions
from apps.registry import APPS

#: Programs whose own tests do this.
ELSEWHERE = {
    "game_of_life", "structure", "generation", "raytracer", "wator", "sugarscape", "wolf_sheep",
    "forest_fire", "wealth", "schelling", "flocking", "circles", "boids", "nbody", "collision",
    "barnes_hut",
}  # fmt: skip
#: Size and steps of the others, as small as the program allows.
SIZES = {
    "traffic": (2, 6), "bfs": (150, 20), "cc": (150, 20), "pagerank": (150, 3),
    "bfs_ven": (150, 20), "cc_ven": (150, 20), "pagerank_ven": (150, 3), "sssp": (150, 20),
    "kcore": (150, 20), "triangles": (150, 2), "label_propagation": (150, 6), "routes": (100, 4),
    "scalability": (2000, 2),
}  # fmt: skip
MODES = ("auto", "coal", "typepointer", "tag+switch")
SLOW = ("cc", "label_propagation")
FLAVOURS = [*((name, False) for name in SIZES), ("traffic", True)]
RUNS = [
    # What the suites of graphs differ in is of no moment here, and a few of them are enough.
    pytest.param(
        *flavour,
        MODES[number % len(MODES)],
        marks=pytest.mark.slow if flavour[0].endswith("_ven") or flavour[0] in SLOW else (),
    )
    for number, flavour in enumerate(FLAVOURS)
]


def test_every_program_has_a_size() -> None:
    assert {*SIZES} | ELSEWHERE == {*APPS}


@pytest.mark.parametrize(("name", "natural", "mode"), RUNS)
def test_programs_have_no_races(
    name: str, natural: bool, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = APPS[name]
    size, steps = SIZES[name]
    monkeypatch.setenv("SHAREDOA_CAPACITY", "512MiB")
    found: list[tuple[dict[str, Any], int]] = []
    for debug, layout in ((False, "aos"), (True, "tile")):
        monkeypatch.setenv("SHAREDOA_DEBUG", str(int(debug)))
        options = RunOptions(
            size=size, steps=steps, mode=mode, backend="cpu", layout=layout, natural=natural,
            check=debug,
        )  # fmt: skip
        result = app.run(options)
        assert result.heap_settings["debug"] is debug
        found.append((result.counts, result.objects))
    assert found[0] == found[1]
