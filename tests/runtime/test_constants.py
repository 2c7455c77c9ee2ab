"""Names bound to other values are seen by the next launch, as in CPython."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.frontend.dependencies import NameDependency
from sharedoa.model.world import World
from sharedoa.runtime.constants import ConstantNames

STEP: Any = 1
SCALE = 0.5


class Settings:
    limit = 3


class Mover(oa.Object):
    x: i32
    y: f64

    def move(self) -> None:
        self.x += STEP

    def grow(self) -> None:
        self.y += SCALE * Settings.limit


@oa.kernel
def move(movers: oa.Array[Mover]) -> None:
    movers[oa.grid(1)].x += STEP


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test binds these to."""
    monkeypatch.setitem(globals(), "STEP", 1)
    monkeypatch.setitem(globals(), "SCALE", 0.5)
    monkeypatch.setattr(Settings, "limit", 3)


def bind(**values: Any) -> None:
    globals().update(values)


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_a_global(backend: str) -> None:
    with oa.Heap(backend=backend) as heap:
        movers = heap.new(Mover, 4)
        ways = (
            lambda: move[4](movers),
            lambda: movers.move(),
            lambda: oa.all(Mover).move(),
            lambda: [mover.move() for mover in movers],
        )
        expected = 0
        for step in (1, 10, 10, 1000, 1):
            bind(STEP=step)
            for way in ways:
                way()
                expected += step
                assert movers.x.numpy().tolist() == [expected] * 4


def test_a_captured_step() -> None:
    with oa.Heap(backend="cpu") as heap:
        movers = heap.new(Mover, 4)
        with oa.capture() as step:
            move[4](movers)
        step.run(3)
        bind(STEP=100)
        step.run(2)
        assert movers.x.numpy().tolist() == [203] * 4


def test_attributes_of_classes_and_cells() -> None:
    def make() -> tuple[Any, Any]:
        amount = 5

        @oa.kernel
        def add(movers: oa.Array[Mover]) -> None:
            movers[oa.grid(1)].x += amount

        def change(value: int) -> None:
            nonlocal amount
            amount = value

        return add, change

    add, change = make()
    with oa.Heap(backend="cpu") as heap:
        movers = heap.new(Mover, 2)
        add[2](movers)
        change(50)
        add[2](movers)
        assert movers.x.numpy().tolist() == [55, 55]
        movers.grow()
        Settings.limit = 7
        movers.grow()
        bind(SCALE=-0.5)
        movers.grow()
        assert movers.y.numpy().tolist() == [1.5, 1.5]


def test_an_equal_value_compiles_nothing_anew() -> None:
    with oa.Heap(backend="cpu") as heap:
        movers = heap.new(Mover, 2)
        movers.grow()
        epoch = World.epoch
        bind(SCALE=float("0.5"))
        movers.grow()
        assert World.epoch == epoch
        bind(SCALE=np.float64(0.5))
        movers.grow()
        assert World.epoch > epoch


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), ((1,), (1.0,)), (1, True)])
def test_values_that_are_equal_but_not_the_same(one: Any, other: Any) -> None:
    bound = [one]
    names = ConstantNames([NameDependency("name", lambda: bound[0], one)])
    assert names.hold()
    bound[0] = other
    assert not names.hold()


def test_functions_classes_and_modules_are_definitions() -> None:
    known = [NameDependency("name", lambda: None, value) for value in (len, Mover, np)]
    assert len(ConstantNames(known)) == 0


def test_a_name_that_is_gone() -> None:
    values = {"name": 1}
    names = ConstantNames([NameDependency("name", lambda: values["name"], 1)])
    del values["name"]
    assert not names.hold()
