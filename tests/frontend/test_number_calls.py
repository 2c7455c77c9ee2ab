"""``math.gcd``, ``isqrt``, ``prod``, ``ldexp``, NumPy's functions of numbers, and methods of
numbers: bit for bit as in CPython."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64, i32, i64, u8, u64

from ..codegen.interpreted import InterpretedGpu

FLOATS = [0.0, 1.5, -2.5, 1e308, 5e-324, 2.0**-1022 * 1.75, math.inf, -math.inf, math.nan]
FLOATS += [1 + 2.0**-52, -(2 - 2.0**-52)]
WHOLE = [0, 1, -1, 6, -9, -(2**31), 1023, -1022, -1074, -1075, 2000, -2100, 2**40 - 2**41]


@oa.kernel
def run(
    out: oa.Array[f64], whole: oa.Array[i64], floats: oa.Array[f64], numbers: oa.Array[i64]
) -> None:
    n = 0
    for x in floats:
        for k in numbers:
            if k < 0 or abs(x) < (2.0 if k < 1100 else 1e-300):
                out[n] = math.ldexp(x, int(k))
            n += 1
        for y in floats:
            out[n] = np.minimum(x, y)
            out[n + 1] = np.maximum(f32(x), f32(y))
            out[n + 2] = np.clip(x, f32(y), 1)
            n += 3
        out[n] = np.sign(x)
        n += 1
    n = 0
    for k in numbers:
        for j in numbers:
            whole[n] = math.gcd(k, j)
            whole[n + 1] = np.minimum(i32(k), j) + np.maximum(k, 3)
            whole[n + 2] = np.sign(k) + np.clip(j, -5, i32(7)) + np.sign(u8(j))
            whole[n + 3] = np.clip(u8(k), u8(3), 100) + math.gcd(k, 12, j)
            n += 4


def test_as_in_cpython() -> None:
    found = []
    backends: list[Any] = ["python", "cpu", InterpretedGpu()]
    for backend in backends:
        with oa.Heap(backend=backend, capacity="16MiB"):
            out, whole = oa.zeros(1000, f64), oa.zeros(1000, i64)
            run[1](out, whole, oa.array(f64, FLOATS), oa.array(i64, WHOLE))
            found.append((np.array(out.numpy()), np.array(whole.numpy())))
    (floats, whole), *others = found
    assert np.isnan(floats).sum() > 20 and whole.max() > 2000
    for other_floats, other_whole in others:
        assert np.array_equal(floats, other_floats, equal_nan=True)
        assert np.array_equal(whole, other_whole)


@oa.kernel
def extremes(levels: oa.Array[u8], counts: oa.Array[u64], out: oa.Array[i64]) -> None:
    t = oa.grid(1)
    level, count = levels[t], counts[t]
    n = 90 * t
    for k in range(-300, 2000, 77):  # an int, whose last eight bits are often less than a level
        high, low = max(k, 0), min(k, 255)
        out[n] = i64(min(level, high)) + i64(min(high, level))
        out[n + 1] = i64(max(level, low)) + i64(max(low, level))
        out[n + 2] = (
            i64(max(count, k)) + i64(max(k, low, count)) + i64(min(high, high + 300, level))
        )
        n += 3


def test_an_int_that_the_other_type_does_not_hold_is_compared_as_it_is() -> None:
    found = []
    for backend in ("python", "cpu"):
        with oa.Heap(backend=backend, capacity="16MiB"):
            out = oa.zeros(360, i64)
            levels = oa.array(u8, [200, 0, 255, 7])
            extremes[4](levels, oa.array(u64, [5, 2**40, 0, 80]), out)
            found.append(out.numpy().tolist())
    assert found[0] == found[1]


@oa.kernel
def whole_numbers(numbers: oa.Array[i64], out: oa.Array[i64]) -> None:
    for k in range(len(numbers)):
        n = int(numbers[k])
        out[k] = (math.floor(n) - math.ceil(n - 1)) * 1000 + math.trunc(n) % 1000


def test_integers_are_rounded_to_themselves() -> None:
    found = []
    for backend in ("python", "cpu"):
        with oa.Heap(backend=backend, capacity="16MiB"):
            out = oa.zeros(4, i64)
            whole_numbers[1](oa.array(i64, [7, -9, 2**53 + 1, -(2**63) + 1]), out)
            found.append(out.numpy().tolist())
    assert found[0] == found[1]


@oa.kernel
def beside_counts(counts: oa.Array[u64], out: oa.Array[f64]) -> None:
    n = 0
    for count in counts:
        for k in range(-2, 2):
            out[n] = min(count, k) * 1.0
            out[n + 1] = max(k, count, k + 5) * 1.0
            n += 2


def test_the_lesser_and_the_greater_one_of_a_count_and_an_int() -> None:
    found = []
    for backend in ("python", "cpu"):
        with oa.Heap(backend=backend, capacity="16MiB"):
            out = oa.zeros(24, f64)
            beside_counts[1](oa.array(u64, [0, 1, 2**64 - 1]), out)
            found.append(out.numpy().tolist())
    assert found[0] == found[1] and min(found[0]) == -2 and max(found[0]) == 2.0**64


#: Where roots of 64 bits round to an integer above, and what has its digits at the ends.
NEAR_SQUARES = [k * k + d for k in (1, 2**26, 94906267, 2**31 + 11, 3037000499) for d in (-1, 0, 1)]
INTEGERS = [0, 1, -1, 5, -300, 2**62 + 3, 2**63 - 1, -(2**63), -(2**63) + 1, *NEAR_SQUARES]


@oa.kernel
def about_integers(
    numbers: oa.Array[i64], levels: oa.Array[u8], counts: oa.Array[u64], out: oa.Array[i64]
) -> None:
    n = 0
    for k in numbers:
        if k >= 0:
            out[n] = math.isqrt(k)
            out[n + 1] = math.isqrt(int(k))
        out[n + 2] = k.bit_count()
        if k > -(2**63):
            out[n + 3] = int(k).bit_count() * 100 + int(k).bit_length()
        out[n + 4] = i32(k).bit_count()
        n += 5
    for level in levels:
        out[n] = level.bit_count() + int(level).bit_length() * 100
        n += 1
    for count in counts:
        out[n] = count.bit_count()
        n += 1


@oa.kernel
def about_floats(
    floats: oa.Array[f64], singles: oa.Array[f32], numbers: oa.Array[i64], out: oa.Array[f64]
) -> None:
    n = 0
    for x in floats:
        out[n] = i64(x.is_integer()) + i64(float(x).is_integer()) * 2
        n += 1
    for single in singles:
        out[n] = i64(single.is_integer())
        n += 1
    out[n] = math.prod(numbers)
    out[n + 1] = math.prod(x for x in floats if abs(x) > 1.0)
    out[n + 2] = math.prod(singles, start=2)
    out[n + 3] = math.prod((3, 5, len(floats)), start=0.1)
    out[n + 4] = math.prod(singles[:0])


def test_methods_of_numbers_roots_and_products() -> None:
    found = []
    backends: list[Any] = ["python", "cpu", InterpretedGpu()]
    for backend in backends:
        with oa.Heap(backend=backend, capacity="16MiB"):
            out, real = oa.zeros(200, i64), oa.zeros(40, f64)
            levels, counts = oa.array(u8, [0, 255, 96]), oa.array(u64, [2**64 - 1, 2**63, 6])
            about_integers[1](oa.array(i64, INTEGERS), levels, counts, out)
            floats = [0.0, -2.0, 2.5, 1e300, 2.0**52 + 0.5, math.inf, -math.inf, math.nan]
            singles = oa.array(f32, [1.5, -3.0, 0.1])
            about_floats[1](oa.array(f64, floats), singles, oa.array(i64, [3, -5, 2**61]), real)
            found.append((out.numpy().tolist(), np.array(real.numpy())))
    for integers, others in found[1:]:
        assert integers == found[0][0]
        assert np.array_equal(others, found[0][1], equal_nan=True)
    roots = [math.isqrt(k) for k in INTEGERS if k >= 0]
    places = [5 * place for place, k in enumerate(INTEGERS) if k >= 0]
    assert [found[0][0][place] for place in places] == roots
