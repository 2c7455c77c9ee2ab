"""Names bound to other values are seen by the next launch, as in CPython."""

from __future__ import annotations

import types
import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i8, i32
from sharedoa.frontend.dependencies import NameDependency
from sharedoa.model.world import World
from sharedoa.runtime.bound_names import BoundNames

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


class Rates:
    rate: ClassVar[int] = 2


class HigherRates(Rates):
    pass


class Account(Rates, oa.Object):
    x: i32

    def pay(self) -> None:
        self.x = self.x * 10 + self.rate


class Other(HigherRates, Account):
    pass


def test_constants_of_mixins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are classes as others, and may get a constant at any time."""
    with oa.Heap(backend="cpu") as heap:
        accounts = heap.concat(heap.new(Account, 1), heap.new(Other, 1))
        with oa.capture() as step:
            accounts.pay()
        step.run()
        monkeypatch.setattr(Rates, "rate", 3)
        step.run()
        accounts.pay()
        monkeypatch.setattr(HigherRates, "rate", 4, raising=False)
        accounts.pay()
        step.run()
        assert accounts.x.numpy().tolist() == [23333, 23344]


def test_methods_of_values_that_are_replaced() -> None:
    """Kernels would call the old ones; CPython calls the new."""

    @oa.value
    class Sum:
        a: i32

        def __add__(self, other: Sum) -> Sum:
            return Sum(self.a + other.a)

        def doubled(self) -> i32:
            return self.a * 2

    @oa.kernel
    def add(out: oa.Array[i32]) -> None:
        out[0] = (Sum(3) + Sum(4)).doubled()

    with oa.Heap(backend="cpu") as heap:
        out = heap.zeros(1, i32)
        with oa.capture() as step:
            add[1](out)
        for name in ("__add__", "doubled"):
            own = getattr(Sum, name)
            setattr(Sum, name, lambda self, *others: self)
            for launch in (lambda: add[1](out), step.run):
                with pytest.raises(oa.ClassError, match=f"Sum.{name} was replaced"):
                    launch()
            setattr(Sum, name, own)
            step.run()
            assert out[0] == 14


@dataclass
class Inner:
    rate: float = 0.5


@dataclass
class Kept:
    steps: int = 2
    inner: Inner = field(default_factory=Inner)
    table: Any = field(default_factory=lambda: np.array([1.0, 2.0]))


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_attributes_of_objects(backend: str) -> None:
    kept = Kept()

    @oa.kernel
    def grow(movers: oa.Array[Mover]) -> None:
        for _ in range(kept.steps):
            movers[oa.grid(1)].y += kept.inner.rate * kept.table[1]

    with oa.Heap(backend=backend):
        movers = oa.new(Mover, 4)

        def grown() -> float:
            movers.y = 0.0
            grow[4](movers)
            return float(movers.y[3])

        assert grown() == 2
        kept.steps = 3
        assert grown() == 3
        kept.inner.rate = 1.0
        assert grown() == 6
        kept.inner = Inner(2.0)
        assert grown() == 12
        kept.table[1] = 1
        assert grown() == 6
        kept.table = np.array([0.0, 4.0])
        assert grown() == 24


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
    values = {"name": one}
    names = BoundNames([NameDependency("global", values, "name", one)])
    assert names.hold()
    values["name"] = other
    assert not names.hold() and not names.are_equal()


def test_a_name_that_is_gone() -> None:
    values = {"name": 1}
    names = BoundNames([NameDependency("global", values, "name", 1)])
    del values["name"]
    assert not names.hold() and not names.are_equal()


def test_a_name_that_hides_one_of_pythons() -> None:
    values: dict[str, Any] = {}
    names = BoundNames([NameDependency("global", values, "max", max)])
    assert names.hold()
    values["max"] = min
    assert not names.hold() and not names.are_equal()


def test_cells_of_one_name_in_several_functions() -> None:
    def make(amount: int) -> tuple[Any, Any]:
        def change(value: int) -> None:
            nonlocal amount
            amount = value

        (cell,) = (c for c in change.__closure__ or ())
        return change, NameDependency("cell", cell, "amount", amount)

    changes, cells = zip(*map(make, (1, 2, 3)), strict=True)
    names = BoundNames([*cells, NameDependency("attribute", Settings, "limit", 3)])
    assert names.hold()
    for number, change in enumerate(changes):
        change(7)
        assert not names.hold() and not names.are_equal()
        change(number + 1)
        assert names.hold()
    Settings.limit = 4
    assert not names.hold()


@oa.value
class Pair:
    a: i32
    b: i32

    def first(self) -> i32:
        return self.a


@oa.value
class Riap:
    b: i32
    a: i32

    def first(self) -> i32:
        return self.a * 100


@oa.func
def plus(x: i32) -> i32:
    return x + 1


@oa.func
def minus(x: i32) -> i32:
    return x - 1


class Fast(Mover):
    pass


AMOUNT: Any = i32
FUNCTION: Any = plus
CLASS: Any = Fast
STRUCT: Any = Pair
VALUE: Any = Pair(1, 2)
PLAIN: Any = Settings
MODULE: Any = types.SimpleNamespace()
TUPLE: Any = (1, 2)


@oa.kernel
def rebound(movers: oa.Array[Mover], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    mover = movers[i]
    found = f64(FUNCTION(i32(7))) + f64(AMOUNT(i32(300))) * 10.0
    found += f64(STRUCT(3, 5).first()) * 100.0 + f64(VALUE.a) * 1e6
    if isinstance(mover, CLASS):
        found += 1e7
    found += PLAIN.limit * 1e8 + MODULE.factor * 1e9 + max(2, 3) * 1e10 + TUPLE[1] * 1e11
    out[i] = found


class Others:
    limit = 8


class Slow(Mover):
    pass


def _module(factor: Any) -> Any:
    module = types.ModuleType("settings")
    module.factor = factor  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize("way", ["launch", "capture"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FUNCTION", minus), ("AMOUNT", i8), ("CLASS", Slow), ("STRUCT", Riap),
        ("VALUE", Pair(4, 2)), ("VALUE", Riap(4, 9)), ("PLAIN", Others), ("MODULE", _module(2)),
        ("MODULE.factor", 5), ("MODULE.factor", 2.5), ("max", min), ("TUPLE", (1, 7)),
        ("FUNCTION", f64), ("AMOUNT", plus),
    ],
)  # fmt: skip
def test_names_of_all_kinds(
    name: str, value: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "MODULE", _module(1))
    found = []
    for backend in ("python", "cpu"):
        with monkeypatch.context() as change, oa.Heap(backend=backend) as heap:
            movers = oa.concat(heap.new(Fast, 2), heap.new(Slow, 2))
            out = oa.zeros(4, f64)
            if way == "capture":
                with oa.capture() as step:
                    rebound[4](movers, out)
                run: Any = step.run
            else:
                run = lambda: rebound[4](movers, out)  # noqa: B023
            run()
            before = out.numpy().tolist()
            if "." in name:
                change.setattr(MODULE, "factor", value)
            else:
                change.setitem(globals(), name, value)
            run()
            after = out.numpy().tolist()
            assert before != after
        found.append((before, after))
    assert found[0] == found[1]


def test_a_functions_code_is_looked_at_with_every_definition() -> None:
    """Tools that load modules anew replace it in place."""

    @oa.func
    def changing(x: i32) -> i32:
        return x + 1

    @oa.kernel
    def run(out: oa.Array[i32]) -> None:
        out[oa.grid(1)] = changing(5)

    with oa.Heap(backend="cpu"):
        out = oa.zeros(1, i32)
        run[1](out)
        assert out[0] == 6
        changing.function.__code__ = minus.function.__code__

        @oa.func
        def another(x: i32) -> i32:
            return x

        run[1](out)
        assert out[0] == 4


WEIGHTS = np.array([[1.5, 2.5], [3.5, 4.5]], np.float32)
STEPS: Any = (1, 20, 300)


@oa.kernel
def look_up(out: oa.Array[f64], n: i32) -> None:
    out[0] = WEIGHTS[n, n - 1] + STEPS[n]


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_tables_are_as_they_are_at_the_launch(
    backend: str, monkeypatch: pytest.MonkeyPatch, compiled: list[Any]
) -> None:
    def looked_up() -> float:
        look_up[1](out, 1)
        oa.synchronize()
        return float(out[0])

    monkeypatch.setitem(globals(), "WEIGHTS", WEIGHTS.copy())
    with oa.Heap(backend=backend, capacity="64MiB"):
        out = oa.zeros(1, f64)
        assert [looked_up(), looked_up()] == [23.5, 23.5]
        WEIGHTS[1, 0] = 7
        assert looked_up() == 27
        WEIGHTS[0, 0] = 8  # not read, but nobody looks closer
        assert looked_up() == 27
        monkeypatch.setitem(globals(), "STEPS", (1, 30, 300))
        assert looked_up() == 37
        monkeypatch.setitem(globals(), "WEIGHTS", WEIGHTS.astype(np.float64) + 0.1)
        assert looked_up() == 37.1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from NumPy 2.5 on
            WEIGHTS.shape = (1, 4)
        assert backend == "python" or len(compiled) == 5
