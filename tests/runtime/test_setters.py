"""Properties that are assigned: of one object, of many, and in kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from tests.codegen.interpreted import InterpretedGpu
from tests.source_files import load_module


class Car(oa.Object):
    pace: f32
    changes: i32
    next: Car

    @property
    def speed(self) -> f32:
        return self.pace * 2

    @speed.setter
    def speed(self, value: f32) -> None:
        self.changes += 1
        self.pace = min(value, f32(20.0)) / 2

    @property
    def fast(self) -> bool:
        return self.pace > 4

    @property
    def label(self) -> i32:
        return self.changes

    @label.setter
    def label(self, text):  # type: ignore[no-untyped-def]
        self.changes = len(text)

    def hurry(self, by: f32) -> None:
        self.speed += by

    def go(self) -> None:
        pass


class Truck(Car):
    load: i32

    @property
    def speed(self) -> f32:
        return self.pace

    @speed.setter
    def speed(self, limited: f32) -> None:
        Car.speed.fset(self, limited * 2)  # type: ignore[attr-defined]
        self.load += i32(Car.speed.fget(self))  # type: ignore[attr-defined]


class Van(Car):
    @Car.speed.getter  # type: ignore[attr-defined,untyped-decorator]
    def speed(self) -> f32:
        return self.pace + 100


class Bus(Truck):
    @Truck.speed.setter  # type: ignore[attr-defined,untyped-decorator]
    def speed(self, value: f32) -> None:
        self.pace = -value


@oa.func
def counted(calls: oa.Array[i32], i: i32) -> i32:
    calls[i] = calls[i] * 10 + 1
    return i


@oa.func
def value_of(calls: oa.Array[i32], i: i32) -> f32:
    calls[i] = calls[i] * 10 + 2
    return f32(i)


@oa.kernel
def kernel(cars: oa.Array[Car], calls: oa.Array[i32]) -> None:
    i = oa.grid(1)
    cars[counted(calls, i)].speed = value_of(calls, i)
    cars[counted(calls, i)].speed += value_of(calls, i)
    cars[i].speed, other = 3, cars[i].speed
    if other > 2:
        cars[i].hurry(other)
    first = cars[i].next.speed = f32(0.5)
    cars[i].next.speed -= first * 3


def _run(backend: object) -> list[Any]:
    with oa.Heap(backend=backend):
        classes = Car, Truck, Van, Bus
        cars = oa.array(Car, [classes[k % 4](pace=k) for k in range(12)])
        cars.next = oa.array(Car, [Truck() if k % 3 else Van() for k in range(12)])
        calls = oa.zeros(12, i32)
        kernel[12](cars, calls)
        found = [calls.numpy().tolist()]

        def note() -> None:
            speeds = [[each.pace, each.speed, each.changes] for each in cars]
            found.append([speeds, oa.all(Truck).load.numpy().tolist()])

        note()
        cars.speed = 3
        note()
        cars.speed = np.arange(12)
        note()
        cars[2:5].speed = [f32(7), 8.5, 9]
        note()
        cars.speed += 1
        cars.speed *= cars.pace
        note()
        oa.all(Car).speed = 30
        oa.all(Truck).speed -= 4
        note()
        each = oa.array(f32, range(12))
        with oa.capture() as step:
            oa.all(Bus).speed = 1.5
            cars.speed = each
        step.run(2)
        note()
        return found


def test_the_same_everywhere() -> None:
    expected = _run("python")
    calls, *states = expected
    assert calls == [2112] * 12
    of_arange, _ = states[2]
    assert [pace for pace, *_ in of_arange[:4]] == [0, 1, 1, -3]
    assert [speed for _, speed, _ in of_arange[:4]] == [0, 1, 101, -3]
    for backend in "cpu", InterpretedGpu():
        assert _run(backend) == expected


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_what_cannot_be_assigned(backend: str) -> None:
    with oa.Heap(backend=backend):
        cars = oa.new(Car, 3, pace=2)
        for objects in cars, oa.all(Car):
            for name, value, error, words in (
                ("fast", True, AttributeError, r"Car\.fast is a property without a setter: write"),
                (
                    "label",
                    "abc",
                    AttributeError,
                    r"setter of Car\.label runs on the host only",
                ),
                ("go", 1, AttributeError, r"Car\.go is a method, and is called: objects\.go\("),
                (
                    "missing",
                    1,
                    AttributeError,
                    "; methods: speed, fast, label, hurry, go",
                ),
                ("speed", [1, 2], oa.ArgumentError, "value has 2 elements for 3 objects"),
                ("speed", "abc", oa.ArgumentError, "value takes f32, not"),
                ("speed", None, oa.ArgumentError, "value takes f32, not None"),
            ):
                with pytest.raises(error, match=words):
                    setattr(objects, name, value)
        assert cars.pace.numpy().tolist() == [2] * 3
        cars[0].label = "abc"
        assert cars[0].changes == 3
        with pytest.raises(oa.ArgumentError, match="value takes f32, not"):
            cars[0].speed = "abc"  # type: ignore[assignment]
        assert "speed" in dir(cars) and "speed.setter" not in dir(cars)


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("car.fast = True", r"car\.fast is a property without a setter (.|\n)*@fast\.setter"),
        ("car.label = 3", r"car\.label is a property without a setter that kernels can call"),
        ("car.speed = car", r"f32"),
        ("Car.speed = 3.0", r"Car\.speed is a property"),
        ("Car.fast.fset(car, True)", r"Car\.fast is a property"),
        ("car.speeds = 1", "Car has pace, changes, next, speed, fast, label, hurry, go"),
    ],
)
def test_refused_in_kernels(statement: str, complaint: str, tmp_path: Path) -> None:
    text = f"@oa.kernel\ndef kernel(car: Car) -> None:\n    {statement}\n"
    module = load_module(tmp_path, text, Car=Car)
    with oa.Heap(backend="cpu"), pytest.raises(oa.CompileError, match=complaint):
        module.kernel[1](oa.new(Car))


def test_overriding_properties_keep_the_setter() -> None:
    with pytest.raises(oa.ClassError, match=r"speed overrides a property with a setter(.|\n)*gett"):

        class _Boat(Car):
            @property
            def speed(self) -> f32:
                return self.pace

    with pytest.raises(oa.ClassError, match=r"Boat\.speed\.setter\(value: i32\) -> None overrides"):

        class _IntBoat(Car):
            @property
            def speed(self) -> f32:
                return self.pace

            @speed.setter  # type: ignore[override]
            def speed(self, value: i32) -> None: ...


def test_setters_need_no_result() -> None:
    class Point(oa.Object):
        x: f32

        @property
        def y(self) -> f32:
            return self.x

        @y.setter
        def y(self, value: f32):  # type: ignore[no-untyped-def]
            self.x = value

    with oa.Heap(backend="cpu"):
        points = oa.new(Point, 2)
        points.y = 4
        assert points.x.numpy().tolist() == [4, 4]


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_abstract_setters(backend: str) -> None:
    class Shape(oa.Object):
        size: f32

        @property
        def area(self) -> f32: ...

        @area.setter
        def area(self, value: f32) -> None: ...

        def double(self) -> None:
            self.area *= 2

    class Mixin:
        @property
        def side(self) -> f32:
            return self.size  # type: ignore[attr-defined,no-any-return]

        @side.setter
        def side(self, value: f32) -> None:
            self.size = value

    class Square(Mixin, Shape):
        @property
        def area(self) -> f32:
            return self.size * self.size

        @area.setter
        def area(self, value: f32) -> None:
            self.side = f32(value**0.5)

    with oa.Heap(backend=backend):
        with pytest.raises(oa.ClassError, match=r"abstract: area, area\.setter have no"):
            Shape()
        squares = oa.new(Square, 3, size=2)
        squares.double()
        squares.side += 1
        assert np.allclose(squares.size.numpy(), 8**0.5 + 1)


def test_a_setter_that_is_deleted_with_its_property() -> None:
    class Base(oa.Object):
        x: f32

        @property
        def y(self) -> f32:
            return self.x

        @y.setter
        def y(self, value: f32) -> None:
            self.x = value

        def set(self, value: f32) -> None:
            self.y = value

    class Below(Base):
        @property
        def y(self) -> f32:
            return self.x + 1

        @y.setter
        def y(self, value: f32) -> None:
            self.x = -value

    with oa.Heap(backend="cpu"):
        below = oa.new(Below, 2)
        below.set(3)
        assert below.x.numpy().tolist() == [-3, -3]
        del Below.y
        below.set(3)
        below[0].y = 5
        assert below.x.numpy().tolist() == [5, 3]
