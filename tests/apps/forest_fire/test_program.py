"""The program against the oracle, cell by cell."""

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
from apps.forest_fire.classes import Fire, Tree
from apps.forest_fire.program import _check
from apps.forest_fire.simulation import Simulation
from apps.interface import CheckFailed, RunOptions
from apps.registry import APPS
from dispatch.mode import MODES
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Forest

FOREST_FIRE = APPS["forest_fire"]


@contextmanager
def simulation(size: int, density: float, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, size, density, 42, Launches(heap, False))


def require_as_oracle(size: int, density: float, steps: int, **options: Any) -> None:
    forest = Forest(size, density, 42)
    with simulation(size, density, **options) as running:
        for step in range(steps + 1):
            if step > 0:
                running.advance()
                forest.step()
            assert running.counts() == forest.counts()
            np.testing.assert_array_equal(running.states(), np.array(forest.states))


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(5))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(25, 0.8, 30, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("size", "density", "steps"), [(1, 1.0, 2), (30, 0.0, 2), (30, 1.0, 31), (40, 0.7, 40)]
)
def test_sizes(size: int, density: float, steps: int) -> None:
    require_as_oracle(size, density, steps, backend="cpu")


@pytest.mark.slow
def test_cpython() -> None:
    require_as_oracle(12, 0.9, 12, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(16, 0.9, 8, backend=InterpretedGpu())


def test_debug_mode() -> None:
    require_as_oracle(30, 0.9, 30, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(100, 0.7, 100, backend="cuda", mode=mode)


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "forest.gif"
    arguments = ["run", "forest_fire", "--size", "40", "--set", "density=70", "--steps", "12"]
    arguments += ["--backend", "cpu", "--check", "--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    forest = Forest(40, 0.7, 42)
    for _ in range(12):
        forest.step()
    assert json.loads(record.read_text())["run"]["counts"] == forest.counts()
    assert film.stat().st_size > 1000


def test_a_check_that_fails() -> None:
    with simulation(8, 1.0, backend="cpu") as running:
        _check(running, 0)
        oa.new(Fire, tree=oa.all(Fire)[0].tree)
        with pytest.raises(CheckFailed, match=r"step 3: cells show .*'burning': 8.*'burning': 9"):
            _check(running, 3)
    with simulation(8, 1.0, backend="cpu") as running:
        oa.all(Tree)[20].was_lit = 1
        with pytest.raises(CheckFailed, match="beside a burnt one"):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("forest.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=0), {}, "0 by 0 cells"),
        (RunOptions(steps=1, size=1 << 15), {}, "cannot have"),
        (RunOptions(steps=1), {"density": 101}, "101 %"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises((ArgumentError, oa.HeapError), match=complaint):
        FOREST_FIRE.run(options, **settings)
