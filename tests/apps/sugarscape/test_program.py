"""The program against the oracle, cell by cell, and against DynaSOAr's counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
from apps.sugarscape.classes import Agent, Cell, Male
from apps.sugarscape.program import _check
from apps.sugarscape.simulation import Simulation
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError

from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts, rotated
from .oracle import Land

SUGARSCAPE = APPS["sugarscape"]
#: Of 1700 x 1700 cells, by steps: males and females as DynaSOAr counts them, and sugar of all cells
#: (after 100 steps as the oracle has it).
FULL_SIZE = {100: (102_626, 101_912, 3_000_555_978), 500: (3_452, 3_315, 10_205_177_876)}


@contextmanager
def simulation(width: int, height: int, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, width, height, 42, Launches(heap, False))


def counts_of(land: Land) -> dict[str, int]:
    return {"males": land.males, "females": land.females, "sugar": land.total_sugar}


def require_equal(running: Simulation, land: Land) -> None:
    state = running.state()
    assert running.counts() == counts_of(land)
    for found, expected in [
        (state.cell_sugar, land.sugar),
        (state.kind, land.kind),
        (state.age, land.age),
        (state.sugar, land.own_sugar),
        (state.children_left, land.max_children - land.children),
    ]:
        np.testing.assert_array_equal(found.ravel(), expected)


def require_as_oracle(
    width: int,
    height: int,
    steps: int,
    rich: bool = True,
    between: Callable[[], None] | None = None,
    **options: Any,
) -> None:
    """On a rich land, where sugar grows everywhere and all are old enough, some children are born
    in nearly every step; on others none for a long time."""
    land = Land(width, height)
    with simulation(width, height, **options) as running:
        if rich:
            land.growth[:], land.age[land.kind != 0] = 50, 30
            oa.all(Cell).growth, oa.all(Agent).age = 50, 30
        for _ in range(steps):
            require_equal(running, land)
            running.advance()
            land.step()
            if between is not None:
                between()
        require_equal(running, land)
        assert running.misplaced() == 0


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(8))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(24, 20, 25, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("width", "height"), [(1, 7), (3, 2), pytest.param(60, 45, marks=pytest.mark.slow)]
)
def test_sizes(width: int, height: int) -> None:
    require_as_oracle(width, height, 50, rich=False, backend="cpu")


def test_old_and_equally_rich() -> None:
    """Nobody starves, many die of age, and of suitors who have as much the first is accepted."""
    land = Land(10, 9)
    with simulation(10, 9, backend="cpu") as running:
        of_agents = land.kind != 0
        land.growth[:], land.age[of_agents] = 0, 50
        land.own_sugar[of_agents], land.metabolism[of_agents] = 4000, 30
        agents = oa.all(Agent)
        oa.all(Cell).growth, agents.age, agents.sugar, agents.traits["metabolism"] = 0, 50, 4000, 30
        for _ in range(40):
            running.advance()
            land.step()
            require_equal(running, land)


@pytest.mark.slow
def test_cpython() -> None:
    require_as_oracle(9, 8, 5, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(8, 7, 2, backend=InterpretedGpu())


@pytest.mark.slow
def test_debug_mode() -> None:
    require_as_oracle(16, 12, 12, backend="cpu", debug=True)


def compact() -> None:
    oa.compact()


def sort() -> None:
    oa.sort(oa.all(Male), "sugar")
    oa.sort(oa.all(Cell), "sugar")


@pytest.mark.parametrize(
    ("between", "debug"),
    rotated([sort, pytest.param(compact, marks=pytest.mark.slow)], [True, False]),
)
def test_objects_that_change_places(between: Callable[[], None], debug: bool) -> None:
    """Neighbours, goals and brides are references, which follow; no result depends on places."""
    require_as_oracle(20, 18, 8, between=between, backend="cpu", debug=debug)


@pytest.mark.gpu
@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(8))
def test_on_a_gpu(mode: str, layout: str) -> None:
    require_as_oracle(100, 75, 50, backend="cuda", mode=mode, layout=layout)


@pytest.mark.slow
def test_full_size() -> None:
    options = RunOptions(steps=100, backend="cpu")
    counts = SUGARSCAPE.run(options, width=1700, height=1700).counts
    assert tuple(counts.values()) == FULL_SIZE[100]


@pytest.mark.gpu
@pytest.mark.parametrize("steps", FULL_SIZE)
def test_full_size_on_a_gpu(steps: int) -> None:
    options = RunOptions(steps=steps, backend="cuda")
    counts = SUGARSCAPE.run(options, width=1700, height=1700).counts
    assert tuple(counts.values()) == FULL_SIZE[steps]


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "land.gif"
    arguments = ["run", "sugarscape", "--set", "width=30", "--set", "height=20", "--steps", "12"]
    arguments += ["--backend", "cpu", "--check", "--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    land = Land(30, 20)
    for _ in range(12):
        land.step()
    assert json.loads(record.read_text())["run"]["counts"] == counts_of(land)
    assert film.stat().st_size > 1000


def test_a_check_that_fails() -> None:
    with simulation(8, 8, backend="cpu") as running:
        _check(running, 0)
        oa.all(Male).cell = oa.all(Cell)[0]
        with pytest.raises(CheckFailed, match=r"step 3: .* do not agree"):
            _check(running, 3)
    with simulation(8, 8, backend="cpu") as running:
        oa.all(Cell).agent = None
        with pytest.raises(CheckFailed, match=r"cells show .*'males': 0"):
            _check(running, 3)
    with simulation(8, 8, backend="cpu") as running:
        oa.all(Cell)[5].sugar = -1
        with pytest.raises(CheckFailed, match=r"less than no sugar"):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("land.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=-1), {}, "-1 by -1 cells"),
        (RunOptions(steps=1), {"width": 1 << 20, "height": 1 << 12}, "cannot have"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises((ArgumentError, oa.HeapError), match=complaint):
        SUGARSCAPE.run(options, **settings)
