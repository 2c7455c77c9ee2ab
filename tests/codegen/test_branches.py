"""Tests of several parts branch as soon as they are known, and decide as in Python."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32

PHI_OF_A_TRUTH = re.compile(r"phi +i1")


@oa.kernel
def all_of(a: oa.Array[i32], n: i32, out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if a[i] and (a[i] > n or (a[i] < -n and a[i + 1] != 0)):
        out[i] = 1


@oa.kernel
def either_of_two(a: oa.Array[i32], n: i32, out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if (a[i + 1] > n) if a[i] > n else (a[i + 1] < n):
        out[i] = 1
    else:
        out[i] = 2


@oa.kernel
def counted(a: oa.Array[i32], n: i32, out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    count = 0
    for k in range(i, len(a)):
        if not (a[k] == 0 or a[k] > n):
            count += 1
        elif a[k] > n and k > 1:
            continue
        elif a[k] == 0 and k == 4:
            break
        count += 10
    out[i] = count


@oa.kernel
def kept(a: oa.Array[i32], n: i32, out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    both = a[i] > 0 and a[i + 1] > n
    if both:
        out[i] = 1
    if both or a[i] == n:
        out[i] += 2


@pytest.mark.parametrize("kernel", [all_of, either_of_two, counted, kept])
def test_they_decide_as_python_does(kernel: Any) -> None:
    numbers = np.array([*itertools.product((-3, 0, 1, 3), repeat=3), (0, 0, 0)], np.int32).ravel()
    results = []
    for backend in ("python", "cpu"):
        with oa.Heap(backend=backend):
            out = oa.zeros(len(numbers) - 1, i32)
            kernel[len(out)](oa.array(i32, numbers), 1, out)
            results.append(out.numpy().tolist())
    assert results[0] == results[1]
    assert len(set(results[0])) > 1


def code(kernel: Any) -> str:
    with oa.Heap(backend="cpu"):
        kernel[1](oa.array(i32, [1, 2, 3]), 1, oa.zeros(3, i32))
    return str(kernel.asm["dispatch.ll"])


@pytest.mark.parametrize("kernel", [all_of, either_of_two, counted])
def test_no_test_becomes_a_value(kernel: Any) -> None:
    assert not PHI_OF_A_TRUTH.search(code(kernel))


def test_a_truth_that_is_used_twice_is_a_value() -> None:
    assert PHI_OF_A_TRUTH.search(code(kept))
