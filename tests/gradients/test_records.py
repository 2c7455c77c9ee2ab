"""What tapes record: losses of views, captured steps, functions with a way back of their own; and
programs whose threads race."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32
from sharedoa.errors import ArgumentError, CompileError, DeviceError, HeapError


class Node(oa.Object):
    pos: oa.vec2d
    mass: f64

    def move(self, dt: f64) -> None:
        self.pos = self.pos * (1.0 + dt * self.mass)


@pytest.fixture(autouse=True)
def heap() -> Any:
    with oa.Heap(backend="cpu", capacity="64MiB") as made:
        yield made


TARGET = np.array([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]])
WEIGHTS = np.array([1.0, 2.0, 3.0])
MATRIX = np.array([[0.5, -1.5], [2.0, 0.75]])
STACK = np.arange(27.0).reshape(3, 3, 3) ** 0.5
#: Of positions and masses: what is computed of views, or of what NumPy has of them.
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "squares": lambda pos, mass: ((pos - TARGET) ** 2).sum(),
    "columns": lambda pos, mass: (pos[:, 0] * mass).sum() - pos[1, 1] * 3.0,
    "reductions": lambda pos, mass: pos.mean() * 2.0 + mass.max() - (pos * pos).sum(axis=0).min(),
    "functions": lambda pos, mass: np.sqrt(np.exp(pos).sum()) + np.log(mass).sum() / mass.sum(),
    "products": lambda pos, mass: (
        (pos @ np.array([2.0, -1.0])) @ WEIGHTS + np.dot(WEIGHTS, WEIGHTS)
    ),
    "rows and columns": lambda pos, mass: (
        ((WEIGHTS @ (pos * 1.0)) ** 2).sum() + ((mass * 1.0) @ (pos * 1.0)) @ np.array([0.5, 1.5])
    ),
    "matrices": lambda pos, mass: (
        ((((pos * 1.0) @ MATRIX) ** 2) @ (MATRIX @ (MATRIX[0]))).sum()
        + ((TARGET.T @ (pos * 1.0)) ** 2).sum()
    ),
    "stacks": lambda pos, mass: (
        (((mass * 1.0) @ STACK) ** 2).sum()
        + ((STACK @ (mass * 1.0)) ** 2).sum()
        + ((np.stack([TARGET] * 3) @ np.ones((2, 2)) @ (pos * 1.0).reshape(2, 3)) ** 2).sum()
    ),
    "dots": lambda pos, mass: (
        ((pos * 1.0).dot(MATRIX[0]) ** 2).sum() + (mass * 1.0).dot(WEIGHTS) ** 2
    ),
    "shapes": lambda pos, mass: (
        ((pos * 1.0).reshape(2, 3).max(axis=0) * WEIGHTS).sum()
        + (pos * 1.0).reshape(6).min()
        + (mass * 1.0).max(axis=0) ** 2
    ),
    "choices": lambda pos, mass: np.maximum(mass, 1.1).sum() + np.abs(pos).sum() * mass[0],
    "rows": lambda pos, mass: sum(row[0] * row[1] for row in pos[:] * 1.0),
    "powers": lambda pos, mass: (mass**-1.5 + 2.0**mass).sum() / (1 + mass).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_views(name: str) -> None:
    loss = LOSSES[name]
    start, masses = TARGET + np.array([0.3, 0.7]), np.array([0.75, 1.25, 1.5])

    def plain(pos: Any, mass: Any) -> float:
        return float(loss(pos * (1.0 + 0.5 * mass[:, None]), mass))

    nodes = oa.new(Node, 3, pos=start, mass=masses)
    with oa.tape() as tape:
        oa.all(Node).move(0.5)
        found = loss(oa.all(Node).pos, oa.all(Node).mass)
    assert float(found) == pytest.approx(plain(start, masses), rel=1e-14)
    tape.backward(found)
    for values, given in ((start, nodes.grad.pos), (masses, nodes.grad.mass)):
        for index in np.ndindex(values.shape):
            before, ends = values[index], []
            for step in (1e-6, -1e-6):
                values[index] = before + step
                ends.append(plain(start, masses))
            values[index] = before
            assert given.numpy()[index] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_squares_of_views() -> None:
    nodes = oa.new(Node, 3, pos=TARGET, mass=WEIGHTS)
    with oa.tape() as tape:
        oa.all(Node).move(0.0)
        found = nodes.mass.square().sum() + oa.all(Node).pos.square().sum()
    tape.backward(found)
    assert nodes.grad.mass.numpy().tolist() == [2.0, 4.0, 6.0]
    assert nodes.mass.square().tolist() == [1.0, 4.0, 9.0]  # and outside of tapes


class Heavy(Node):
    pass


@pytest.mark.parametrize("layout", ["aos", "tile"])
@pytest.mark.parametrize(
    "order", [[0, 0, 1], [2, 1, 0, 1, 2, 2], [4, 0, 4, 1, 0], [0, 1, 2, 0, 1, 2]]
)
def test_views_with_an_object_twice(layout: str, order: list[int]) -> None:
    weights = 1.0 + np.arange(len(order))
    counts = np.bincount(order, weights, 5)
    with oa.Heap(backend="cpu", layout=layout, capacity="64MiB"):
        nodes = oa.concat(oa.new(Node, 3, mass=2.0), oa.new(Heavy, 2, mass=2.0))
        nodes.pos = np.ones((5, 2))
        some = nodes[order]
        with oa.tape() as tape:
            oa.all(Node).move(0.5)
            loss = (some.pos[:, 1] * weights).sum() + (some.mass * weights).sum()
        tape.backward(loss)
        np.testing.assert_array_equal(nodes.grad.pos, np.stack([0 * counts, 2.0 * counts], axis=1))
        np.testing.assert_array_equal(nodes.grad.mass, 1.5 * counts)
        tape.zero()
        tape.backward(some.mass, weights)
        np.testing.assert_array_equal(nodes.grad.mass, counts)


@pytest.mark.parametrize(
    "key",
    [
        np.s_[:, 1], np.s_[::-1], np.s_[1:, ::2], np.s_[[0, 0, 2]], np.s_[[0, 0, 1], [1, 1, 2]],
        np.array([True, False, True]), np.s_[...], np.s_[:, [1, 1]], np.s_[1:],
    ],
    ids=str,
)  # fmt: skip
def test_parts_of_arrays_of_two_dimensions(key: Any) -> None:
    values = np.arange(12.0).reshape(3, 4)
    array, expected = oa.array(f64, values), np.zeros((3, 4))
    np.add.at(expected, key, 2.0 * values[key])
    with oa.tape() as tape:
        part = array[key]
        loss = (part * part).sum()
    tape.backward(loss)
    np.testing.assert_array_equal(oa.grad(array), expected)


def test_a_choice_by_where() -> None:
    nodes = oa.new(Node, 3, pos=TARGET, mass=WEIGHTS)
    with oa.tape() as tape:
        oa.all(Node).move(0.0)
        mass = nodes.mass
        loss = oa.where(mass > 1.5, mass, 7.0).sum() + (mass * mass)[mass.numpy() > 2.5].sum()
    tape.backward(loss)
    assert nodes.grad.mass.numpy().tolist() == [0.0, 1.0, 1.0 + 6.0]


@pytest.mark.parametrize(
    "use",
    [
        lambda nodes: np.asarray(nodes.mass),
        lambda nodes: np.linalg.norm(nodes.mass * 1.0),
        lambda nodes: np.dot(WEIGHTS, nodes.mass),
        lambda nodes: nodes.mass.cumsum(),
        lambda nodes: np.add.reduce(nodes.mass),
        lambda nodes: oa.array(f64, nodes.mass),
        lambda nodes: oa.concat(oa.zeros(3, f64), oa.zeros(2, f64)),
        lambda nodes: np.arccosh(nodes.mass),
        lambda nodes: math.sqrt(nodes.mass.sum()),
        lambda nodes: float(nodes.mass[0]),
        lambda nodes: divmod(nodes.mass * 1.0, 2.0),
        lambda nodes: np.modf(nodes.mass * 1.0),
        lambda nodes: abs(nodes.mass * 1j),
    ],
)
def test_what_would_be_constant_unseen(use: Callable[[Any], Any]) -> None:
    nodes = oa.new(Node, 3, mass=WEIGHTS)
    with oa.tape(), pytest.raises(ArgumentError, match="tape"):
        use(nodes)


def test_numbers_that_are_asked_for() -> None:
    nodes = oa.new(Node, 3, mass=WEIGHTS)
    with oa.tape() as tape:
        whole = nodes.mass.sum()
        loss = whole * whole.item()
        assert f"{whole:.1f}" == "6.0" and whole > 5.0
    assert float(loss) == 36.0
    tape.backward(loss)
    assert nodes.grad.mass.numpy().tolist() == [6.0] * 3


def test_a_captured_step() -> None:
    nodes = oa.new(Node, 3, pos=TARGET, mass=WEIGHTS)
    with oa.capture() as step:
        oa.all(Node).move(0.1)
        move_all[3](nodes, 0.1)
    results = []
    for is_captured in (True, False):
        nodes.pos = TARGET
        with oa.tape() as tape:
            if is_captured:
                step.run(3)
            else:
                for _ in range(3):
                    oa.all(Node).move(0.1)
                    move_all[3](nodes, 0.1)
            loss = (nodes.pos * nodes.pos).sum()
        tape.zero()
        tape.backward(loss)
        results.append((float(loss), nodes.grad.mass.numpy().tobytes()))
    assert results[0] == results[1]


@oa.kernel
def move_all(nodes: oa.Array[Node], dt: f64) -> None:
    nodes[oa.grid(1)].move(dt)


# ---------------------------------------------------------------- a way back of one's own


@oa.func
def rounded(x: f64, by: f64, n: i32) -> f64:
    return np.floor(x) * by + n


@oa.custom_gradient(rounded)
def rounded_reverse(x: f64, by: f64, n: i32, adjoint: f64) -> tuple[f64, f64]:
    return adjoint * by, adjoint * np.floor(x)


@oa.func
def length(v: oa.vec3d) -> f64:
    return v.length()


@oa.custom_gradient(length)
def length_reverse(v: oa.vec3d, adjoint: f64) -> oa.vec3d:
    return oa.vec3d(adjoint, adjoint * 2.0, adjoint * 3.0)


@oa.func
def wrongly(x: f64) -> f64:
    return x


@oa.custom_gradient(wrongly)
def wrongly_reverse(x: f64, adjoint: f32) -> f64:
    return x * adjoint


@oa.func
def looked_up(table: oa.Array[f64], k: i32, x: f64) -> f64:
    return table[k] * x


@oa.custom_gradient(looked_up)
def looked_up_reverse(table: oa.Array[f64], k: i32, x: f64, adjoint: f64) -> f64:
    return adjoint * table[k]


@oa.func
def weighed(node: Node, x: f64) -> f64:
    return node.mass * x


def _mass(node: Node) -> f64:
    return node.mass


mass = oa.func(_mass)


@oa.custom_gradient(weighed)
def weighed_reverse(node: Node, x: f64, adjoint: f64) -> f64:
    return adjoint * mass(node)


@oa.kernel
def look_up(table: oa.Array[f64], x: oa.Array[f64]) -> None:
    i = oa.grid(1)
    x[i] = looked_up(table, i, x[i])


@oa.kernel
def weigh(nodes: oa.Array[Node], x: oa.Array[f64]) -> None:
    i = oa.grid(1)
    x[i] = weighed(nodes[i], x[i])


@oa.kernel
def through(x: oa.Array[f64], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[i] = rounded(x[i], x[i] * 2.0, 3) + length(oa.vec3d(x[i], 1.0, x[i] * x[i]))


@oa.kernel
def through_wrongly(x: oa.Array[f64]) -> None:
    x[oa.grid(1)] = wrongly(x[oa.grid(1)])


def test_a_way_back_of_ones_own() -> None:
    x, y = oa.array(f64, [1.5, 2.5]), oa.zeros(2, f64)
    with oa.tape() as tape:
        through[2](x, y)
    tape.backward(y, [1.0, 10.0])
    values = x.numpy()
    expected = 2 * values + 2 * np.floor(values) + 1 + 3 * 2 * values
    np.testing.assert_allclose(oa.grad(x), expected * [1.0, 10.0])
    with oa.tape(), pytest.raises(CompileError, match="no way back through wrongly"):
        through_wrongly[2](x)


def test_a_way_back_of_ones_own_that_reads_memory() -> None:
    """It would find what is there then, which the launch or a later one may have changed."""
    nodes, x, table = oa.new(Node, 2, mass=2.0), oa.zeros(2, f64), oa.zeros(2, f64)
    with oa.tape():
        with pytest.raises(CompileError, match=r"looked_up reads memory(.|\n)*as an argument"):
            look_up[2](table, x)
        with pytest.raises(CompileError, match="weighed reads memory"):
            weigh[2](nodes, x)


# ---------------------------------------------------------------- races


@oa.kernel
def scatter(x: oa.Array[f64], to: oa.Array[i32], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[to[i]] = x[i] * x[i]


@oa.kernel
def shift(x: oa.Array[f64], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[i] = x[i] * x[(i + 1) % 3]


def test_writes_that_do_not_meet() -> None:
    x, y, to = oa.array(f64, [1.0, 2.0, 3.0]), oa.zeros(3, f64), oa.array(i32, [2, 0, 1])
    with oa.tape() as tape:
        scatter[3](x, to, y)
        shift[3](y, x)
        loss = x[0] + 0.0
    tape.backward(loss)
    assert oa.grad(x).tolist() == [0.0, 2 * 2.0 * 9.0, 2 * 3.0 * 4.0]


def test_writes_that_meet() -> None:
    x, y, to = oa.array(f64, [1.0, 2.0, 3.0]), oa.zeros(3, f64), oa.array(i32, [2, 0, 2])
    with oa.tape():
        with pytest.raises(DeviceError, match="thread"):
            scatter[3](x, to, y)
        with pytest.raises(DeviceError, match="thread"):
            shift[3](x, x)


def test_other_heaps_and_blocks() -> None:
    nodes, other = oa.new(Node, 1), oa.Heap(backend="cpu", capacity="64MiB")
    with oa.tape() as tape:
        with pytest.raises(HeapError, match="another heap"), other:
            oa.new(Node, 1)
            oa.all(Node).move(0.1)
        with pytest.raises(HeapError, match="inside a block"):
            oa.tape().__enter__()
        loss = nodes.mass.sum()
        with pytest.raises(HeapError, match="inside the block"):
            tape.backward(loss)
    with pytest.raises(HeapError, match="one block"), tape:
        pass
    with oa.tape(), pytest.raises(HeapError, match="inside the block of a tape"):
        tape.backward(loss)
    oa.delete(nodes[0])
    with pytest.raises(HeapError, match="deleted or have moved"):
        tape.backward(loss)
    with oa.Heap(backend="cpu", mode="cuda"), pytest.raises(HeapError, match="one by one"):
        oa.tape()


class Choosing(oa.Object):
    x: f64
    n: i32

    def limit(self) -> bool:
        return self.x > 10.0

    def choose(self, threshold: f64) -> None:
        if self.x > threshold:  # of x
            self.x = self.x * 2.0
        if self.n > 2:
            self.x = self.x * 3.0
        rounds = 0
        while self.x * self.x < 50.0 and rounds < self.n:  # of x, once more
            self.x = self.x * 1.5
            rounds += 1
        is_large = self.x > 3.0 if self.n > 1 else False
        if is_large:  # of x, or not
            self.x = self.x + 1.0
        if self.limit():  # of x, by way of a method
            self.x = self.x - 1.0
        if self.x > 0.0:  # nothing leads back through it
            self.n = 0


@pytest.mark.parametrize("states", [None, 2])
def test_branches_that_depend_on_floats(states: int | None) -> None:
    oa.new(Choosing, 3, x=[0.25, 1.0, 30.0], n=[1, 2, 3])
    with oa.tape(checkpoints=states) as tape:
        assert tape.explain() == "no launch has a way back"
        oa.all(Choosing).choose(0.5)
    lines = tape.explain().splitlines()
    source, first = inspect.getsourcelines(Choosing)
    wanted = [first + n for n, line in enumerate(source) if "# of x" in line]
    assert [line.split(" ")[0] for line in lines[1:]] == [f"test_records.py:{n}:" for n in wanted]
    assert lines[0].startswith("Choosing.choose: ") and " bytes of each thread are kept" in lines[0]
