"""Compiled ways back of functions of two numbers, and of items of compound values, against
differences in CPython."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32, inline


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
