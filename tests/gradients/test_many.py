"""Prefix sums, counts, indices and sorts in the block of a tape: the first are launches of it, what
is no float is constant, and what changes memory in place is refused; alike on every backend."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32
from sharedoa.errors import ArgumentError, HeapError

from ..codegen.interpreted import InterpretedGpu
from .copying_device import CopyingDevice

BACKENDS: dict[str, Callable[[], Any]] = {
    "python": lambda: "python",
    "cpu": lambda: "cpu",
    "device": lambda: CopyingDevice(1 << 30, keeps=True),
    "ptx": InterpretedGpu,
}


class Thing(oa.Object):
    x: f64
    n: i32


@oa.kernel
def square(x: oa.Array[f64], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[i] = x[i] * x[i]


@oa.kernel
def pick(x: oa.Array[f64], order: oa.Array[i32], y: oa.Array[f64]) -> None:
    i = oa.grid(1)
    y[i] += x[order[i]] * x[order[i]] * (i + 1)


@oa.func
def combine(a: f64, b: f64) -> f64:
    return a + b + 0.125 * a * b


def scanned(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The derivative of the weighted elements of the scan, one after another."""
    totals = [values[0]]
    for value in values[1:]:
        totals.append(totals[-1] + value + 0.125 * totals[-1] * value)
    found, adjoint = np.zeros(len(values)), 0.0
    for k in range(len(values) - 1, -1, -1):
        adjoint += weights[k]
        found[k] = adjoint * (1.0 + 0.125 * totals[k - 1]) if k else adjoint
        adjoint *= 1.0 + 0.125 * values[k]
    return found


@pytest.mark.parametrize(
    ("backend", "length"),
    [
        ("python", 100),
        ("cpu", 300),
        ("device", 100),
        pytest.param("ptx", 40, marks=pytest.mark.slow),
    ],
)
def test_scan(backend: str, length: int) -> None:
    rng = np.random.default_rng(length)
    values, weights = rng.uniform(-0.5, 0.5, length), rng.uniform(0.5, 1.0, length)
    with oa.Heap("auto", BACKENDS[backend](), capacity="64MiB"):
        x, y = oa.array(f64, values), oa.zeros(length, f64)
        square[length](x, y)
        expected = oa.scan(combine, y).numpy().copy()
        for _ in range(2):
            with oa.tape() as tape:
                square[length](x, y)
                found = oa.scan(combine, y)
            assert np.array_equal(found, expected)  # the same bits as outside of a tape
            tape.backward(found, weights)
            by_squares = scanned(values**2, weights)
            np.testing.assert_allclose(oa.grad(x), 2 * values * by_squares, rtol=1e-12)
            tape.zero()


@pytest.mark.parametrize("backend", ["python", "cpu", "device"])
def test_a_scan_of_fields(backend: str) -> None:
    rng = np.random.default_rng(1)
    values, weights = rng.uniform(-0.5, 0.5, 300), rng.uniform(0.5, 1.0, 300)
    with oa.Heap("auto", BACKENDS[backend](), capacity="64MiB"):
        things = oa.new(Thing, 300, x=values)
        with oa.tape() as tape:
            found = oa.scan(combine, things.x)
        tape.backward(found, weights)
        np.testing.assert_allclose(things.grad.x, scanned(values, weights), rtol=1e-12)


@pytest.mark.parametrize(
    "backend", ["python", "cpu", pytest.param("device", marks=pytest.mark.slow)]
)
def test_what_is_no_float_is_constant(backend: str) -> None:
    with oa.Heap("auto", BACKENDS[backend](), capacity="64MiB"):
        x, y, n = oa.array(f64, [0.5, 0.0, 2.0, 0.0]), oa.zeros(4, f64), oa.array(i32, [0, 1, 1, 1])
        oa.new(Thing, 2, n=[0, 5])
        assert y.sum() == 0 and n.sum() == 3  # what calls have made ready is for none in the block
        with oa.tape() as tape:
            square[4](x, y)
            assert (oa.count_nonzero(y), oa.count_nonzero(n)) == (2, 3)
            assert oa.count_nonzero(oa.all(Thing).n) == 1
            assert oa.where(y)[0].numpy().tolist() == [0, 2]
            assert oa.where(n)[0].numpy().tolist() == [1, 2, 3]
            loss = y.sum() * oa.count_nonzero(y)
        tape.backward(loss)
        assert oa.grad(x).tolist() == [2.0, 0.0, 8.0, 0.0]


@pytest.mark.parametrize("backend", ["python", "cpu", "device"])
def test_what_a_task_computes_within_the_block(backend: str) -> None:
    """It changes nothing that the tape knows, but where it sorts."""
    with oa.Heap("auto", BACKENDS[backend](), capacity="64MiB"):
        x, y, z = oa.array(f64, [0.5, 0.0, 2.0]), oa.zeros(3, f64), oa.array(f64, [2.0, 1.0])

        def compute() -> None:
            y.sum(), y.cumsum(), y.argsort(), oa.where(y)
            oa.scan(combine, y), oa.reduce(combine, y)

        compute()  # so that a device has all of it ready
        z.sort()

        def tape_beside(work: Callable[[], None]) -> oa.Tape:
            with oa.tape(checkpoints=2) as tape:
                square[3](x, y)
                Context().run(work)
            return tape

        tape_beside(compute).backward(y, np.ones(3))
        assert oa.grad(x).tolist() == [1.0, 0.0, 4.0]
        with pytest.raises(HeapError, match="another thread or task of Python launched"):
            tape_beside(z.sort).backward(y, np.ones(3))


@pytest.mark.parametrize("backend", ["python", "cpu", "device"])
def test_what_changes_memory_in_place(backend: str) -> None:
    """The way back would find other numbers than there were."""
    with oa.Heap("auto", BACKENDS[backend](), capacity="64MiB"):
        x, y, order = oa.array(f64, [0.5, 1.5]), oa.zeros(2, f64), oa.array(i32, [1, 0])
        things = oa.new(Thing, 2, n=[2, 1])
        with oa.tape() as tape:
            pick[2](x, order, y)
            for change in (order.sort, things.n.sort):
                with pytest.raises(HeapError, match="changes fields or arrays inside a block"):
                    change()
            with pytest.raises(ArgumentError, match="sort has no adjoint"):
                y.sort()
            assert np.sort(order).tolist() == [0, 1]
            loss = y.sum()
        tape.backward(loss)
        assert oa.grad(x).tolist() == [2.0, 3.0]
        with pytest.raises(ArgumentError, match="whose elements are no floats"):
            tape.backward(order, [1.0, 1.0])
