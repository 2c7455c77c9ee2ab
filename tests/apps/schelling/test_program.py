"""The program against the oracle, person by person."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sharedoa as oa
from apps.common.launches import Launches
from apps.interface import CheckFailed, RunOptions
from apps.registry import APPS
from apps.schelling.classes import Cell, Person
from apps.schelling.program import _check
from apps.schelling.simulation import Simulation
from dispatch.mode import MODES
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Town

SCHELLING = APPS["schelling"]


@contextmanager
def simulation(width: int, height: int, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, width, height, 42, Launches(heap, False))


def require_as_oracle(width: int, height: int, steps: int, **options: Any) -> Town:
    town = Town(width, height, 42)
    with simulation(width, height, **options) as running:
        for step in range(steps + 1):
            if step > 0:
                running.advance()
                town.step()
            assert running.counts() == town.counts()
            assert running.places().tolist() == town.places
            assert running.free_cells().tolist() == town.free
        _check(running, steps)
    return town


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(7))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(14, 11, 12, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(("width", "height", "steps"), [(1, 4, 6), (7, 1, 6), (2, 5, 10)])
def test_narrow_towns(width: int, height: int, steps: int) -> None:
    require_as_oracle(width, height, steps, backend="cpu")


def test_it_ends() -> None:
    town = require_as_oracle(40, 30, 100, backend="cpu")
    assert 5 < town.busy_steps < 100


@pytest.mark.slow
def test_cpython() -> None:
    require_as_oracle(9, 8, 5, backend="python")


def test_warps() -> None:
    require_as_oracle(9, 8, 3, backend=InterpretedGpu())


def test_debug_mode() -> None:
    require_as_oracle(20, 15, 12, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(40, 30, 60, backend="cuda", mode=mode)


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "town.gif"
    arguments = ["run", "schelling", "--set", "width=30", "--set", "height=20", "--steps", "12"]
    arguments += ["--backend", "cpu", "--check", "--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    town = Town(30, 20, 42)
    for _ in range(12):
        town.step()
    assert json.loads(record.read_text())["run"]["counts"] == town.counts()
    assert film.stat().st_size > 1000


def test_a_check_that_fails() -> None:
    with simulation(8, 8, backend="cpu") as running:
        _check(running, 0)
        oa.all(Person).place = oa.all(Cell)[0]
        with pytest.raises(CheckFailed, match=r"step 3: .* do not agree"):
            _check(running, 3)
    with simulation(8, 8, backend="cpu") as running:
        running._free[1] = running._free[0]
        with pytest.raises(CheckFailed, match="not free"):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("town.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=1), {}, "1 by 1 cells"),
        (RunOptions(steps=1), {"width": 1 << 20, "height": 1 << 12}, "cannot have"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        SCHELLING.run(options, **settings)
