"""Zeros keep their signs, and NaN is stored, whatever LLVM believes of minima and remainders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32

from .interpreted import InterpretedGpu

VALUES = (-0.0, 0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 5e-324, -5e-324)
KINDS = 8


@oa.func
def _least(x: f64, y: f64) -> f64:
    return min(y, x)


@oa.kernel
def doubles(x: oa.Array[f64], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    v, o = x[i], 8 * i
    out[o] = min(v, 0.0)
    out[o + 1] = _least(v, 0.0)
    out[o + 2] = max(v, -0.0)
    out[o + 3] = max(-0.0, v)
    out[o + 4] = v if v < 0.0 else 0.0
    out[o + 5] = v if v > -0.0 else -0.0
    out[o + 6] = max(0.0, v)
    out[o + 7] = min(-0.0, v)


@oa.kernel
def singles(x: oa.Array[f32], out: oa.Array[f32]) -> None:
    i = oa.grid(1)
    v, o = x[i], 8 * i
    out[o] = min(v, 0.0)
    out[o + 1] = min(0.0, v)
    out[o + 2] = max(v, -0.0)
    out[o + 3] = max(-0.0, v)
    out[o + 4] = v if v < 0.0 else 0.0
    out[o + 5] = v if v > -0.0 else -0.0
    out[o + 6] = max(0.0, v)
    out[o + 7] = min(-0.0, v)


@pytest.mark.parametrize(
    "backend", [InterpretedGpu, pytest.param(lambda: "cuda", marks=pytest.mark.gpu)]
)
def test_zeros_are_those_of_python(backend: Any) -> None:
    found: list[list[bytes]] = []
    for place in ("python", "cpu", backend()):
        with oa.Heap(backend=place):
            here = []
            for kernel, type, bits in ((doubles, f64, np.float64), (singles, f32, np.float32)):
                x = oa.array(type, np.array(VALUES, bits))
                out = oa.zeros(KINDS * len(VALUES), type)
                kernel[len(VALUES)](x, out)
                numbers = out.numpy().copy()
                numbers[np.isnan(numbers)] = np.nan
                here.append(numbers.tobytes())
            found.append(here)
    assert found[0] == found[1] == found[2]


@oa.func
def _not_a_number() -> f64:
    zero = max(f64(0.0), f64(0.0))
    return (zero - zero) / zero


@oa.kernel
def remainders(n: i32, out: oa.Array[f64]) -> None:
    out[0] = f64(n) % _not_a_number()
    out[1] = f64(n) // _not_a_number()
    out[2] = math.fmod(f64(n), _not_a_number())
    out[3] = f64(n) % math.inf


def test_remainders_by_what_folds_to_nan_are_stored() -> None:
    """LLVM takes calls of fmod with a number that is no NaN for such that give none."""
    with oa.Heap(backend="cpu"):
        out = oa.array(f64, [1.0] * 4)
        remainders[1](7, out)
        assert np.isnan(out.numpy()[:3]).all() and out[3] == 7.0
