"""Python's own ints and floats compare exactly, as in CPython, also where a float cannot hold the
int; numbers of NumPy's types compare as NumPy promotes them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64, i32, i64

WHOLE = [s * (2**n + d) for n in (0, 52, 53, 54, 62) for d in range(-3, 4) for s in (1, -1)] + [
    2**63 - 1,
    2**63 - 2,
    2**63 - 512,
    2**63 - 513,
    -(2**63),
    -(2**63) + 1,
    -(2**63) + 512,
]
REAL = [
    float(s * 2**n + d)
    for n in (0, 52, 53, 54, 62, 63, 64)
    for d in (-2, -0.5, 0, 2)
    for s in (1, -1)
] + [float("inf"), -float("inf"), float("nan"), -0.0, 1e300]


@oa.kernel
def compare(n: oa.Array[i64], x: oa.Array[f64], out: oa.Array[i32]) -> None:
    t = oa.grid(1)
    a, b = int(n[t]), float(x[t])
    bits = 0
    if a == b:
        bits += 1
    if a != b:
        bits += 2
    if a < b:
        bits += 4
    if a <= b:
        bits += 8
    if a > b:
        bits += 16
    if a >= b:
        bits += 32
    if b == a:
        bits += 64
    if b < a:
        bits += 128
    if b >= a:
        bits += 256
    if 9007199254740993 < b:
        bits += 512
    if b == -9007199254740993:
        bits += 1024
    if a <= 9007199254740992.0:
        bits += 2048
    if a > 2.5:
        bits += 4096
    if a < 9223372036854775808.0:
        bits += 8192
    if 9223372036854775807 >= b:
        bits += 16384
    out[t] = bits


@oa.kernel
def compare_typed(n: oa.Array[i64], x: oa.Array[f64], out: oa.Array[i32]) -> None:
    t = oa.grid(1)
    if n[t] == x[t]:
        out[t] = 1


def results(kernel: Any, backend: str) -> list[int]:
    n, x = zip(*itertools.product(WHOLE, REAL), strict=True)
    with oa.Heap(backend=backend):
        out = oa.zeros(len(n), i32)
        kernel[len(n)](oa.array(i64, list(n)), oa.array(f64, list(x)), out)
        found: list[int] = out.numpy().tolist()
        return found


@pytest.mark.parametrize("kernel", [compare, compare_typed])
def test_ints_and_floats_compare_as_in_cpython(kernel: Any) -> None:
    assert results(kernel, "cpu") == results(kernel, "python")


def test_typed_numbers_are_rounded_as_numpy_does() -> None:
    assert np.int64(2**53 + 1) == np.float64(2**53)
    found = dict(zip(itertools.product(WHOLE, REAL), results(compare_typed, "cpu"), strict=True))
    assert found[2**53 + 1, 2.0**53] == 1


def test_where_rounding_cannot_matter_numbers_are_compared_at_once() -> None:
    @oa.kernel
    def small(x: oa.Array[f64], out: oa.Array[i32]) -> None:
        t = oa.grid(1)
        if float(x[t]) < 3 or t > 2.5 or 2**54 != float(x[t]):
            out[t] = 1

    with oa.Heap(backend="cpu"):
        assert "9.223372036854776e+18" not in small.asm["ir"]
        assert "9.223372036854776e+18" in compare.asm["ir"]
