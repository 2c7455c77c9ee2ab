"""The program against the oracle, body by body, to the last bit."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sharedoa as oa
from apps.common.gravity import Vector, attraction, turned_back
from apps.common.launches import Launches
from apps.interface import CheckFailed, RunOptions
from apps.nbody.classes import Body
from apps.nbody.program import _check
from apps.nbody.simulation import Simulation
from apps.registry import APPS
from dispatch.mode import MODES
from sharedoa import f32
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Bodies, first_state

NBODY = APPS["nbody"]


@contextmanager
def simulation(count: int, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, count, 42, Launches(heap, False))


def require_as_oracle(count: int, steps: int, hurry: float = 1, **options: Any) -> None:
    """Bodies that are ``hurry`` times as fast at first come to the border."""
    bodies = Bodies(count, 42)
    bodies.speeds *= np.float32(hurry)
    with simulation(count, **options) as running:
        velocity = oa.all(Body).velocity
        velocity["x"], velocity["y"] = bodies.speeds.T
        for step in range(steps + 1):
            if step > 0:
                running.advance()
                bodies.step()
            assert np.array_equal(running.positions(), bodies.places)
            assert np.array_equal(running.velocities(), bodies.speeds)
        assert np.array_equal(running.masses(), bodies.masses)


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(6))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(60, 5, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(("count", "steps"), [(1, 5), (2, 5), (33, 40), (700, 4)])
def test_sizes(count: int, steps: int) -> None:
    require_as_oracle(count, steps, hurry=2000, backend="cpu")


def test_cpython() -> None:
    require_as_oracle(25, 3, hurry=2000, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(40, 2, hurry=2000, backend=InterpretedGpu())


def test_debug_mode() -> None:
    require_as_oracle(60, 5, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(700, 20, hurry=200, backend="cuda", mode=mode)


@pytest.mark.gpu
def test_full_size_on_a_gpu() -> None:
    """As on the CPU, where it takes a minute."""
    counts = NBODY.run(RunOptions(size=20_000, steps=100, backend="cuda")).counts
    assert counts == {"bodies": 20_000, "checksum": 3324061929}


@pytest.mark.slow
def test_a_hundred_steps() -> None:
    require_as_oracle(2000, 100, hurry=20, backend="cpu")


def test_the_start() -> None:
    """All numbers are from the whole of their range, and those of one body are not of another."""
    positions, velocities, masses = first_state(42, 1000, 1000.0)
    with simulation(1000, backend="cpu") as running:
        assert np.array_equal(running.positions(), positions)
        assert np.array_equal(running.velocities(), velocities)
        assert np.array_equal(running.masses(), masses)
    for values, low, high in [(positions, -1, 1), (velocities, -5e-4, 5e-4), (masses, 500, 1000)]:
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high >= values.max() > high - 0.01 * (high - low)
        assert len(np.unique(values)) > 0.99 * values.size


def test_two_bodies_fall_towards_each_other() -> None:
    """Momentum stays, and the lighter one is the faster."""
    with simulation(2, backend="cpu") as running:
        bodies = oa.all(Body)
        bodies.velocity["x"] = bodies.velocity["y"] = 0.0
        bodies.pos["x"], bodies.pos["y"], bodies.mass = [-0.5, 0.5], 0.0, [1e6, 3e6]
        before = running.positions()
        for _ in range(10):
            running.advance()
        light, heavy = (running.positions() - before)[:, 0].tolist()
        assert light > 0 > heavy
        assert 2.9 < light / -heavy < 3.1
        assert not running.velocities()[:, 1].any()


def test_what_is_at_one_place_pulls_nowhere() -> None:
    for mass in (0.0, 1.0, 1e20):
        none = attraction(Vector(0.0, 0.0), f32(mass))
        assert (none.x, none.y) == (0.0, 0.0)
    # At a distance of 1 the damping is a 20th.
    pull = attraction(Vector(0.0, -1.0), f32(2.1))
    assert (pull.x, float(pull.y)) == (0.0, pytest.approx(-2.0, rel=1e-6))


@pytest.mark.parametrize(
    ("x", "y", "turned"),
    [
        (0.5, -0.5, (1.0, 2.0)),
        (1.0, -1.0, (1.0, 2.0)),
        (1.01, 0.0, (-1.0, 2.0)),
        (0.0, -1.01, (1.0, -2.0)),
        (-1.01, 1.01, (-1.0, -2.0)),
    ],
)
def test_turning_at_the_border(x: float, y: float, turned: tuple[float, float]) -> None:
    velocity = turned_back(Vector(1.0, 2.0), Vector(f32(x), f32(y)))
    assert (velocity.x, velocity.y) == turned


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "bodies.gif"
    arguments = ["run", "nbody", "--size", "50", "--steps", "4", "--backend", "cpu", "--check"]
    arguments += ["--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    bodies = Bodies(50, 42)
    for _ in range(4):
        bodies.step()
    counts = json.loads(record.read_text())["run"]["counts"]
    assert counts == {"bodies": 50, "checksum": zlib.crc32(bodies.places.tobytes())}
    assert film.stat().st_size > 1000


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda bodies: bodies.pos.__setitem__("y", -1.5), "step 3: a body has left the square"),
        (lambda bodies: setattr(bodies, "mass", 20.0), "step 3: a body weighs 20.0"),
    ],
)
def test_a_check_that_fails(change: Any, complaint: str) -> None:
    with simulation(9, backend="cpu") as running:
        running.advance()
        assert len(_check(running, 3)) == 2
        change(oa.all(Body))
        with pytest.raises(CheckFailed, match=complaint):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (RunOptions(steps=1, natural=True), "one flavour"),
        (RunOptions(steps=1, input=Path("bodies.txt")), "not read from files"),
        (RunOptions(steps=1, size=0), "cannot be 0 bodies"),
    ],
)
def test_refused(options: RunOptions, complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        NBODY.run(options)
