"""The program against the oracle, bird by bird, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sharedoa as oa
from apps.common.launches import Launches
from apps.flocking.classes import Bird, around, shortest
from apps.flocking.program import _check
from apps.flocking.simulation import Simulation
from apps.interface import CheckFailed, RunOptions
from apps.registry import APPS
from dispatch.mode import MODES
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Flock

FLOCKING = APPS["flocking"]


@contextmanager
def simulation(count: int, side: float, sight: float, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, count, side, sight, 42, Launches(heap, False))


def require_as_oracle(count: int, side: float, sight: float, steps: int, **options: Any) -> None:
    flock = Flock(count, side, sight, 42)
    with simulation(count, side, sight, **options) as running:
        for step in range(steps + 1):
            if step > 0:
                running.advance()
                flock.step()
            assert running.positions().tolist() == [list(each) for each in flock.places]
            assert running.velocities().tolist() == [list(each) for each in flock.velocities]
            assert running.counts()["in sight"] == flock.in_sight


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(4))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(60, 40.0, 5.0, 5, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("count", "side", "sight", "steps"),
    [(1, 7.0, 5.0, 10), (100, 12.3, 5.0, 6), (40, 8.0, 15.0, 6), (200, 100.0, 5.0, 4)],
    ids=["alone", "crowded", "all see all", "as published"],
)
def test_sizes(count: int, side: float, sight: float, steps: int) -> None:
    require_as_oracle(count, side, sight, steps, backend="cpu")


@pytest.mark.slow
def test_cpython() -> None:
    require_as_oracle(25, 20.0, 5.0, 3, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(40, 25.0, 5.0, 2, backend=InterpretedGpu())


def test_debug_mode() -> None:
    require_as_oracle(60, 40.0, 5.0, 5, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(200, 100.0, 5.0, 40, backend="cuda", mode=mode)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "side", "sight"), [(200, 100.0, 5.0), (400, 150.0, 15.0)])
def test_a_hundred_steps(count: int, side: float, sight: float) -> None:
    require_as_oracle(count, side, sight, 100, backend="cpu")


def test_birds_come_to_fly_together() -> None:
    """In a plane where all see each other there is one flock in the end."""
    with simulation(80, 20.0, 10.0, backend="cpu") as running:
        before = running.counts()["order in millionths"]
        for _ in range(100):
            running.advance()
        assert before < 300_000 < 750_000 < running.counts()["order in millionths"]


@pytest.mark.parametrize(
    ("offset", "way"), [(3.0, 3.0), (6.0, -4.0), (-6.0, 4.0), (5.0, 5.0), (-5.0, -5.0)]
)
def test_the_shortest_way(offset: float, way: float) -> None:
    assert shortest(offset, 10.0) == way


@pytest.mark.parametrize(
    ("x", "place"), [(0.0, 0.0), (10.0, 0.0), (10.5, 0.5), (-0.5, 9.5), (-1e-300, 0.0)]
)
def test_around_the_plane(x: float, place: float) -> None:
    assert around(x, 10.0) == place


def test_a_bird_that_wishes_nothing_stands() -> None:
    """Without a velocity, and nobody in sight, there is no direction to take."""
    with simulation(1, 50.0, 5.0, backend="cpu") as running:
        oa.all(Bird).velocity["x"], oa.all(Bird).velocity["y"] = 0.0, 0.0
        before = running.positions()
        running.advance()
        assert np.array_equal(running.positions(), before)


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "flock.gif"
    arguments = ["run", "flocking", "--size", "50", "--set", "side=30", "--set", "sight=6"]
    arguments += ["--steps", "4", "--backend", "cpu", "--check", "--json", str(record)]
    arguments += ["--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    flock = Flock(50, 30.0, 6.0, 42)
    for _ in range(4):
        flock.step()
    counts = json.loads(record.read_text())["run"]["counts"]
    assert (counts["birds"], counts["in sight"]) == (50, flock.in_sight)
    assert film.stat().st_size > 1000


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [("pos", 20.0, "step 3: a bird has left the plane"), ("velocity", 0.9, "flies at a speed of")],
)
def test_a_check_that_fails(field: str, value: float, complaint: str) -> None:
    with simulation(9, 20.0, 5.0, backend="cpu") as running:
        running.advance()
        assert len(_check(running, 3)) == 2
        getattr(oa.all(Bird), field)["x"] = value
        with pytest.raises(CheckFailed, match=complaint):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("birds.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=0), {}, "0 birds are no flock"),
        (RunOptions(steps=1), {"side": -1}, "in a plane of -1"),
        (RunOptions(steps=1), {"sight": 0}, "as far as 0"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        FLOCKING.run(options, **settings)
