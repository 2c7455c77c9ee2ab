"""Methods of a launch over all objects are made once for each class, with direct calls."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64


class Part(oa.Object):
    x: f64
    k: f64
    seen: f64

    def slope(self, by: f64) -> f64:
        return self.k * by

    def twice(self, by: f64) -> f64:
        return self.slope(self.slope(by))

    def step(self) -> None:
        self.seen = self.twice(self.x)


class Bent(Part):
    def slope(self, by: f64) -> f64:
        return self.k * by * by


class Turned(Bent):
    def twice(self, by: f64) -> f64:
        return super().twice(by) - by


class Chained(oa.Object):
    x: f64
    y: f64
    other: Chained

    def value(self) -> f64:
        return self.x * self.x

    def look(self) -> None:
        self.y = self.value() + self.other.value()


class Last(Chained):
    def value(self) -> f64:
        return 3.0 * self.x


@pytest.fixture(autouse=True)
def heap() -> Iterator[oa.Heap]:
    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB", initial_region=16) as made:
        yield made


def test_what_self_calls_is_computed_again() -> None:
    parts = oa.concat(*[oa.new(cls, 2, x=1.5, k=0.5) for cls in (Part, Bent, Turned)])
    with oa.tape() as tape:
        oa.all(Part).step()
        loss = parts.seen.sum()
    tape.backward(loss)
    assert "Part.step: 0 bytes" in tape.explain()
    x, k = 1.5, 0.5
    by_x = np.repeat([k * k, 4 * k**3 * x**3, 4 * k**3 * x**3 - 1], 2)
    by_k = np.repeat([2 * k * x, 3 * k**2 * x**4, 3 * k**2 * x**4], 2)
    np.testing.assert_allclose(parts.grad.x, by_x)
    np.testing.assert_allclose(parts.grad.k, by_k)


def test_what_others_call_goes_by_their_class() -> None:
    """Of the receiver alone the class is known, and not of all that a list holds."""
    chain: oa.Array[Chained] = oa.concat(oa.new(Chained, 2, x=2.0), oa.new(Last, 2, x=2.0))
    chain.other = chain[[3, 0, 1, 2]]
    mixed = chain[[0, 2, 1, 3]]
    for call in (oa.all(Chained).look, mixed.look):
        with oa.tape() as tape:
            call()
            loss = chain.y.sum()
        tape.backward(loss)
        np.testing.assert_allclose(chain.grad.x, [8.0, 8.0, 6.0, 6.0])
        np.testing.assert_allclose(chain.y, [10.0, 8.0, 10.0, 12.0])
        tape.zero()
