"""The program against the oracle, person by person."""

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
from apps.interface import CheckFailed, RunOptions
from apps.registry import APPS
from apps.wealth.classes import Person
from apps.wealth.program import _check
from apps.wealth.simulation import Simulation, gini
from dispatch.mode import MODES
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import People

WEALTH = APPS["wealth"]


@contextmanager
def simulation(count: int, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, count, 42, Launches(heap, False))


def require_as_oracle(count: int, steps: int, **options: Any) -> None:
    people = People(count, 42)
    with simulation(count, **options) as running:
        for step in range(steps + 1):
            if step > 0:
                running.advance()
                people.step()
            assert running.wealths().tolist() == people.wealth
            assert running.counts()["gini in millionths"] == int(people.gini() * 10**6 + 1e-6)


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(10))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(70, 30, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("count", "steps"), [(2, 20), (3, 20), pytest.param(300, 100, marks=pytest.mark.slow)]
)
def test_sizes(count: int, steps: int) -> None:
    require_as_oracle(count, steps, backend="cpu")


def test_cpython() -> None:
    require_as_oracle(30, 10, backend="python")


def test_warps() -> None:
    require_as_oracle(50, 4, backend=InterpretedGpu())


def test_debug_mode() -> None:
    require_as_oracle(70, 30, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(300, 100, backend="cuda", mode=mode)


@pytest.mark.parametrize(
    ("wealths", "expected"), [([1, 1, 1], 0), ([0, 0, 0, 4], 750), ([1, 3], 250), ([0, 1, 2], 444)]
)
def test_gini(wealths: list[int], expected: int) -> None:
    assert gini(np.array(wealths), 1000) == expected


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "wealth.gif"
    arguments = ["run", "wealth", "--size", "60", "--steps", "12", "--backend", "cpu", "--check"]
    arguments += ["--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    people = People(60, 42)
    for _ in range(12):
        people.step()
    assert json.loads(record.read_text())["run"]["counts"] == {
        "people": 60,
        "who have nothing": people.wealth.count(0),
        "richest": max(people.wealth),
        "gini in millionths": int(people.gini() * 10**6 + 1e-6),
    }
    assert film.stat().st_size > 1000


def test_a_check_that_fails() -> None:
    with simulation(8, backend="cpu") as running:
        _check(running, 0)
        oa.all(Person)[3].wealth = 2
        with pytest.raises(CheckFailed, match="step 3: 8 people have 9 together"):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (RunOptions(steps=1, natural=True), "one flavour"),
        (RunOptions(steps=1, input=Path("people.txt")), "not read from files"),
        (RunOptions(steps=1, size=1), "1 people cannot"),
        (RunOptions(steps=1, size=1 << 31), "cannot give"),
    ],
)
def test_refused(options: RunOptions, complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        WEALTH.run(options)
