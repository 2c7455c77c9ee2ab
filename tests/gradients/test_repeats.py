"""Launches that are as they were before are recorded by what is known of those; what differs is
seen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.runtime import gradients, tape

RATE: float = 2.0


class Drop(oa.Object):
    x: f64
    k: f64

    def grow(self, by: f64) -> None:
        self.x = self.x * self.k * RATE + by * self.x

    def turn(self, times: i32) -> None:
        for _ in range(times):
            self.x *= self.k


class Pearl(Drop):
    def grow(self, by: f64) -> None:
        self.x = self.x * self.x * by


@pytest.fixture(autouse=True)
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB", initial_region=16) as made:
        yield made


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of methods that were called by what is known."""
    found: list[str] = []
    call = tape.Tape.call_again

    def noted(self: Any, objects: Any, name: str, arguments: tuple[Any, ...]) -> bool:
        took = call(self, objects, name, arguments)
        found.extend([name] * took)
        return took

    monkeypatch.setattr(tape.Tape, "call_again", noted)
    return found


def test_calls_as_before(again: list[str]) -> None:
    drops = oa.concat(oa.new(Drop, 2, x=1.5, k=0.5), oa.new(Pearl, 1, x=1.5, k=0.5))
    numbers = [0.5, 0.25, 1.0]
    with oa.tape() as recorded:
        for by in numbers:
            oa.all(Drop).grow(by)
        oa.all(Drop).turn(2)
        oa.all(Drop).turn(3)
        loss = drops.x.sum()
    recorded.backward(loss)
    slope = np.prod([1.0 + by for by in numbers]) * 0.5**5
    pearl = 8 * 1.5**7 * 0.5**4 * 0.25**2 * 1.0 * 0.5**5
    np.testing.assert_allclose(drops.grad.x, [slope, slope, pearl])
    assert again == ["grow", "grow", "turn"]


def test_names_that_mean_something_else(monkeypatch: pytest.MonkeyPatch, again: list[str]) -> None:
    drops = oa.new(Drop, 1, x=1.0, k=0.5)
    module: ModuleType = sys.modules[__name__]
    with oa.tape() as recorded:
        oa.all(Drop).grow(0.0)
        oa.all(Drop).grow(0.0)
        monkeypatch.setattr(module, "RATE", 6.0)
        oa.all(Drop).grow(0.0)
        loss = drops.x.sum()
    recorded.backward(loss)
    assert drops.grad.x[0] == 3.0 and again == ["grow"]


def test_arguments_that_do_not_suit(again: list[str]) -> None:
    drops = oa.new(Drop, 1, x=1.0, k=0.5)
    with oa.tape() as recorded:
        oa.all(Drop).turn(1)
        for wrong, message in (
            ((1 << 40,), "argument times"), (("two",), "argument times"), ((1, 2), "not 2"),
        ):  # fmt: skip
            with pytest.raises(oa.ArgumentError, match=message) as found:
                oa.all(Drop).turn(*wrong)
            assert "_forward" not in str(found.value)
        oa.all(Drop).turn(np.int32(1))
        oa.all(Drop).turn(np.array([2], np.int32))  # one of each object
        loss = drops.x.sum()
    recorded.backward(loss)
    assert drops.grad.x[0] == 0.5**4 and again == []


def test_other_objects(heap: oa.Heap, again: list[str]) -> None:
    one = oa.new(Drop, 1, x=1.0, k=0.5)
    for number in range(3):
        with oa.tape() as recorded:
            oa.all(Drop).turn(1)
            loss = one.x.sum()
        recorded.backward(loss)
        assert one.grad.x[0] == 0.5 and again == ["turn"] * number
        recorded.zero()
    more = oa.new(Pearl, 20, x=1.0, k=0.25)
    with oa.tape() as recorded:
        oa.all(Drop).turn(1)
        loss = more.x.sum()
    recorded.backward(loss)
    assert (more.grad.x == 0.25).all() and again == ["turn"] * 2


@oa.kernel
def shifted(x: oa.Array[f64], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[i] = x[i] * x[i]


def test_other_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    most = gradients.Gradient.most

    def noted(self: gradients.Gradient, arguments: Any) -> int | None:
        asked.append(1)
        return most(self, arguments)

    monkeypatch.setattr(gradients.Gradient, "most", noted)
    x, y = oa.array(f64, [1.0, 2.0, 3.0, 4.0]), oa.zeros(4, f64)
    with oa.tape() as recorded:
        for _ in range(3):
            shifted[2](x[:2], y[:2])
        assert len(asked) == 1
        shifted[2](x[:2], x[:2])  # is not loaded again, and has no other in its place
        shifted[2](x[2:], y[2:])
        shifted[2](x[:2], y[:2])
        loss = y.sum()
    recorded.backward(loss)
    np.testing.assert_allclose(oa.grad(x), [4.0, 32.0, 6.0, 8.0])


@oa.kernel
def moved(x: oa.Array[f64], to: oa.Array[i32], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[to[i]] = x[i] * 2.0


@oa.kernel
def turned(to: oa.Array[i32], step: i32) -> None:
    i = oa.grid(1)
    to[i] = i * step


def test_threads_that_may_meet_are_looked_at_each_time() -> None:
    x, y, to = oa.array(f64, [1.0, 2.0]), oa.zeros(2, f64), oa.array(i32, [1, 0])
    with oa.tape():
        for _ in range(3):
            moved[2](x, to, y)
            turned[2](to, 1)
        moved[2](x, to, y)
        turned[2](to, 0)
        with pytest.raises(oa.DeviceError, match="thread"):
            moved[2](x, to, y)


@oa.kernel
def mixed(x: oa.Array[f64], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[i] = 0.3 * x[i] * x[i] + 0.5 * y[i]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_left_differs(seed: int) -> None:
    """The same launch is about to change what others have left, or is not: random launches, some of
    them over and over."""
    random = Random(seed)
    launches: list[tuple[int, int]] = []
    for _ in range(4):
        some = [(random.randrange(4), random.randrange(4)) for _ in range(random.randint(1, 3))]
        launches += some * random.choice((1, 2, 4))
    begun = np.linspace(0.5, 1.5, 8).reshape(4, 2)
    arrays = [oa.array(f64, row) for row in begun]
    values, found = begun.copy(), []
    with oa.tape() as recorded:
        for one, other in launches:
            mixed[2](arrays[one], arrays[other])
            found.append(values.copy())
            values[other] = 0.3 * values[one] ** 2 + 0.5 * values[other]
        loss = sum((k + 1.0) * array.sum() for k, array in enumerate(arrays))
    slopes = np.repeat(np.arange(1.0, 5.0)[:, None], 2, axis=1)
    for (one, other), was in zip(reversed(launches), reversed(found), strict=True):
        after = slopes[other].copy()
        slopes[other] = 0.5 * after
        slopes[one] += 0.6 * was[one] * after
    for array, row in zip(arrays, values, strict=True):
        np.testing.assert_allclose(array, row, rtol=1e-13)
        array[:] = -7.0
    recorded.backward(loss)
    np.testing.assert_allclose([oa.grad(each) for each in arrays], slopes, rtol=1e-12)
    assert all((array.numpy() == -7.0).all() for array in arrays)


def test_launches_of_many_sizes() -> None:
    """Words of small launches lie side by side, those of large ones apart."""
    x = [oa.array(f64, np.linspace(0.5, 1.5, n)) for n in (3, 5000, 40, 20_000, 7)]
    with oa.tape() as recorded:
        for each in x:
            shifted[len(each)](each, each)
            shifted[len(each)](each, each)
    tapes = [e.tape for e in recorded._events if isinstance(e, gradients.TapedLaunch)]
    places = sorted((t._address, t._address + 8 * len(t)) for t in tapes)
    assert all(end <= start for (_, end), (start, _) in pairwise(places))
    assert len({id(each._storage) for each in tapes}) < len(tapes)
    for each in x:
        begun = np.linspace(0.5, 1.5, len(each))
        recorded.backward(each, np.ones(len(each)))
        np.testing.assert_allclose(oa.grad(each), 4 * begun**3)
        recorded.zero()
