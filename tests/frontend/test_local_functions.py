"""Functions that are written inside kernels: the same in CPython, compiled, and on a GPU that is an
interpreter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f64, i64

from ..codegen.interpreted import InterpretedGpu
from .translated import complaints


class Place(oa.Object):
    x: f64
    y: f64

    def nearest(self, places: oa.Array[Place]) -> Place:
        def distance(other: Place) -> float:
            """By which ``min`` chooses."""
            return math.sqrt((other.x - self.x) ** 2 + (other.y - self.y) ** 2)

        return min((p for p in places if p is not self), key=distance)


@oa.kernel
def near(places: oa.Array[Place], numbers: oa.Array[i64], out: oa.Array[f64]) -> None:
    i, k = oa.grid(1), 2
    scaled = lambda v: v * k + i
    total = lambda u: sum(scaled(v) * u for v in numbers)
    same = lambda q: (q, q)[1]
    again = lambda q: same(q)
    here = again(places[i])
    out[5 * i] = here.nearest(places).x + again(i)
    k += 3  # which calls from now on see
    out[5 * i + 1] = scaled(v=0.5) + scaled(scaled(7))
    out[5 * i + 2] = total(1) * total(u=0.25)
    out[5 * i + 3] = max([scaled(k) for k in numbers])  # another k
    late = lambda: after * 2  # type: ignore[has-type]
    after = 21
    out[5 * i + 4] = late() + next((k for k in numbers if scaled(k) > 12), k)


def results(backend: Any) -> list[float]:
    with oa.Heap(backend=backend, capacity="16MiB"):
        places = oa.new(Place, 6, x=[0, 5, 1, 8, 2, 5], y=[3, 1, 4, 1, 5, 9])
        out = oa.zeros(30, f64)
        near[6](places, oa.array(i64, [3, -1, 4]), out)
        found: list[float] = out.numpy().tolist()
        return found


def test_the_same_everywhere() -> None:
    expected = results("python")
    assert len(set(expected)) > 12
    backends: list[Any] = ["cpu", InterpretedGpu()]
    for backend in backends:
        assert results(backend) == expected


def itself(n: i64) -> None:
    f = lambda v: f(v - 1) if v > 0 else 0  # type: ignore[has-type]
    n = f(n)


def twice(n: i64) -> None:
    if n > 1:
        f = lambda v: v
    else:
        f = lambda v: v + 1
    n = f(n)


def longer(n: i64) -> None:
    def f(v: int) -> int:
        if v > 1:
            return 2
        return v

    n = f(n)


def a_default(n: i64) -> None:
    f = lambda v, w=2: v * w
    n = f(n)


def a_value(n: i64) -> None:
    f = lambda v: v
    g = f
    n = g(n)


def arguments(n: i64) -> None:
    f = lambda v: v
    n = f(n, n)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (itself, "f calls itself"),
        (twice, "f is defined twice"),
        (longer, "a nested function that is more than one return"),
        (a_default, "a nested function has plain parameters"),
        (a_value, "f is used as a value"),
        (arguments, "f takes v"),
    ],
)
def test_what_is_refused(kernel: Callable[..., Any], message: str) -> None:
    assert message in complaints(kernel)[0].message
