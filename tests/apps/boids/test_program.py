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
from apps.boids.classes import Boid, from_walls, held
from apps.boids.program import _check
from apps.boids.simulation import Simulation
from apps.common.launches import Launches
from apps.interface import CheckFailed, RunOptions
from apps.registry import APPS
from dispatch.mode import MODES
from sharedoa import f32
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Flock

BOIDS = APPS["boids"]


@contextmanager
def simulation(count: int, sight: float, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, count, sight, 42, Launches(heap, False))


def require_as_oracle(count: int, sight: float, steps: int, **options: Any) -> None:
    flock = Flock(count, sight, 42)
    with simulation(count, sight, **options) as running:
        for step in range(steps + 1):
            if step > 0:
                running.advance()
                flock.step()
            assert np.array_equal(running.positions(), flock.places)
            assert np.array_equal(running.velocities(), flock.velocities)
            assert running.counts()["in sight"] == flock.in_sight


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(1))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(40, 0.3, 3, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("count", "sight", "steps"),
    [(1, 0.05, 4), (50, 1.0, 4), (150, 0.2, 5), (30, 0.02, 5)],
    ids=["alone", "all see all", "many cells", "far apart"],
)
def test_sizes(count: int, sight: float, steps: int) -> None:
    require_as_oracle(count, sight, steps, backend="cpu")


def test_a_crowd() -> None:
    """Birds at the walls and in the corner, of which many are too near to each other."""
    flock = Flock(60, 0.1, 42)
    flock.places = flock.places * np.float32(0.04)
    flock.places[::7] = np.float32(1) - flock.places[::7]
    with simulation(60, 0.1, backend="cpu") as running:
        for axis, column in zip("xyz", flock.places.T, strict=True):
            oa.all(Boid).pos[axis] = column
        for _ in range(10):
            running.advance()
            flock.step()
        assert np.array_equal(running.positions(), flock.places)
        assert np.array_equal(running.velocities(), flock.velocities)


def test_cpython() -> None:
    require_as_oracle(20, 0.3, 2, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(40, 0.3, 2, backend=InterpretedGpu())


@pytest.mark.slow
def test_debug_mode() -> None:
    require_as_oracle(40, 0.3, 3, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(300, 0.15, 20, backend="cuda", mode=mode)


@pytest.mark.parametrize(("x", "added"), [(0.05, 0.05), (0.5, 0.0), (0.95, -0.05), (0.1, 0.0)])
def test_walls(x: float, added: float) -> None:
    assert from_walls(f32(x)) == f32(added)


@pytest.mark.parametrize(("x", "place"), [(-0.5, 0.0), (0.0, 0.0), (0.5, 0.5), (1.25, 1.0)])
def test_held_in_the_cube(x: float, place: float) -> None:
    assert held(f32(x)) == place


def test_a_bird_that_wishes_nothing_stands() -> None:
    """Without a velocity, nobody in sight and far from walls there is no direction to take."""
    with simulation(1, 0.05, backend="cpu") as running:
        for axis in "xyz":
            oa.all(Boid).velocity[axis] = 0.0
            oa.all(Boid).pos[axis] = 0.5
        running.advance()
        assert (running.positions() == 0.5).all()


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "boids.gif"
    arguments = ["run", "boids", "--size", "60", "--set", "sight=200", "--steps", "3", "--check"]
    arguments += ["--backend", "cpu", "--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    flock = Flock(60, 0.2, 42)
    for _ in range(3):
        flock.step()
    counts = json.loads(record.read_text())["run"]["counts"]
    assert (counts["birds"], counts["in sight"]) == (60, flock.in_sight)
    assert film.stat().st_size > 1000


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [("pos", 1.5, "step 3: a bird has left the cube"), ("velocity", 1.2, "flies at a speed of 1")],
)
def test_a_check_that_fails(field: str, value: float, complaint: str) -> None:
    with simulation(9, 0.1, backend="cpu") as running:
        running.advance()
        assert len(_check(running, 3)) == 2
        getattr(oa.all(Boid), field)["x"] = value
        with pytest.raises(CheckFailed, match=complaint):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("birds.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=0), {}, "0 birds are no flock"),
        (RunOptions(steps=1), {"sight": 0}, "as far as 0 thousandths"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        BOIDS.run(options, **settings)
