"""Launches along three axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i32, i64
from tests.codegen.interpreted import InterpretedGpu


@oa.kernel
def number(out: oa.Array[i32], width: i64, height: i64, once: i32 = 1) -> None:
    x, y, z = oa.grid(3)
    nx, ny, nz = oa.gridsize(3)
    oa.atomic_add(out, (z * height + y) * width + x, once * i32(x + 10 * y + 100 * z + 1000 * nz))


@oa.kernel
def sums_of_blocks(sums: oa.Array[i32], own: oa.Array[i32]) -> None:
    x, y, z = oa.grid(3)
    nx, ny, nz = oa.gridsize(3)
    block = (z // 2 * 2 + y // 2) * 2 + x // 2
    oa.atomic_add(sums, block, 1)
    oa.syncthreads()
    own[(z * ny + y) * nx + x] = sums[block]


@pytest.mark.parametrize("backend", ["python", "cpu", "interpreted"])
def test_every_thread_runs_once(backend: Any) -> None:
    opened = InterpretedGpu() if backend == "interpreted" else backend
    with oa.Heap(backend=opened, capacity="64MiB"):
        z, y, x = np.indices((4, 3, 5))
        sizes = (5, 3, 4)
        for given in (sizes, (sizes, (2, 2, 2)), (sizes, (2, 2, 3)), (sizes, (8, 8, 8))):
            out = oa.zeros(60, i32)
            number[given](out, 5, 3)
            number[given](out, 5, height=3, once=2)
            assert np.array_equal(out, 3 * (x + 10 * y + 100 * z + 4000).ravel())
        out = oa.zeros(7, i32)
        number[7](out, 7, 1)
        number[0, 5, 5](out, 7, 1)
        assert np.array_equal(out, np.arange(7) + 1000)
        # The threads of a block wait for one another, and no others.
        sums, own = oa.zeros(8, i32), oa.zeros(36, i32)
        sums_of_blocks[(4, 3, 3), (2, 2, 2)](sums, own)
        z, y, x = np.indices((3, 3, 4))
        expected = np.where(y < 2, 2, 1) * np.where(z < 2, 2, 1) * 2
        assert np.array_equal(own, expected.ravel())


def test_mistakes() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        out = oa.zeros(8, i32)
        for size in ((1, 2, 3, 4), ((2, 2, 2), 2, 2)):
            with pytest.raises(oa.ArgumentError, match=r"help: write kernel\[nx, ny, nz\] or"):
                number[size]
        with pytest.raises(oa.ArgumentError, match="a block of 16 x 128 threads is larger"):
            number[(16, 16, 16), (16, 16, 8)]
        with pytest.raises(oa.ArgumentError, match="along y and z are more than"):
            number[1, 2**20, 2**20]
        with pytest.raises(oa.ArgumentError, match=r"takes 4 arguments, not 5\nhelp: it takes \(o"):
            number[2, 2, 2](out, 2, 2, 1, 1)
