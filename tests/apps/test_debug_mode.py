"""Programs in debug mode: they do nothing that it reports, and count what they count without it."""

from __future__ import annotations

from typing import Any

import pytest

from apps.interface import RunOptions
from apps.registry import APPS

#: Size and steps, as small as the program allows.
SIZES = {
    "traffic": (2, 6),
    "game_of_life": (16, 6),
    "structure": (20, 2),
    "generation": (221, 2),
    "bfs": (150, 20),
    "cc": (150, 20),
    "pagerank": (150, 3),
    "bfs_ven": (150, 20),
    "cc_ven": (150, 20),
    "pagerank_ven": (150, 3),
    "sssp": (150, 20),
    "kcore": (150, 20),
    "triangles": (150, 2),
    "label_propagation": (150, 6),
    "routes": (100, 4),
    "raytracer": (8, 1),
    "scalability": (2000, 2),
    "wator": (16, 8),
    "sugarscape": (16, 30),
    "wolf_sheep": (16, 8),
    "forest_fire": (30, 10),
    "wealth": (100, 10),
    "schelling": (16, 8),
    "flocking": (40, 6),
    "circles": (40, 4),
    "boids": (40, 4),
    "nbody": (40, 4),
    "collision": (150, 4),
    "barnes_hut": (30, 2),
}


def test_every_program_has_a_size() -> None:
    assert set(SIZES) == set(APPS)


@pytest.mark.parametrize("natural", [False, True], ids=["faithful", "natural"])
@pytest.mark.parametrize("name", SIZES)
def test_programs_have_no_races(name: str, natural: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    app = APPS[name]
    if natural and not app.has_natural:
        pytest.skip("it has no natural classes")
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
