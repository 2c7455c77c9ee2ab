"""``f32(math.sqrt(x))`` of an f32 is one root of single precision, with the same bits."""

from __future__ import annotations

import math
import re

import numpy as np

import sharedoa as oa
from sharedoa import f32, f64


@oa.kernel
def narrow_roots(numbers: oa.Array[f32], roots: oa.Array[f32]) -> None:
    i = oa.grid(1)
    roots[i] = f32(math.sqrt(numbers[i]))


@oa.kernel
def wide_roots(numbers: oa.Array[f32], roots: oa.Array[f64]) -> None:
    i = oa.grid(1)
    roots[i] = math.sqrt(numbers[i])


def test_the_root_is_correctly_rounded() -> None:
    bits = np.random.default_rng(0).integers(0, 0x7F80_0000, 1 << 18, dtype=np.uint32)
    edges = np.array([0, 0x8000_0000, 1, 0x7F80_0000, 0x7F7F_FFFF, 0x3F80_0001], np.uint32)
    numbers = np.concatenate([edges, bits]).view(np.float32)
    with oa.Heap(backend="cpu"):
        given, roots = oa.array(f32, numbers), oa.zeros(len(numbers), f32)
        narrow_roots[len(numbers)](given, roots)
        found = roots.numpy().view(np.uint32).tolist()
        by_way_of_f64 = np.sqrt(numbers.astype(np.float64)).astype(np.float32)
        assert found == by_way_of_f64.view(np.uint32).tolist()


def test_only_what_is_rounded_at_once_is_narrowed() -> None:
    with oa.Heap(backend="cpu"):
        numbers = oa.array(f32, [2.0])
        roots = oa.zeros(1, f64)
        wide_roots[1](numbers, roots)
        assert roots[0] == math.sqrt(2.0)
        narrow_roots[1](numbers, oa.zeros(1, f32))
        assert re.search(r"sqrt[^\n]*f32", narrow_roots.asm["ll"])
        assert not re.search(r"sqrt[^\n]*f64", narrow_roots.asm["ll"])
