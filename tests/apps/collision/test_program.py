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
from apps.collision.classes import Body
from apps.collision.program import _check
from apps.collision.simulation import Simulation, State
from apps.common.launches import Launches
from apps.interface import CheckFailed, RunOptions
from apps.registry import APPS
from dispatch.mode import MODES
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Crowd

COLLISION = APPS["collision"]


@contextmanager
def simulation(count: int, contact: float, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, count, contact, 42, Launches(heap, False))


def require_equal(running: Simulation, crowd: Crowd) -> None:
    state = State(crowd.numbers, crowd.places, crowd.speeds, crowd.masses)
    for found, expected in zip(running.state(), state, strict=True):
        assert np.array_equal(found, expected)


def require_as_oracle(count: int, contact: float, steps: int, **options: Any) -> Crowd:
    crowd = Crowd(count, contact, 42)
    with simulation(count, contact, **options) as running:
        require_equal(running, crowd)
        for _ in range(steps):
            running.advance()
            crowd.step()
            require_equal(running, crowd)
        _check(running, steps)
    return crowd


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(3))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(80, 0.3, 5, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("count", "contact", "left"),
    [
        pytest.param(1, 1.0, 1, marks=pytest.mark.slow),
        (2, 5.0, 1),
        pytest.param(60, 0.0, 60, marks=pytest.mark.slow),
        (33, 5.0, 1),
        (500, 0.05, 323),
    ],
    ids=["alone", "two", "without contact", "all at once", "many"],
)
def test_sizes(count: int, contact: float, left: int) -> None:
    crowd = require_as_oracle(count, contact, 40 if count == 33 else 12, backend="cpu")
    assert len(crowd.numbers) == left


@pytest.mark.slow
def test_cpython() -> None:
    require_as_oracle(30, 0.4, 3, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(40, 0.3, 2, backend=InterpretedGpu())


def test_debug_mode() -> None:
    require_as_oracle(60, 0.3, 5, backend="cpu", debug=True)


def test_there_is_something_to_decide() -> None:
    """At the size of the tests above several bodies ask for one, and goals have goals."""
    crowd = Crowd(80, 0.3, 42)
    crowd.step()
    assert min(crowd.contested, crowd.waiting, crowd.merged) > 5
    for _ in range(4):
        crowd.step()
    assert crowd.merged > 0


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(700, 0.05, 30, backend="cuda", mode=mode)


@pytest.mark.gpu
def test_full_size_on_a_gpu() -> None:
    """As on the CPU, where it takes five minutes."""
    counts = COLLISION.run(RunOptions(size=40_000, steps=50, backend="cuda")).counts
    assert counts == {"bodies": 27_177, "checksum": 1561767566}


@pytest.mark.slow
def test_fifty_steps() -> None:
    require_as_oracle(3000, 0.02, 50, backend="cpu")


def step_of(places: list[tuple[float, float]], masses: list[float]) -> State:
    """What a step makes of bodies at rest that merge within 0.1."""
    with simulation(len(places), 0.1, backend="cpu") as running:
        bodies = oa.all(Body)
        bodies.velocity["x"] = bodies.velocity["y"] = 0.0
        bodies.pos["x"], bodies.pos["y"] = np.array(places).T
        bodies.mass = masses
        running._launch.for_all(Body, "show", running._crowd)
        running.advance()
        return running.state()


def test_two_that_meet() -> None:
    """The lighter one stays, in their middle, with the mass of both."""
    state = step_of([(0.0, 0.0), (0.05, 0.0), (0.5, 0.5)], [2.0, 1.0, 9.0])
    assert state.numbers.tolist() == [1, 2]
    assert state.masses.tolist() == [3.0, 9.0]
    assert state.positions[0] == pytest.approx([0.025, 0.0], abs=1e-6)


def test_equal_ones_stay_apart() -> None:
    assert len(step_of([(0.0, 0.0), (0.05, 0.0)], [2.0, 2.0]).numbers) == 2


def test_the_nearest_heavier_one_is_asked() -> None:
    state = step_of([(0.0, 0.0), (0.06, 0.0), (-0.04, 0.0)], [1.0, 5.0, 2.0])
    assert state.numbers.tolist() == [0, 1]
    assert state.masses.tolist() == [3.0, 5.0]


def test_of_several_that_ask_the_lowest_number_is_chosen() -> None:
    state = step_of([(0.0, 0.05), (0.0, 0.0), (0.0, -0.04)], [1.0, 5.0, 2.0])
    assert state.numbers.tolist() == [0, 2]
    assert state.masses.tolist() == [6.0, 2.0]


def test_a_goal_that_has_a_goal_is_no_place_to_go() -> None:
    """The heaviest of a chain waits for its neighbour to merge."""
    state = step_of([(0.0, 0.0), (0.08, 0.0), (0.16, 0.0)], [1.0, 2.0, 3.0])
    assert state.numbers.tolist() == [0, 2]
    assert state.masses.tolist() == [3.0, 3.0]


def test_momentum_is_kept() -> None:
    with simulation(300, 0.1, backend="cpu") as running:
        state = running.state()
        before = (state.velocities * state.masses[:, None]).sum(axis=0, dtype=np.float64)
        running.advance()
        state = running.state()
        after = (state.velocities * state.masses[:, None]).sum(axis=0, dtype=np.float64)
        assert len(state.numbers) < 250
        # What the bodies pull adds a ten-thousandth at most.
        assert after == pytest.approx(before, abs=1e-4)


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "bodies.gif"
    arguments = ["run", "collision", "--size", "200", "--set", "contact=100", "--steps", "4"]
    arguments += ["--backend", "cpu", "--check", "--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    crowd = Crowd(200, 0.1, 42)
    for _ in range(4):
        crowd.step()
    counts = json.loads(record.read_text())["run"]["counts"]
    assert counts["bodies"] == len(crowd.numbers) < 150
    assert counts["checksum"] == zlib.crc32(crowd.places.tobytes())
    assert film.stat().st_size > 1000


def test_checks_that_fail() -> None:
    with simulation(9, 0.1, backend="cpu") as running:
        running.advance()
        assert len(_check(running, 3)) == 2
        mass = oa.all(Body).mass.numpy().copy()
        oa.all(Body).mass = mass[::-1].copy()
        with pytest.raises(CheckFailed, match=r"step 3: of \d bodies others see another mass"):
            _check(running, 3)
        oa.all(Body).mass = mass * np.float32(1.01)
        with pytest.raises(CheckFailed, match=r"step 3: bodies weigh .*, not "):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("bodies.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=0), {}, "cannot be 0 bodies"),
        (RunOptions(steps=1), {"contact": -1}, "within -1 thousandths"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises((ArgumentError, oa.HeapError), match=complaint):
        COLLISION.run(options, **settings)
