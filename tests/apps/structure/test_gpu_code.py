"""The kernels of the structure become code for NVIDIA's and AMD's GPUs, without a GPU."""

from __future__ import annotations

import pytest

import sharedoa as oa
from apps.structure.faithful import kernels as faithful

from ..gpu_code import EVERY_MODE, check_gpu_code, kernels_of
from . import method_kernels

KERNELS = kernels_of(faithful, method_kernels)


def test_there_are_all() -> None:
    assert len(KERNELS) == 18


@pytest.mark.parametrize(("mode", "everything"), EVERY_MODE)
def test_every_kernel_in_every_mode(mode: str, everything: bool) -> None:
    check_gpu_code(KERNELS, mode, everything)


@pytest.mark.parametrize(
    "mode",
    ["coal", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("cuda", "bits+switch"))],
)
def test_arithmetic_is_as_written(mode: str) -> None:
    with oa.Heap(mode=mode, backend="cpu"):
        for kernel in KERNELS:
            ptx = kernel.compile("nvptx").products["ptx"]
            assert isinstance(ptx, str)
            # Rounded after each operation, so that results are those of the CPU, bit by bit; so are
            # roots (``targets.nvptx_root``) and quotients (``targets.nvptx_division``), which have
            # these inside and no others.
            roots = ptx.count("rsqrt.approx.ftz.f32")
            inverses = [ptx.count(f"rcp.approx.ftz.f{bits}") for bits in (32, 64)]
            quotients = ptx.count("setp.num.f32")
            expected = {
                "approx": roots + sum(inverses),
                ".ftz": 3 * roots + sum(inverses),
                "mul.rn.ftz": 2 * roots,
                "fma.rn.f32": 2 * (roots + inverses[0] + quotients),
                "fma.rn.f64": 2 * (inverses[1] + quotients),
            }
            assert {part: ptx.count(part) for part in expected} == expected, kernel.name
            assert ptx.count("fma") == expected["fma.rn.f32"] + expected["fma.rn.f64"]
            assert ".full" not in ptx and "sqrt.rn" not in ptx and "div.rn" not in ptx
