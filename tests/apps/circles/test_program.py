"""The program against the oracle, circle by circle, to the last bit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sharedoa as oa
from apps.circles.classes import Circle, wave
from apps.circles.program import _check, side_of
from apps.circles.simulation import Simulation
from apps.common.launches import Launches
from apps.interface import CheckFailed, RunOptions
from apps.registry import APPS
from dispatch.mode import MODES
from sharedoa import f32
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Circles

CIRCLES = APPS["circles"]


@contextmanager
def simulation(count: int, side: float, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, count, side, 42, Launches(heap, False))


def require_as_oracle(count: int, side: float, steps: int, **options: Any) -> None:
    circles = Circles(count, side, 42)
    with simulation(count, side, **options) as running:
        for step in range(steps + 1):
            if step > 0:
                running.advance()
                circles.step()
            assert np.array_equal(running.positions(), circles.places)
            assert np.array_equal(running.pushes(), circles.pushes)
            assert running.counts()["near"] == circles.near


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(2))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(40, 4.0, 3, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("count", "side", "steps"),
    [(1, 1.0, 3), (50, 1.0, 4), (150, 6.0, 4), (20, 9.0, 4)],
    ids=["alone", "all feel all", "many cells", "far apart"],
)
def test_sizes(count: int, side: float, steps: int) -> None:
    require_as_oracle(count, side, steps, backend="cpu")


def test_cpython() -> None:
    require_as_oracle(20, 4.0, 2, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(40, 4.0, 2, backend=InterpretedGpu())


@pytest.mark.slow
def test_debug_mode() -> None:
    require_as_oracle(40, 4.0, 3, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(300, 6.0, 20, backend="cuda", mode=mode)


def test_the_wave() -> None:
    for x in np.linspace(0, 1, 1001, dtype=np.float32):
        assert abs(wave(f32(x)) - math.sin(-2 * math.pi * float(x))) < 1e-6


def test_circles_come_to_rest() -> None:
    with simulation(512, 8.0, backend="cpu") as running:
        running.advance()
        before = running.counts()["drift in millionths"]
        for _ in range(200):
            running.advance()
        assert running.counts()["drift in millionths"] < 0.6 * before


def test_circles_in_one_place_stay_there() -> None:
    with simulation(3, 5.0, backend="cpu") as running:
        for axis in "xyz":
            oa.all(Circle).pos[axis] = 1.0
        running.advance()
        assert (running.positions() == 1).all() and running.counts()["near"] == 0


@pytest.mark.parametrize(("count", "side"), [(1, 1), (7, 1), (8, 2), (999_999, 99), (10**6, 100)])
def test_the_side(count: int, side: int) -> None:
    assert side_of(count) == side


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "circles.gif"
    arguments = ["run", "circles", "--size", "64", "--steps", "3", "--backend", "cpu", "--check"]
    arguments += ["--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    circles = Circles(64, 4.0, 42)
    for _ in range(3):
        circles.step()
    counts = json.loads(record.read_text())["run"]["counts"]
    assert (counts["circles"], counts["near"]) == (64, circles.near)
    assert film.stat().st_size > 1000


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [("pos", np.nan, "step 3: a circle is nowhere"), ("push", 0.06, "a circle is pushed by 0.06")],
)
def test_a_check_that_fails(field: str, value: float, complaint: str) -> None:
    with simulation(9, 2.0, backend="cpu") as running:
        running.advance()
        assert len(_check(running, 3)) == 2
        getattr(oa.all(Circle), field)["x"] = value
        with pytest.raises(CheckFailed, match=complaint):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (RunOptions(steps=1, natural=True), "one flavour"),
        (RunOptions(steps=1, input=Path("circles.txt")), "not read from files"),
        (RunOptions(steps=1, size=0), "there cannot be 0 circles"),
    ],
)
def test_refused(options: RunOptions, complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        CIRCLES.run(options)
