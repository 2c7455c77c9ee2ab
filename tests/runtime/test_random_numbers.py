"""Random numbers are the same bits in CPython, of arrays of counters, compiled, and on a GPU that
is an interpreter, and are distributed as they should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, i64, u64

from ..codegen.interpreted import InterpretedGpu
from ..frontend.translated import complaints, kernel_from

COUNT, SEED, TURN = 70, 2**63 + 9, -3


@oa.kernel
def draw(
    a: oa.Array[f32], b: oa.Array[f64], c: oa.Array[i64], d: oa.Array[f32], e: oa.Array[f32],
    seed: u64, turn: i32,
) -> None:  # fmt: skip
    i = oa.grid(1)
    a[i] = oa.random(seed, i)
    b[i] = oa.random64(seed, i, turn)
    c[i] = oa.randint(-5, 2**40, seed, i, turn, 7)
    d[i] = oa.normal(seed, i, turn)
    e[i] = oa.exponential(seed, turn, i, 1, 2)


@pytest.mark.parametrize(
    "backend", ["python", "cpu", "interpreted", pytest.param("cuda", marks=pytest.mark.gpu)]
)
def test_the_same_bits_everywhere(backend: str) -> None:
    opened: Any = InterpretedGpu() if backend == "interpreted" else backend
    k = np.arange(COUNT)
    expected = [
        oa.random(SEED, k), oa.random64(SEED, k, TURN), oa.randint(-5, 2**40, SEED, k, TURN, 7),
        oa.normal(SEED, k, TURN), oa.exponential(SEED, TURN, k, 1, 2),
    ]  # fmt: skip
    assert [x.dtype for x in expected] == [np.float32, np.float64, np.int64, np.float32, np.float32]
    with oa.Heap(backend=opened, capacity="64MiB"):
        outs = [oa.zeros(COUNT, each) for each in (f32, f64, i64, f32, f32)]
        draw[COUNT](*outs, SEED, TURN)
        oa.synchronize()
        for out, numbers in zip(outs, expected, strict=True):
            assert np.array_equal(out.numpy(), numbers)


def test_one_number_and_arrays_of_them() -> None:
    rows, columns = np.arange(3)[:, None], np.arange(20_000, dtype=np.uint32)
    made = oa.random(SEED, rows, columns)
    assert made.shape == (3, 20_000)
    assert made[2, 17_000] == oa.random(SEED, 2, 17_000) and made[1, 5] == oa.random(SEED, 1, 5)
    assert float(oa.random(7, 4)) * 2**24 == int(oa.random_bits(7, 4)) >> 8
    assert oa.random(7) == oa.random(7, 0) and len(np.unique(made)) > 55_000
    assert oa.random(SEED, np.arange(0)).shape == (0,)
    wide = [5, 2**64 - 1, -7, 2**70 + 4]
    for given in (wide, [np.int8(-3), 2**63], [wide[:2], wide[2:]]):
        flat = np.array(given, object).ravel()
        found = oa.random(SEED, given).ravel().tolist()
        assert found == [oa.random(SEED, each) for each in flat]
    with pytest.raises(oa.ArgumentError, match=r"oa.random takes integers, not 0.5"):
        oa.random(0.5)


def test_distributions() -> None:
    """Moments within five standard errors, and every integer as often as others."""
    k, count = np.arange(100_000), 100_000
    normal, exponential = oa.normal(5, k).astype(float), oa.exponential(6, k).astype(float)
    near = 5 / count**0.5
    assert abs(normal.mean()) < near and abs((normal**2).mean() - 1) < near * 2**0.5
    assert abs((normal**4).mean() - 3) < near * 96**0.5
    assert abs(np.corrcoef(normal[1:], normal[:-1])[0, 1]) < near
    assert abs(exponential.mean() - 1) < near and abs((exponential**2).mean() - 2) < near * 20**0.5
    assert exponential.min() > 0
    drawn = np.bincount(oa.randint(3, 9, 7, k), minlength=10)
    assert not drawn[:3].any() and not drawn[9:].any()
    assert abs(drawn[3:9] / count - 1 / 6).max() < near


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("oa.random()", "oa.random takes a seed and counters"),
        ("oa.randint(1, 2)", "oa.randint takes a seed and counters"),
        ("oa.randint(3, 3, 1)", "oa.randint: there is no integer from 3 on below 3"),
        ("oa.normal(n, 0.5)", "oa.normal takes integers, not float"),
    ],
)
def test_complaints(tmp_path: Path, call: str, message: str) -> None:
    assert complaints(kernel_from(tmp_path, "n: i32", f"x = {call}"))[0].message == message


@oa.kernel
def draw_between(ends: oa.Array[i64], out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    if i + 1 < len(ends):
        out[i] = oa.randint(ends[i], ends[i + 1], 7, i)


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_an_integer_between_ends_that_have_none(backend: str) -> None:
    with oa.Heap(backend=backend, capacity="16MiB"):
        out = oa.zeros(2, i64)
        draw_between[4](oa.array(i64, [-(2**63), 4, 5]), out)
        assert out[0] < 4 == out[1]
        for ends in ([5, 5], [5, 4], [2**63 - 1, -(2**63)]):
            with pytest.raises(oa.DeviceError, match=r"oa.randint"):
                draw_between[2](oa.array(i64, ends), out)
                oa.synchronize()
