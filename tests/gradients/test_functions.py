"""Compiled ways back of functions of two numbers, and of items of compound values, against
differences in CPython."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32, i64, inline, u32


@oa.value
class Row:
    items: inline[f64, 3]
    table: inline[f64, 2, 2]


@oa.func
def fabs(x: f64, y: f64) -> f64:
    return math.fabs(x) * y


@oa.func
def copysign(x: f64, y: f64) -> f64:
    return math.copysign(x, y) * x


@oa.func
def fmod(x: f64, y: f64) -> f64:
    return math.fmod(5.0 * x, y)


@oa.func
def hypot(x: f64, y: f64) -> f64:
    return math.hypot(x, y)


@oa.func
def atan2(x: f64, y: f64) -> f64:
    return math.atan2(x, y)


@oa.func
def power(x: f64, y: f64) -> f64:
    return math.pow(abs(x), y) + abs(x) ** y


@oa.func
def modulo(x: f64, y: f64) -> f64:
    return 5.0 * x % y + (5.0 * x // y) * x


@oa.func
def pair(x: f64, y: f64) -> tuple[f64, f64]:
    return x * y, x - y


@oa.func
def item_of_tuple(x: f64, y: f64) -> f64:
    both = pair(x, y)
    return both[0] * both[1]


@oa.func
def row(x: f64, y: f64) -> Row:
    return Row([x, y, x * y], [[x, y], [y * y, x * x]])


@oa.func
def items_of_arrays(x: f64, y: f64) -> f64:
    total = f64(0.0)
    for k in range(3):
        total += (k + 1) * row(x, y).items[k] * row(y, x).items[k - 3]
    for k in range(2):
        for m in range(2):
            total += (1 + k + 2 * m) * row(x, y).table[k, m] * row(y, x).table[-1 - k, m]
    return total + row(x, y).items[-1] * row(x, y).table[1, 0]


FUNCTIONS = (
    fabs, copysign, fmod, hypot, atan2, power, modulo, item_of_tuple, items_of_arrays,
)  # fmt: skip


@oa.kernel
def apply(x: oa.Array[f64], y: oa.Array[f64], out: oa.Array[f64], count: i32) -> None:
    i = oa.grid(1)
    a, b = x[i], y[i]
    out[i] = fabs(a, b)
    out[count + i] = copysign(a, b)
    out[2 * count + i] = fmod(a, b)
    out[3 * count + i] = hypot(a, b)
    out[4 * count + i] = atan2(a, b)
    out[5 * count + i] = power(a, b)
    out[6 * count + i] = modulo(a, b)
    out[7 * count + i] = item_of_tuple(a, b)
    out[8 * count + i] = items_of_arrays(a, b)


AT = [(0.7, 1.3), (-0.7, 1.3), (0.7, -1.3), (-1.9, -0.6), (2.3, 0.4)]


def slopes(function: Callable[[float, float], float], x: float, y: float) -> tuple[float, float]:
    step = 1e-6
    by_x = function(x + step, y) - function(x - step, y)
    by_y = function(x, y + step) - function(x, y - step)
    return by_x / (2 * step), by_y / (2 * step)


def test_ways_back_of_functions() -> None:
    count = len(AT)
    with oa.Heap(backend="cpu", capacity="64MiB"):
        for number, function in enumerate(FUNCTIONS):
            x, y = (oa.array(f64, [at[k] for at in AT]) for k in range(2))
            out = oa.zeros(len(FUNCTIONS) * count, f64)
            with oa.tape() as tape:
                apply[count](x, y, out, count)
            weights = np.zeros(len(out))
            weights[number * count :][:count] = 1.0
            tape.backward(out, weights)
            found = zip(oa.grad(x).tolist(), oa.grad(y).tolist(), strict=True)
            for at, each in zip(AT, found, strict=True):
                expected = slopes(function, *at)
                assert each == pytest.approx(expected, rel=1e-6, abs=1e-8), (function.name, at)
            tape.zero()


class Holder(oa.Object):
    row: Row
    items: inline[f64, 3]
    out: f64

    def turn(self, rounds: u32, start: i64) -> None:
        """Loops that carry compound values, with counters of several types."""
        whole, before = self.row, self.row.items[2]
        for k in range(rounds):
            first = whole.items[0] * before
            whole = Row([whole.items[1], whole.items[2] + first, first], whole.table)
            before = before * whole.table[k % 2, 1] + 0.5
        k = start
        while k < 3:
            self.items[k] = self.items[k] * whole.items[k]
            k += 1
        self.row = whole
        self.out = whole.items[0] * whole.items[1] + self.items[1] * self.row.table[0, 1] + before


def outcome(given: np.ndarray[Any, Any], backward: bool) -> Any:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        holders = oa.new(Holder, 2)
        for number, numbers in enumerate(given):
            holders[number].row = Row(
                numbers[:3].tolist(), [numbers[3:5].tolist(), numbers[5:7].tolist()]
            )
            holders[number].items = numbers[7:].tolist()
        with oa.tape() as tape:
            holders.turn(4, 1)
        loss = holders.out.numpy().sum()
        if not backward:
            return float(loss)
        tape.backward(holders.out, np.ones(2))
        rows, items = holders.grad.row, holders.grad.items
        return np.concatenate(
            [rows["items"].numpy(), rows["table"].numpy().reshape(2, 4), items.numpy()], axis=1
        )


def test_ways_back_of_compound_values() -> None:
    given = np.random.default_rng(5).uniform(0.4, 1.6, (2, 10))
    found, step = outcome(given, True), 1e-6
    for place in np.ndindex(*given.shape):
        above, below = given.copy(), given.copy()
        above[place] += step
        below[place] -= step
        slope = (outcome(above, False) - outcome(below, False)) / (2 * step)
        assert found[place] == pytest.approx(slope, rel=1e-5, abs=1e-7), place
