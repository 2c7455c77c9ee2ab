"""Gradients through classes with everything in them, against differences; and what is refused."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, inline
from sharedoa.errors import ArgumentError, CompileError, HeapError
from tests.runtime.everywhere import world

Values = dict[str, np.ndarray[Any, Any]]


@oa.value
class Pair:
    a: f64
    b: f64

    def dot(self, other: Pair) -> f64:
        return self.a * other.a + self.b * other.b


@oa.func
def poly(x: f64, n: i32) -> f64:
    total = 0.0
    for k in range(n):
        total = total * x + float(k)
    return total


@oa.func
def newton(x: f64) -> f64:
    """A root by rounds of which nobody knows the number."""
    y = x + 0.5
    rounds = 0
    while abs(y * y - x) > 1e-13 and rounds < 50:
        y = 0.5 * (y + x / y)
        rounds += 1
    return y


@oa.func
def early(x: f64, n: i32) -> f64:
    """A loop that ends in every way."""
    total = 0.0
    for k in range(n):
        if total > 30.5:
            return total * x
        if k == 7:
            continue
        total += x * k
        if total > 20.25:
            total = total * 0.5
            break
    else:
        total = total * 3.0
    return total + x


@oa.func
def counted(x: f64) -> f64:
    """Known rounds, and a way out of them."""
    total = x
    for k in range(2, 12, 3):
        total = total * x + k
        if total > 15.5:
            total *= 0.25
            break
        for _ in range(2):
            total = total + x * x
    return total


@oa.func
def recursive(x: f64, n: i32) -> f64:
    if n == 0:
        return x
    return np.sin(recursive(x * 1.1, n - 1)) + x


@oa.func
def lists(x: f64) -> f64:
    values = [x, x * x, 1.0, 2.0]
    for k in range(3):
        values[k + 1] = values[k] * values[k + 1] + x
    total = 0.0
    for k in range(4):
        total += values[k] * (k + 1)
    return total


class Body(oa.Object):
    x: f64
    pair: Pair
    way: oa.vec3d
    row: inline[f64, 4]
    y: f64
    n: i32
    other: Body
    got: f64

    def go(self, dt: f64) -> None:
        self.y += self.x * dt
        self.y = np.sin(self.y * self.y + 0.1 * self.rate(self.x))
        self.pair = Pair(self.pair.b * self.x, self.pair.a + self.y)
        self.way = self.way.cross(oa.vec3d(self.x, 1.0, 2.0)) * self.y
        for k in range(4):
            self.row[k] = self.row[k] * self.row[(k + 1) % 4] + self.x
        if self.other is not None:
            oa.atomic_add(self.other, "got", self.x * self.y)

    def rate(self, q: f64) -> f64:
        return q


class Looping(Body):
    def rate(self, q: f64) -> f64:
        return np.sin(poly(q, self.n)) + newton(q) + early(q, self.n) + counted(q)


class Listing(Body):
    def rate(self, q: f64) -> f64:
        return np.sin(lists(q)) * recursive(q, 3) + self.pair.dot(Pair(q, 2.0))


NAMES = ("x", "way", "row", "y", "pair.a", "pair.b")


def inputs(seed: int) -> Values:
    random = np.random.default_rng(seed)
    shapes = {"way": (6, 3), "row": (6, 4)}
    return {name: random.uniform(0.5, 1.5, shapes.get(name, (6,))) for name in NAMES}


def field(objects: Any, name: str) -> Any:
    first, *rest = name.split(".")
    found = getattr(objects, first)
    return found[rest[0]] if rest else found


def bodies(values: Values) -> tuple[Any, Any]:
    groups = oa.new(Looping, 3), oa.new(Listing, 3)
    for number, objects in enumerate(groups):
        for name, given in values.items():
            field(objects, name)[...] = given[3 * number : 3 * number + 3]
        objects.n = [3, 12, 1]
    groups[0].other = groups[1]
    groups[1].other = [groups[0][0], groups[0][0], None]
    return groups


def outcome(groups: Any) -> Any:
    total = 0.0
    for o in groups:
        total += (o.y * 1.5).sum() + (o.pair["a"] * o.pair["b"]).sum() + (o.got * 0.5).sum()
        total += (o.way * o.way).sum() + np.sin(o.row).sum()
    return total


def gradients(values: Values) -> Values:
    groups = bodies(values)
    with oa.tape() as tape:
        oa.all(Body).go(0.25)
        oa.all(Body).go(0.25)
        loss = outcome(groups)
    tape.backward(loss)
    found = {n: np.concatenate([field(o.grad, n).numpy() for o in groups]) for n in NAMES}
    return {**found, "loss": np.array(float(loss))}


def differences(run: Callable[[Values], float], values: Values, step: float = 1e-6) -> Values:
    found = {}
    for name, given in values.items():
        found[name] = np.zeros(given.shape)
        for index in np.ndindex(given.shape):
            ends = []
            for sign in (1, -1):
                moved = copy.deepcopy(values)
                moved[name][index] += sign * step
                ends.append(run(moved))
            found[name][index] = (ends[0] - ends[1]) / (2 * step)
    return found


def test_everything_in_two_classes_and_two_steps() -> None:
    values = inputs(0)

    def run(moved: Values) -> float:
        with oa.Heap(backend="cpu", capacity="64MiB"):
            groups = bodies(moved)
            oa.all(Body).go(0.25)
            oa.all(Body).go(0.25)
            return float(outcome(groups))

    with oa.Heap(backend="cpu", capacity="64MiB"):
        found = gradients(values)
    assert found["loss"] == run(values)
    for name, expected in differences(run, values).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    "names",
    [("python", "tiles"), pytest.param(("headers", "debug"), marks=pytest.mark.slow)],
    ids=" and ".join,
)
def test_the_same_bits_in_other_worlds(names: tuple[str, ...]) -> None:
    values = inputs(1)
    with world("cpu"):
        expected = gradients(values)
    for name in names:
        with world(name):
            found = gradients(values)
        for each in expected:
            assert found[each].tobytes() == expected[each].tobytes(), f"{each} in {name}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["warps", "warps with tags", "warps in debug mode"])
def test_nearly_the_same_in_warps(name: str) -> None:
    values = inputs(1)
    with world("cpu"):
        expected = gradients(values)
    with world(name):
        found = gradients(values)
    for each in expected:
        np.testing.assert_allclose(found[each], expected[each], rtol=1e-12)


# ---------------------------------------------------------------- loads and stores


class Cell(oa.Object):
    left: Cell
    value: f64
    made: f64

    def look(self) -> None:
        """The left one may be the cell itself."""
        before = self.left.value
        self.made = self.value * before
        self.made = self.made * self.value + before

    def mix(self) -> None:
        """What the left one has is the cell's own if they are one."""
        self.made = self.value
        self.left.made = self.left.made * 3.0
        self.made = self.made * self.value


def test_a_neighbour_that_is_oneself() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        cells = oa.new(Cell, 3, value=[2.0, 3.0, 5.0])
        cells.left = [cells[0], cells[0], cells[1]]
        with oa.tape() as tape:
            oa.all(Cell).look()
            loss = (cells.made * [1.0, 10.0, 100.0]).sum()
        tape.backward(loss)
        # made = v v l + l
        own = np.array([2 * 2.0 * 2.0, 2 * 3.0 * 2.0 * 10, 2 * 5.0 * 3.0 * 100])
        other = np.array([4.0 + 1, (9.0 + 1) * 10, (25.0 + 1) * 100])
        expected = own + np.array([other[0] + other[1], other[2], 0.0])
        np.testing.assert_allclose(cells.grad.value, expected, rtol=1e-15)
        assert not cells.grad.made.numpy().any()


def test_a_store_by_another_name() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        cells = oa.new(Cell, 2, value=[2.0, 5.0])
        cells.left = cells
        with oa.tape() as tape:
            oa.all(Cell).mix()
            loss = cells.made.sum()
        assert float(loss) == 3 * (4.0 + 25.0)
        tape.backward(loss)
        assert cells.grad.value.numpy().tolist() == [3 * 2 * 2.0, 3 * 2 * 5.0]


@oa.func
def doubled(values: oa.Array[f64], i: i32) -> f64:
    if i == 1:  # too long to stand where it is called
        return values[i] + values[i]
    return values[i] * 2.0


@oa.kernel
def square_doubled(values: oa.Array[f64]) -> None:
    i = oa.grid(1)
    x = doubled(values, i)
    values[i] = x * x


def test_a_function_that_reads_what_changes() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        values = oa.array(f64, [1.0, 2.0, 3.0])
        with oa.tape() as tape:
            square_doubled[3](values)
            loss = values.sum()
        tape.backward(loss)
        assert oa.grad(values).tolist() == [8.0, 16.0, 24.0]


TABLE = np.array([2.0, 3.0, 4.0])


@oa.kernel
def weigh(values: oa.Array[f64]) -> None:
    i = oa.grid(1)
    values[i] = values[i] * TABLE[i]


def test_a_table_that_changes_after_the_block() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        values = oa.array(f64, [1.0, 1.0, 1.0])
        with oa.tape() as tape:
            weigh[3](values)
            loss = values.sum()
        TABLE[:] = 7.0
        tape.backward(loss)
        TABLE[:] = [2.0, 3.0, 4.0]
        assert oa.grad(values).tolist() == [2.0, 3.0, 4.0]


# ---------------------------------------------------------------- tapes


class Ball(oa.Object):
    height: f64
    speed: f64

    def move(self, dt: f64) -> None:
        self.height += self.speed * dt
        self.speed -= 9.81 * dt


def test_ten_launches_and_scalars_of_each() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        balls = oa.new(Ball, 4, height=[1.0, 2.0, 3.0, 4.0], speed=0.5)
        with oa.tape() as tape:
            for number in range(10):
                oa.all(Ball).move(0.01 * (number + 1))
            loss = (balls.height * 2.0).sum()
        balls.height = 0.0  # nothing of which the tape takes notice
        tape.backward(loss)
        np.testing.assert_allclose(balls.grad.height, np.full(4, 2.0))
        np.testing.assert_allclose(balls.grad.speed, np.full(4, 2.0 * 0.55))
        tape.backward(loss)
        np.testing.assert_allclose(oa.grad(balls[1]).height, [4.0])
        np.testing.assert_allclose(oa.grad(balls[1]).speed, [4.0 * 0.55])
        tape.zero()
        assert not balls.grad.speed.numpy().any()
        assert tape.bytes == 0  # as nothing is asked for on the way back


class Part(oa.Object):
    place: oa.vec2d
    pair: Pair
    row: oa.inline[f64, 3]
    mass: f64

    def move(self) -> None:
        self.place = self.place * self.mass
        self.mass = self.pair.a * self.pair.b + self.row[1] * self.mass


def test_parts_of_adjoints() -> None:
    """By numbers, slices and names, of which none is that of the field."""
    with oa.Heap(backend="cpu", capacity="64MiB"):
        parts = oa.new(Part, 3, place=np.ones((3, 2)), mass=[2.0, 3.0, 4.0])
        parts.row = np.full((3, 3), 5.0)
        parts.pair["a"], parts.pair["b"] = 6.0, 7.0
        with oa.tape() as tape:
            oa.all(Part).move()
            loss = parts.place.sum() + parts.mass.sum()
        tape.backward(loss)
        grad = parts.grad
        assert [grad.mass[1], grad.mass[1:][0], *grad.mass[::2]] == [7.0] * 4
        assert grad.place[2] == oa.vec2d(4.0, 4.0) and list(grad.place)[1] == oa.vec2d(3.0, 3.0)
        assert grad.place[1:]["x"][1] == 4.0 and grad.pair["a"][0] == 7.0
        assert grad.pair[1:]["b"].numpy().tolist() == [6.0, 6.0]
        assert grad.row[1].tolist() == [0.0, 3.0, 0.0] and grad.row[:, 1].tolist() == [
            2.0,
            3.0,
            4.0,
        ]
        assert grad.mass[np.array([True, False, True])].tolist() == [7.0, 7.0]
        grad.mass[1] = 8.0
        grad.pair["a"] = -1.0
        assert grad.mass.numpy().tolist() == [7.0, 8.0, 7.0] and grad.pair["a"][2] == -1.0
        assert parts.mass[1] == 57.0 and parts.pair["a"][2] == 6.0


def test_adjoints_of_what_is_made_between_tapes() -> None:
    with oa.Heap(backend="cpu", capacity="256MiB"):
        balls = oa.new(Ball, 4, height=1.0, speed=1.0)
        with oa.tape() as tape:
            oa.all(Ball).move(0.5)
            loss = balls.height.sum()
        tape.backward(loss)
        more = oa.new(Ball, 3_000_000, height=1.0, speed=2.0)
        assert not more.grad.height.numpy().any()
        with oa.tape() as tape:
            oa.all(Ball).move(0.5)
            loss = more.height.sum()
        tape.backward(loss)
        assert (more.grad.speed.numpy() == 0.5).all()


# ---------------------------------------------------------------- what is refused


class Parent(oa.Object):
    x: f64

    def split(self) -> None:
        self.x = self.x * 2.0
        oa.new(Parent, x=self.x)


class Mover(oa.Object):
    x: f64
    y: f32

    def largest(self) -> None:
        oa.atomic_max(self, "x", self.x * 2.0)

    def special(self) -> None:
        self.x = math.gamma(self.x)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: oa.all(Parent).split(), "an object is made"),
    (lambda: oa.all(Mover).largest(), "max of floats"),
    (lambda: oa.all(Mover).special(), "gamma has no adjoint"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_has_no_adjoint(number: int) -> None:
    run, message = REFUSED[number]
    with oa.Heap(backend="cpu", capacity="64MiB"):
        oa.new(Parent, 2, x=1.0)
        oa.new(Mover, 2, x=1.0)
        with oa.tape(), pytest.raises(CompileError, match=message) as caught:
            run()
        assert "test_rules.py:" in str(caught.value)


def test_the_host_changes_nothing_in_the_block() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        balls, values = oa.new(Ball, 2), oa.zeros(2, f64)
        with oa.tape() as tape:
            oa.all(Ball).move(0.1)

            def assign() -> None:
                balls.height = 1.0

            def one() -> None:
                balls[0].height = 1.0

            def element() -> None:
                values[0] = 1.0

            def in_place() -> None:
                values[...] += 1.0

            for change in (assign, one, element, in_place):
                with pytest.raises(HeapError, match=r"inside a block of oa\.tape"):
                    change()
            with pytest.raises(ValueError, match="read-only"):
                values.numpy()[0] = 1.0
            loss = balls.height.sum()
        values[0] = 1.0
        tape.backward(loss)


def test_other_objects_in_the_block() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        oa.new(Ball, 2)
        with oa.tape():
            oa.all(Ball).move(0.1)
            oa.new(Ball, 1)
            with pytest.raises(HeapError, match="made or deleted"):
                oa.all(Ball).move(0.1)


def test_what_is_no_loss() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        balls = oa.new(Ball, 2)
        with oa.tape() as tape:
            oa.all(Ball).move(0.1)
            heights = balls.height * 1.0
        with pytest.raises(ArgumentError, match="computed in the block"):
            tape.backward(3.0)
        with pytest.raises(ArgumentError, match="shape"):
            tape.backward(heights)
