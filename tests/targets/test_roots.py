"""The square root of an f32 on NVIDIA's GPUs, made of other instructions than elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32
from sharedoa.targets.nvptx import NvptxTarget
from sharedoa.targets.ptxas import assemble
from tests.codegen.interpreted import InterpretedGpu


@oa.kernel
def take_roots(values: oa.Array[f32], roots: oa.Array[f32]) -> None:
    i = oa.grid(1)
    roots[i] = np.sqrt(values[i])


@pytest.mark.parametrize("architecture", ["sm_70", "sm_90", "sm_120"])
def test_nothing_is_called(architecture: str):
    """What ptxas makes of ``sqrt.rn.f32`` has a call."""
    with oa.Heap("auto", "cpu", capacity="16MiB") as heap:
        program = take_roots.program
        compilation = program.compilation(heap, heap.mode, False, NvptxTarget(architecture))
    ptx = compilation.products["ptx"]
    assert isinstance(ptx, str)
    assert "sqrt.rn" not in ptx and ptx.count("rsqrt.approx.ftz.f32") == 1
    if architecture != "sm_70":  # which newer ptxas do not know
        report = assemble(ptx, architecture)
        assert (report.stack, report.spill_stores) == (0, 0)


def test_every_float_is_below_the_bound_or_in_the_range_of_the_short_way():
    """Scaling keeps all digits: of the value, and of the root."""
    small = np.arange(1, 0x0D000000, 4097, dtype=np.uint32).view(np.float32)
    scaled = small * np.float32(2.0**64)
    assert (scaled / np.float32(2.0**64) == small).all()
    bits = scaled.view(np.uint32)
    assert (bits >= 0x0D000000).all() and (bits <= 0x7F7FFFFF).all()
    roots = np.sqrt(scaled)
    assert (roots * np.float32(2.0**-32) == np.sqrt(small)).all()


@pytest.mark.parametrize(
    ("backend", "count"),
    [(InterpretedGpu, 200), pytest.param(lambda: "cuda", 4_000_000, marks=pytest.mark.gpu)],
    ids=["interpreted", "cuda"],
)
def test_roots_are_those_of_numpy(backend: Callable[[], Any], count: int):
    random = np.random.default_rng(1).integers(0, 1 << 32, count, np.uint32)
    exponents = np.arange(512, dtype=np.uint32)[:: 1 if count > 1000 else 17, None] << 23
    edges = np.array([0, 1, 2, 3, 0x3FFFFF, 0x400000, 0x7FFFFD, 0x7FFFFE, 0x7FFFFF], np.uint32)
    around = np.uint32(0x0D000000) + np.arange(-50, 50).astype(np.uint32)
    values = np.concatenate([random, (exponents | edges).ravel(), around]).view(np.float32)
    with oa.Heap("auto", backend(), capacity="256MiB"):
        roots = oa.zeros(len(values), f32)
        take_roots[len(values)](oa.array(f32, values), roots)
        found = roots.numpy()
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(values)
    real = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), ~real)
    np.testing.assert_array_equal(found[real].view(np.uint32), expected[real].view(np.uint32))
