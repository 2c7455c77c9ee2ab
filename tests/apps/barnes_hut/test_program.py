"""The program against the oracle: every body and every node of the tree, to the last bit."""

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
from apps.barnes_hut.classes import Body, Node
from apps.barnes_hut.program import _check
from apps.barnes_hut.simulation import Simulation, Tree, morton
from apps.common.launches import Launches
from apps.interface import CheckFailed, RunOptions
from apps.registry import APPS
from dispatch.mode import MODES
from sharedoa.cli import commands
from sharedoa.errors import ArgumentError
from sharedoa.runtime.population_sequence import PopulationSequence

from ...backends.pretend_device import PretendDevice
from ...codegen.interpreted import InterpretedGpu
from ...modes import modes_and_layouts
from .oracle import G, Sky, build, direct_sum, nodes_of, opening_errors, paths_of

BARNES_HUT = APPS["barnes_hut"]
#: So heavy that bodies move through much of the tree in a few steps.
HEAVY = 10**10


@contextmanager
def simulation(count: int, mass: float = HEAVY, **options: Any) -> Iterator[Simulation]:
    with oa.Heap(**options) as heap:
        yield Simulation(heap, count, mass, 42, Launches(heap, False))


def paths(tree: Tree) -> list[tuple[int, ...]]:
    """Of each node, the quadrants that lead to it from the root."""

    def path(node: int) -> tuple[int, ...]:
        parent = int(tree.parents[node])
        return () if parent == -1 else (*path(parent), int(tree.quadrants[node]))

    return [path(node) for node in range(len(tree.parents))]


def require_tree(running: Simulation, places: list[Any], masses: list[float]) -> None:
    """It is the one that a sequential program builds."""
    expected = build(places, masses)
    tree, bodies = running.tree(), running.bodies()
    columns = tree.levels, tree.lows, tree.highs, tree.bodies, tree.masses, tree.centres
    rows = zip(*(column.tolist() for column in columns), strict=True)
    by_path = paths(tree)
    found = {
        path: tuple(tuple(each) if isinstance(each, list) else each for each in row)
        for path, row in zip(by_path, rows, strict=True)
    }
    assert len(by_path) == len(found)
    assert found == nodes_of(expected)
    assert paths_of(expected) == {
        body: (*by_path[parent], int(quadrant))
        for body, (parent, quadrant) in enumerate(
            zip(bodies.parents, bodies.quadrants, strict=True)
        )
    }


def require_equal(running: Simulation, sky: Sky) -> None:
    bodies = running.bodies()
    for found, expected in (
        (bodies.positions, sky.places),
        (bodies.velocities, sky.velocities),
        (bodies.accelerations, sky.accelerations),
    ):
        assert found.tolist() == [list(each) for each in expected]
    assert bodies.masses.tolist() == sky.masses
    require_tree(running, sky.places, sky.masses)


def require_as_oracle(
    count: int,
    steps: int,
    mass: float = HEAVY,
    between: Callable[[Simulation], None] = lambda running: None,
    **options: Any,
) -> None:
    sky = Sky(count, mass, 42)
    with simulation(count, mass, **options) as running:
        require_equal(running, sky)
        for _ in range(steps):
            running.advance()
            sky.step()
            require_equal(running, sky)
            between(running)


@pytest.mark.parametrize(("mode", "layout"), modes_and_layouts(0))
def test_every_mode_and_layout(mode: str, layout: str) -> None:
    require_as_oracle(30, 3, backend="cpu", mode=mode, layout=layout)


@pytest.mark.parametrize(
    ("count", "steps", "mass"),
    [
        (1, 3, HEAVY),
        (2, 20, HEAVY),
        (150, 8, HEAVY),
        pytest.param(300, 2, 1000, marks=pytest.mark.slow),
    ],
)
def test_sizes(count: int, steps: int, mass: float) -> None:
    require_as_oracle(count, steps, mass, backend="cpu")


def test_cpython() -> None:
    require_as_oracle(12, 2, backend="python")


@pytest.mark.slow
def test_warps() -> None:
    require_as_oracle(3, 1, backend=InterpretedGpu())


def test_debug_mode() -> None:
    require_as_oracle(30, 2, backend="cpu", debug=True)


def test_a_device_that_keeps_the_books(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are captured, and none is run launch by launch."""

    def refuse(sequence: PopulationSequence, *_: Any) -> None:
        raise AssertionError("a step has no plan")

    real = PopulationSequence.__init__

    def begin(sequence: Any, heap: Any, records: Any, is_specialised: bool, _: Any) -> None:
        real(sequence, heap, records, is_specialised, lambda: refuse(sequence))

    monkeypatch.setattr(PopulationSequence, "__init__", begin)
    require_as_oracle(30, 3, backend=PretendDevice(1 << 16))


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_on_a_gpu(mode: str) -> None:
    require_as_oracle(300, 10, backend="cuda", mode=mode)


@pytest.mark.slow
def test_many_steps() -> None:
    require_as_oracle(500, 120, 10**9, backend="cpu")


def test_where_bodies_lie_changes_nothing() -> None:
    numbers = np.random.default_rng(5)

    def shuffle(running: Simulation) -> None:
        for objects in (oa.all(Body), oa.all(Node)):
            oa.sort(objects, numbers.permutation(len(objects)))

    require_as_oracle(60, 4, between=shuffle, backend="cpu")


def put(running: Simulation, places: np.ndarray[Any, Any]) -> None:
    """Move all bodies, by id, and let the tree follow."""
    bodies = oa.all(Body)
    moved = places[bodies.id.numpy().astype(int) - 1]
    for axis, name in enumerate("xy"):
        bodies.pos[name] = moved[:, axis]
        bodies.velocity[name] = 0.0
        bodies.acceleration[name] = 0.0
    bodies.move(running.space)
    running.rebuild()


def test_trees_of_any_positions() -> None:
    """One after another, so that each is made from the one before."""
    numbers = np.random.default_rng(9)
    count = 70
    corners = np.array([(x, y) for x in (-1, 1) for y in (-1, 1)]) * 0.99999999
    every: list[np.ndarray[Any, Any]] = [
        np.zeros((count, 2)),
        numbers.random((count, 2)) * 1.9 - 0.95,
        np.full((count, 2), 0.3),
        corners[numbers.integers(4, size=count)],
        # On the lines between quadrants, and next to them.
        numbers.integers(-3, 4, (count, 2)) / 4,
        np.nextafter(numbers.integers(-3, 4, (count, 2)) / 4, 1.0),
        # So near one another that ids tell them apart, or just not.
        0.3 + numbers.random((count, 2)) * 2.0**-24,
        0.3 + numbers.random((count, 2)) * 2.0**-20,
        # All but two far away from one another.
        np.concatenate([numbers.random((count - 2, 2)), [(-0.5, -0.5), (-0.5, -0.5 + 1e-6)]]),
        numbers.normal(0, 0.1, (count, 2)),
    ]
    with simulation(count, backend="cpu") as running:
        masses = running.bodies().masses.tolist()
        for places in every:
            put(running, places)
            require_tree(running, [(x, y) for x, y in places.tolist()], masses)
            assert len(_check(running, 1)) == 4


def test_forces_are_those_of_the_direct_sum() -> None:
    """But for what the opening rule changes, node by node, and that is not much of what there is to
    pull a body this way and that."""
    with simulation(2000, 1000, backend="cpu") as running:
        before = running.bodies()
        running.advance()
        found = running.bodies().accelerations
    places, masses = before.positions, before.masses
    root = build([(x, y) for x, y in places.tolist()], masses.tolist())
    direct, errors = direct_sum(places, masses), opening_errors(root, places, masses)
    whole = G * masses.sum()  # what all of them together do at a distance of 1
    assert np.allclose(found, direct + errors, rtol=0, atol=1e-13 * whole)
    sizes = np.sqrt((errors**2).sum(axis=1)) / whole
    assert 0 < np.median(sizes) < 0.1 and sizes.max() < 0.3


def test_bodies_that_see_all_have_the_direct_sum() -> None:
    """Nothing is farther than the opening rule asks: no node stands for its bodies."""
    numbers = np.random.default_rng(3)
    places = numbers.random((200, 2)) * 0.17
    with simulation(200, 1000, backend="cpu") as running:
        put(running, places)
        masses = running.bodies().masses
        running.advance()
        found = running.bodies().accelerations
    assert np.allclose(found, direct_sum(places, masses), rtol=1e-11, atol=0)


def test_neighbours_lie_side_by_side() -> None:
    """Nodes with the first one that is in them behind them, as walks come to them."""
    with simulation(300, backend="cpu") as running:
        for _ in range(2):
            running.advance()
        running.sort()
        found = paths(running.tree())
        assert found == sorted(found)
        bodies = oa.all(Body)
        keys = morton(np.stack([bodies.pos[axis].numpy() for axis in "xy"], axis=1))
        assert (keys[:-1] <= keys[1:]).all()


def test_bodies_turn_at_the_border() -> None:
    with simulation(1, backend="cpu") as running:
        bodies = oa.all(Body)
        bodies.pos["x"], bodies.pos["y"] = 0.9, -0.9
        bodies.velocity["x"], bodies.velocity["y"] = 20.0, -30.0
        bodies.move(running.space)
        running.rebuild()
        found = running.bodies()
        assert found.positions.tolist() == [[0.99999999, -0.99999999]]
        assert found.velocities.tolist() == [[-20.0, 30.0]]


def test_the_order_of_places() -> None:
    """By quadrants, then by quadrants of these; x changes first."""
    points = [(x, y) for y in (-0.75, -0.25, 0.25, 0.75) for x in (-0.75, -0.25, 0.25, 0.75)]
    order = np.argsort(morton(np.array(points)))
    assert order.tolist() == [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
    assert morton(np.array([(0.99999999, 0.99999999)])) == (1 << 32) - 1


def test_the_command_line(tmp_path: Path) -> None:
    record, film = tmp_path / "run.json", tmp_path / "bodies.gif"
    arguments = ["run", "barnes_hut", "--size", "50", "--set", f"mass={HEAVY}", "--steps", "3"]
    arguments += ["--backend", "cpu", "--check", "--json", str(record), "--out", str(film)]
    assert CliRunner().invoke(commands.application, arguments).exit_code == 0
    sky = Sky(50, HEAVY, 42)
    for _ in range(3):
        sky.step()
    nodes = nodes_of(sky.tree)
    counts = json.loads(record.read_text())["run"]["counts"]
    assert {key: counts[key] for key in ("bodies", "nodes", "levels")} == {
        "bodies": 50,
        "nodes": len(nodes),
        "levels": max(map(len, nodes)) + 1,
    }
    spread = np.sqrt((np.array(sky.places) ** 2).sum(axis=1).mean())
    assert abs(counts["spread in millionths"] - spread * 10**6) <= 1
    assert film.stat().st_size > 1000


def spoil(running: Simulation, what: str) -> None:
    bodies, nodes = oa.all(Body), oa.all(Node)
    match what:
        case "place":
            bodies.pos["x"] = -bodies.pos["x"].numpy()
        case "quadrant":
            bodies.quadrant = (bodies.quadrant.numpy() + 1) % 4
        case "two":
            bodies[0].parent, bodies[0].quadrant = bodies[1].parent, bodies[1].quadrant
            bodies[0].pos = bodies[1].pos
        case "few":
            nodes.bodies = 1
        case "bodies":
            nodes[0].bodies += 1
        case "mass":
            nodes[0].mass *= 1.01


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ("place", "step 3: a body is not in its quadrant"),
        ("quadrant", "a body is not in its quadrant"),
        ("two", "a quadrant has two in it"),
        ("few", "a node has less than two bodies"),
        ("bodies", "a node has another bodies"),
        ("mass", "a node has another mass"),
    ],
)
def test_a_check_that_fails(what: str, complaint: str) -> None:
    with simulation(20, backend="cpu") as running:
        _check(running, 3)
        spoil(running, what)
        with pytest.raises(CheckFailed, match=complaint):
            _check(running, 3)


@pytest.mark.parametrize(
    ("options", "settings", "complaint"),
    [
        (RunOptions(steps=1, natural=True), {}, "one flavour"),
        (RunOptions(steps=1, input=Path("bodies.txt")), {}, "not read from files"),
        (RunOptions(steps=1, size=0), {}, "0 bodies have no tree"),
        (RunOptions(steps=1), {"mass": 0}, "a mass of 0"),
        (RunOptions(steps=1), {"mass": 10**400}, "a mass of 1000"),
    ],
)
def test_refused(options: RunOptions, settings: dict[str, int], complaint: str) -> None:
    with pytest.raises((ArgumentError, oa.HeapError), match=complaint):
        BARNES_HUT.run(options, **settings)
