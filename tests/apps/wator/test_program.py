"""The program against the oracle, cell by cell, and against DynaSOAr's counts."""

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
from apps.wator.classes import Cell, Fish
from apps.wator.program import _check
from apps.wator.simulation import Simulation
from dispatch.mode import MODES
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Ocean

WATOR = APPS["wator"]
#: Of 2048 x 2560 cells, by steps: fish and sharks as DynaSOAr counts them.
FULL_SIZE = {100: (57_991, 405_299), 500: (494_984, 466_206)}


@contextmanager
def simulation(width: int, height: int, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, width, height, 42, Launches(heap, False))


def require_equal(running: Simulation, ocean: Ocean) -> None:
    kind, age, energy = (each.ravel() for each in running.states())
    assert running.counts() == {"fish": ocean.fish, "sharks": ocean.sharks}
    np.testing.assert_array_equal(kind, ocean.kind)
    np.testing.assert_array_equal(age, ocean.egg)
    np.testing.assert_array_equal(energy, ocean.energy)


def require_as_oracle(width: int, height: int, steps: int, **options: Any) -> None:
    ocean = Ocean(width, height)
    with simulation(width, height, **options) as running:
        for _ in range(steps):
            require_equal(running, ocean)
            running.advance()
            ocean.step()
        require_equal(running, ocean)
        assert running.misplaced() == 0


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(9))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(20, 15, 25, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("width", "height"), [(1, 7), (2, 3), pytest.param(100, 75, marks=pytest.mark.slow)]
)
def test_sizes(width: int, height: int) -> None:
    require_as_oracle(width, height, 40, backend="cpu")


def test_cpython() -> None:
    require_as_oracle(9, 8, 15, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(9, 8, 4, backend=InterpretedGpu())


@pytest.mark.slow
def test_debug_mode() -> None:
    require_as_oracle(12, 9, 15, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(100, 75, 40, backend="cuda", mode=mode)


@pytest.mark.slow
def test_full_size() -> None:
    options = RunOptions(steps=100, backend="cpu")
    counts = WATOR.run(options, width=2048, height=2560).counts
    assert (counts["fish"], counts["sharks"]) == FULL_SIZE[100]


@pytest.mark.gpu
@pytest.mark.parametrize("steps", FULL_SIZE)
def test_full_size_on_a_gpu(steps: int) -> None:
    options = RunOptions(steps=steps, backend="cuda")
    counts = WATOR.run(options, width=2048, height=2560).counts
    assert (counts["fish"], counts["sharks"]) == FULL_SIZE[steps]


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "ocean.gif"
    arguments = ["run", "wator", "--set", "width=30", "--set", "height=20", "--steps", "12"]
    arguments += ["--backend", "cpu", "--check", "--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    ocean = Ocean(30, 20)
    for _ in range(12):
        ocean.step()
    counts = json.loads(record.read_text())["run"]["counts"]
    assert counts == {"fish": ocean.fish, "sharks": ocean.sharks}
    assert film.stat().st_size > 1000


def test_a_check_that_fails() -> None:
    with simulation(8, 8, backend="cpu") as running:
        _check(running, 0)
        oa.all(Fish).place = oa.all(Cell)[0]
        with pytest.raises(CheckFailed, match=r"step 3: .* do not agree"):
            _check(running, 3)
    with simulation(8, 8, backend="cpu") as running:
        oa.all(Cell).agent = None
        with pytest.raises(CheckFailed, match=r"cells show .*'fish': 0"):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("ocean.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=-1), {}, "-1 by -1 cells"),
        (RunOptions(steps=1), {"width": 1 << 20, "height": 1 << 12}, "cannot have"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises((ArgumentError, oa.HeapError), match=complaint):
        WATOR.run(options, **settings)
