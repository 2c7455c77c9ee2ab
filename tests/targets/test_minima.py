"""Minima and maxima of three numbers, some negated, of which compilers make one instruction."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i8, i16, i32, i64, u32

from ..differential.aliasing import places

NUMBERS = (5, -7, 123_456, 0, 1, -1, 99)
BACKENDS = ("cpu", "interpreted", pytest.param("cuda", marks=pytest.mark.gpu))


def kernel_of(type: Any) -> Any:
    @oa.kernel
    def joined(a: oa.Array[type], b: oa.Array[type], c: oa.Array[type], out: oa.Array[type, 2]):
        i = oa.grid(1)
        x, y, z = a[i], b[i], c[i]
        out[0, i] = min(min(x, -y), z)
        out[1, i] = max(max(x, -y), z)
        out[2, i] = min(min(-x, -y), -z)
        out[3, i] = max(-z, max(y, -x))
        out[4, i] = max(min(-x, y), z)
        out[5, i] = min(max(-x, y), z)
        out[6, i] = min(x, min(y, z - x))
        out[7, i] = max(x, max(abs(y), z))
        least = -y
        if x > z:
            least = min(x, -z)
        out[8, i] = min(least, z)

    return joined


def expected(x: Any, y: Any, z: Any) -> list[Any]:
    low, high = np.minimum, np.maximum
    return [
        low(low(x, -y), z), high(high(x, -y), z), low(low(-x, -y), -z), high(-z, high(y, -x)),
        high(low(-x, y), z), low(high(-x, y), z), low(x, low(y, z - x)), high(x, high(abs(y), z)),
        low(np.where(x > z, low(x, -z), -y), z),
    ]  # fmt: skip


@pytest.mark.parametrize("type", [i8, i16, i32, i64, u32], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_minima_of_three(type: Any, backend: str) -> None:
    x, y, z = np.array(list(product(NUMBERS, repeat=3))).T.astype(type.dtype)
    with oa.Heap("auto", places.backend(backend)):
        out = oa.zeros((9, len(x)), type)
        kernel_of(type)[len(x)](oa.array(type, x), oa.array(type, y), oa.array(type, z), out)
        for found, due in zip(out.numpy(), expected(x, y, z), strict=True):
            assert found.tolist() == due.tolist()


def test_ptxas_sees_no_negation_beside_them() -> None:
    ptx = kernel_of(i32).compile("nvptx").products["ptx"]
    assert ptx.count("min.s32") > 1 and "neg.s32" not in ptx
