"""``objs.method(...)`` and ``oa.all(C).method(...)``."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32


@oa.value
class Point:
    x: f32
    y: f32


class Body(oa.Object):
    mass: f32
    peer: Body

    def weight(self, gravity: f32, extra: f32 = 1.0) -> f32: ...

    def grow(self, by: f32):
        self.mass += by

    def place(self) -> Point:
        return Point(self.mass, f32(2))

    def other(self) -> Body:
        return self.peer

    def pair(self) -> tuple[f32, f32]:
        return self.mass, self.mass


class Star(Body):
    def weight(self, gravity: f32, extra: f32 = 1.0) -> f32:
        return self.mass * gravity + extra


class Planet(Body):
    def weight(self, gravity: f32, extra: f32 = 1.0) -> f32:
        return -self.mass * gravity + extra


@pytest.fixture
def bodies(heap):
    stars = oa.new(Star, 3, mass=[1, 2, 3])
    planets = oa.new(Planet, 2, mass=[10, 20])
    return oa.concat(planets, stars)


def test_scalars_broadcast_and_arrays_go_element_by_element(bodies):
    assert bodies.weight(2, 0).numpy().tolist() == [-20, -40, 2, 4, 6]
    gravity = oa.array(f32, np.arange(5))
    assert bodies.weight(gravity).numpy().tolist() == [1, -19, 3, 7, 13]


def test_population_in_its_own_order(bodies):
    population = oa.all(Body)
    masses = [body.mass for body in population]
    kinds = [type(body) for body in population]
    found = population.weight(2, 0).numpy().tolist()
    assert found == [m * 2 * (1 if k is Star else -1) for m, k in zip(masses, kinds, strict=True)]
    by = oa.array(f32, np.arange(5, dtype=np.float32))
    assert population.grow(by) is None
    assert [body.mass for body in population] == [m + i for i, m in enumerate(masses)]


def test_results_of_every_kind(bodies):
    assert bodies.grow(1) is None
    assert bodies.mass.numpy().tolist() == [11, 21, 2, 3, 4]
    assert bodies.place()[0] == Point(11, 2)
    bodies[0].peer = bodies[1]
    others = bodies.other()
    assert others[0] == bodies[1] and others[1] is None
    with pytest.raises(oa.ArgumentError, match="of which there are no arrays"):
        bodies.pair()


class Level(enum.IntEnum):
    LOW = 2
    HIGH = 7


class Lamp(oa.Object):
    level: i32

    def __init__(self, level: i32) -> None:
        self.level = level

    def turn(self, level: i32) -> None:
        self.level = level


def test_members_of_enumerations_are_one_number(heap):
    """Their class has a length, and they have none."""
    lamps = oa.new(Lamp, 3, level=Level.LOW)
    assert lamps.level.numpy().tolist() == [2, 2, 2]
    lamps.turn(Level.HIGH)
    assert lamps.level.numpy().tolist() == [7, 7, 7]
    with pytest.raises(oa.ArgumentError, match="takes i32"):
        lamps.turn(enum.Enum("Other", ["A"]).A)


def test_nothing_to_call(heap):
    assert len(oa.all(Body).weight(1)) == 0
    assert oa.all(Body).grow(1) is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "lacks gravity"),
        ((1, 2, 3), "takes 2 arguments, not 3"),
        (("x",), "gravity takes f32"),
    ],
)
def test_wrong_arguments_are_refused(arguments, complaint):
    with oa.Heap(backend="cpu", capacity="256MiB"):
        stars = oa.new(Star, 3, mass=1)
        with pytest.raises(oa.ArgumentError, match=complaint):
            stars.weight(*arguments)
        with pytest.raises(oa.ArgumentError, match="2 elements for 3 objects"):
            stars.weight(oa.zeros(2, f32))
        with pytest.raises(oa.ArgumentError, match="gravity"):
            stars.weight(oa.zeros(3, i32))


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_sequences_give_one_value_an_object(backend):
    class Taker(oa.Object):
        number: f32
        body: Body
        point: Point

        def take(self, number: f32):
            self.number += number

        def meet(self, body: Body):
            self.body = body

        def go(self, point: Point):
            self.point = point

        def sum(self, numbers: oa.Array[f32]):
            pass

    with oa.Heap(backend=backend, capacity="256MiB"):
        takers, bodies, points = oa.new(Taker, 3), oa.new(Star, 3), [Point(f32(1), f32(2))] * 3
        for objects in (takers, oa.all(Taker)):
            for numbers in (np.arange(3), [1, 2, 3], (1, 2, 3), oa.array(f32, [1, 2, 3])):
                takers.number = 0
                objects.take(numbers)
                assert takers.number.numpy().tolist() == [float(each) for each in numbers]
            objects.take(takers.number)
            assert takers.number.numpy().tolist() == [2.0, 4.0, 6.0]
            for met in ([bodies[0], None, bodies[1]], bodies, oa.all(Star)):
                objects.meet(met)
                assert [each.body for each in takers] == [*met]
            objects.go(points)
            assert takers.point["y"].numpy().tolist() == [2.0] * 3
            for wrong, complaint in (
                (np.arange(4), "4 elements for 3 objects"),
                (["a"] * 3, "does not convert"),
                ([None] * 3, "does not convert"),
                (np.ones((3, 2)), "Array"),
            ):
                with pytest.raises(oa.ArgumentError, match=complaint):
                    objects.take(wrong)
            assert takers.number.numpy().tolist() == [2.0, 4.0, 6.0]
        with pytest.raises(oa.ArgumentError, match=r"takes Array.*\n.*oa\.array\(f32, data\)"):
            takers.sum(np.ones(3, np.float32))
        with pytest.raises(oa.ArgumentError, match=r"pass f32\(\.\.\.\)"):
            takers.take(np.array(1))
        cure = r"in a captured step\n.*made before the step"
        with oa.capture(), pytest.raises(oa.ArgumentError, match=cure):
            takers.take([1, 2, 3])


def test_a_redefined_method_is_called(heap):
    class Counter(oa.Object):
        count: i32

        def step(self) -> i32:
            return self.count

    counters = oa.new(Counter, 4, count=5)
    assert counters.step().numpy().tolist() == [5] * 4

    def step(self) -> i32:
        return self.count + 1

    Counter.step = step
    assert counters.step().numpy().tolist() == [6] * 4
    assert oa.all(Counter).step().numpy().tolist() == [6] * 4
