"""The kernels of the structure become code for NVIDIA's and AMD's GPUs, without a GPU."""

from __future__ import annotations

import re

import pytest

import sharedoa as oa
from apps.structure.faithful import kernels as faithful
from apps.structure.natural import kernels as natural
from dispatch.mode import MODES
from ptxpass.text import print_module, read_module
from sharedoa.runtime.kernel import Kernel
from sharedoa.targets.ptxas import assemble

KERNELS = {
    value.name: value
    for module in (faithful, natural)
    for value in vars(module).values()
    if isinstance(value, Kernel)
}


def test_there_are_all() -> None:
    assert len(KERNELS) == 18


@pytest.mark.parametrize("mode", ["cuda", "coal", "bits+switch"])
def test_every_kernel_for_amd(mode: str) -> None:
    with oa.Heap(mode=mode, backend="cpu"):
        for kernel in KERNELS.values():
            code = kernel.compile("amdgpu").products["o"]
            assert isinstance(code, bytes)
            assert code.startswith(b"\x7fELF")


@pytest.mark.parametrize("mode", MODES)
def test_every_kernel_in_every_mode(mode: str) -> None:
    with oa.Heap(mode=mode, backend="cpu"):
        for name, kernel in KERNELS.items():
            ptx = kernel.compile("nvptx").products["ptx"]
            assert isinstance(ptx, str)
            assert f".entry kernel_{name}(" in ptx
            assert assemble(ptx, "sm_90").registers > 0
            assert print_module(read_module(ptx, name)) == ptx
            # Rounded after each operation, so that results are those of the CPU, bit by bit.
            assert not re.search(r"fma|approx|\.ftz|\.full", ptx)
