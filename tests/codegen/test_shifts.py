"""Shifts by counts that no word has so many bits for, as machine code of a GPU does them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32, i64, u32, u64

from ..differential.campaign import Task, run_task
from .interpreted import InterpretedGpu

_WIDE = [2**32, 2**32 + 3, 2**33 - 1, 2**62, 2**63 - 1]
_COUNTS = [0, 1, 31, 32, 33, 63, 64, 65]


@oa.kernel
def shift_i64(a: oa.Array[i64], by: oa.Array[i64], left: oa.Array[i64], right: oa.Array[i64]):
    i = oa.grid(1)
    left[i] = a[i] << by[i]
    right[i] = a[i] >> by[i]


@oa.kernel
def shift_u64(a: oa.Array[u64], by: oa.Array[u64], left: oa.Array[u64], right: oa.Array[u64]):
    i = oa.grid(1)
    left[i] = a[i] << by[i]
    right[i] = a[i] >> by[i]


@oa.kernel
def shift_i32(a: oa.Array[i32], by: oa.Array[i32], left: oa.Array[i32], right: oa.Array[i32]):
    i = oa.grid(1)
    left[i] = a[i] << by[i]
    right[i] = a[i] >> by[i]


@oa.kernel
def shift_u32(a: oa.Array[u32], by: oa.Array[u32], left: oa.Array[u32], right: oa.Array[u32]):
    i = oa.grid(1)
    left[i] = a[i] << by[i]
    right[i] = a[i] >> by[i]


@pytest.mark.parametrize(
    "backend", ["cpu", "interpreted", pytest.param("cuda", marks=pytest.mark.gpu)]
)
@pytest.mark.parametrize(
    ("kernel", "type"),
    [(shift_i64, i64), (shift_u64, u64), (shift_i32, i32), (shift_u32, u32)],
    ids=["i64", "u64", "i32", "u32"],
)
def test_any_count(kernel: Any, type: Any, backend: str) -> None:
    low, high = type.range
    counts = [*_COUNTS, *_WIDE, *(-c for c in (1, 63, 64, *_WIDE)), low, low + 1, high]
    counts = sorted({count for count in counts if low <= count <= high})
    numbers = [number for number in (21, -21, low, high, 1, -1) if low <= number <= high]
    pairs = np.array([(n, c) for n in numbers for c in counts], type.dtype)
    by = pairs[:, 1]
    with oa.Heap(backend=InterpretedGpu() if backend == "interpreted" else backend):
        a, counted = oa.array(type, pairs[:, 0].copy()), oa.array(type, by.copy())
        left, right = oa.zeros(len(by), type), oa.zeros(len(by), type)
        kernel[len(by)](a, counted, left, right)
        np.testing.assert_array_equal(left.numpy(), np.left_shift(*pairs.T))
        np.testing.assert_array_equal(right.numpy(), np.right_shift(*pairs.T))


@pytest.mark.slow
def test_a_count_that_llvm_took_the_lower_half_of(tmp_path: Path) -> None:
    """A random program whose shift LLVM 22 turned into one of PTX, whose clamp sees 32 bits."""
    run_task(Task("calls", 6003404, "interpreted", ("auto",)), tmp_path)
