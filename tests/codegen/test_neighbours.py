"""Threads that read and write neighbouring elements become vector code on the CPU."""

from __future__ import annotations

import re

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32


@oa.kernel
def scale(values: oa.Array[f32], result: oa.Array[f32], factor: f32) -> None:
    i = oa.grid(1)
    result[i] = values[i] * factor


@oa.kernel
def mark(values: oa.Array[i32]) -> None:
    values[oa.grid(1)] = 7


def test_neighbouring_elements_are_vectors() -> None:
    with oa.Heap(backend="cpu"):
        values, result = oa.array(f32, np.arange(1000)), oa.zeros(1000, f32)
        scale[1000](values, result, 0.5)
        np.testing.assert_array_equal(result.numpy(), np.arange(1000) / 2)
        numbers = oa.zeros(1001, i32)
        mark[1000](numbers)
        assert numbers.numpy().tolist() == [7] * 1000 + [0]
    for kernel, loads, stores in ((scale, r"load <\d+ x float>", r"store <\d+ x float>"),
                                  (mark, "", r"store <\d+ x i32>")):  # fmt: skip
        code = kernel.asm["opt.ll"]
        assert re.search(loads, code) and re.search(stores, code)
        assert "masked" not in code  # one address for every lane
