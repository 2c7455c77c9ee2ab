"""Programs in debug mode: they do nothing that it reports, and count what they count without it."""

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
FLAVOURS = [*((name, False) for name in SIZES), ("traffic", True)]


def test_every_program_has_a_size() -> None:
    assert {*SIZES} | ELSEWHERE == {*APPS}


@pytest.mark.parametrize(("name", "natural"), FLAVOURS)
def test_programs_have_no_races(name: str, natural: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    app = APPS[name]
    size, steps = SIZES[name]
    options = RunOptions(size=size, steps=steps, natural=natural, backend="cpu")
    monkeypatch.setenv("SHAREDOA_CAPACITY", "512MiB")
    counts: list[dict[str, Any]] = []
    for debug in ("0", "1"):
        monkeypatch.setenv("SHAREDOA_DEBUG", debug)
        result = app.run(options)
        assert result.heap_settings["debug"] is (debug == "1")
        counts.append(result.counts)
    assert counts[0] == counts[1]
