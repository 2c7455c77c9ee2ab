"""The program against the oracle, animal by animal and cell by cell."""

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
from apps.wolf_sheep.classes import Cell, Clock, Sheep, Wolf
from apps.wolf_sheep.program import _check
from apps.wolf_sheep.simulation import Simulation
from dispatch.mode import MODES
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import Animal, Pasture

WOLF_SHEEP = APPS["wolf_sheep"]


@contextmanager
def simulation(width: int, height: int, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, width, height, 42, Launches(heap, False))


def counts_of(pasture: Pasture) -> dict[str, int]:
    grown = sum(left == 0 for left in pasture.countdown)
    return {"sheep": len(pasture.sheep), "wolves": len(pasture.wolves), "grown cells": grown}


def require_equal(running: Simulation, pasture: Pasture) -> None:
    assert running.counts() == counts_of(pasture)
    assert running.countdowns().ravel().tolist() == pasture.countdown
    for cls, expected in ((Sheep, pasture.sheep), (Wolf, pasture.wolves)):
        found = [
            Animal(*each) for each in zip(*(a.tolist() for a in running.animals(cls)), strict=True)
        ]
        assert found == [animal for _, animal in sorted(expected.items())]


def require_as_oracle(width: int, height: int, steps: int, **options: Any) -> None:
    pasture = Pasture(width, height, 42)
    with simulation(width, height, **options) as running:
        for _ in range(steps):
            require_equal(running, pasture)
            running.advance()
            pasture.step()
        require_equal(running, pasture)


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(11))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(20, 15, 12, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(("width", "height", "steps"), [(1, 9, 20), (2, 12, 20), (60, 50, 30)])
def test_sizes(width: int, height: int, steps: int) -> None:
    require_as_oracle(width, height, steps, backend="cpu")


def test_cpython() -> None:
    require_as_oracle(9, 8, 5, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(9, 8, 2, backend=InterpretedGpu())


@pytest.mark.parametrize(
    ("width", "height", "steps"), [(10, 9, 8), pytest.param(16, 15, 12, marks=pytest.mark.slow)]
)
def test_debug_mode(width: int, height: int, steps: int) -> None:
    require_as_oracle(width, height, steps, backend="cpu", debug=True)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(60, 50, 60, backend="cuda", mode=mode)


@pytest.mark.slow
def test_many_steps() -> None:
    """On a pasture of this size both survive: few sheep are left, wolves starve, sheep return."""
    pasture = Pasture(300, 300, 42)
    with simulation(300, 300, backend="cpu") as running:
        for _ in range(200):
            running.advance()
            pasture.step()
            assert running.counts() == counts_of(pasture)
        require_equal(running, pasture)
    assert pasture.sheep and pasture.wolves


def crowd(running: Simulation, sheep: int, wolves: int) -> None:
    """Put the first animals of each kind on cell 0, end the others, and let nothing grow there."""
    cells = oa.all(Cell)
    for cls, count in ((Sheep, sheep), (Wolf, wolves)):
        animals = oa.all(cls)
        oa.delete(animals[count:])
        oa.all(cls).place = cells[0]
    cells.countdown = 20


def hunt(running: Simulation) -> None:
    """The turns of a step alone."""
    clock = Clock(seed=42, step=1)
    for turn in range(2):
        oa.all(Cell).forget_hunt()
        oa.all(Sheep).appear()
        oa.all(Wolf).hunt(clock, turn)
        oa.all(Sheep).end_hunt()
        oa.all(Wolf).end_hunt()


@pytest.mark.parametrize(
    ("sheep", "wolves", "eaters"),
    [(3, 1, 1), (1, 3, 1), (3, 3, 2), (0, 2, 0)],
    ids=["one meal each", "one sheep", "two turns", "none"],
)
def test_of_many_on_a_cell_the_lowest_ids_eat(sheep: int, wolves: int, eaters: int) -> None:
    with simulation(9, 9, backend="cpu") as running:
        crowd(running, sheep, wolves)
        before = running.animals(Wolf)[2]
        hunt(running)
        assert (running.animals(Wolf)[2] - before).tolist() == [13.0] * eaters + [0.0] * (
            wolves - eaters
        )
        assert running.animals(Sheep)[0].tolist() == list(range(eaters, sheep))


def test_one_sheep_of_a_cell_grazes() -> None:
    with simulation(9, 9, backend="cpu") as running:
        crowd(running, 3, 0)
        oa.all(Cell).countdown = 0
        oa.all(Sheep).energy = 2.0
        oa.all(Sheep).arrive()
        oa.all(Sheep).live(Clock(seed=42, step=1))
        energies = dict(zip(*(running.animals(Sheep)[k].tolist() for k in (0, 2)), strict=True))
        assert [energies[id] in (7.0, 3.5) for id in range(3)] == [True, False, False]
        oa.all(Cell).grow()
        assert running.countdowns().ravel().tolist() == [19] + [0] * 80


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "pasture.gif"
    arguments = ["run", "wolf_sheep", "--set", "width=30", "--set", "height=20", "--steps", "9"]
    arguments += ["--backend", "cpu", "--check", "--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    pasture = Pasture(30, 20, 42)
    for _ in range(9):
        pasture.step()
    assert json.loads(record.read_text())["run"]["counts"] == counts_of(pasture)
    assert film.stat().st_size > 1000


@pytest.mark.parametrize(
    ("cls", "field", "value", "complaint"),
    [
        (Sheep, "energy", 0.0, "step 3: a Sheep lives without energy"),
        (Wolf, "energy", -1.0, "a Wolf lives without energy"),
        (Wolf, "id", 7, "two animals have one id"),
        (Cell, "countdown", 21, "too long to grow"),
    ],
)
def test_a_check_that_fails(cls: type, field: str, value: float, complaint: str) -> None:
    with simulation(8, 8, backend="cpu") as running:
        _check(running, 0)
        setattr(oa.all(cls), field, value)
        with pytest.raises(CheckFailed, match=complaint):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("pasture.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=-1), {}, "-1 by -1 cells"),
        (RunOptions(steps=1), {"width": 1 << 20, "height": 1 << 12}, "cannot have"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises((ArgumentError, oa.HeapError), match=complaint):
        WOLF_SHEEP.run(options, **settings)
