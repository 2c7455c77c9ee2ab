"""The kernels of traffic become code for NVIDIA's and AMD's GPUs, on a machine without one."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

import sharedoa as oa
from apps.common import prefix_sum
from apps.traffic.faithful import kernels as faithful
from apps.traffic.natural import kernels as natural
from dispatch.mode import MODES
from ptxpass.text import print_module, read_module
from sharedoa.runtime.kernel import Kernel
from sharedoa.targets.ptxas import assemble


def kernels_of(*modules: ModuleType) -> Iterator[Kernel]:
    for module in modules:
        yield from (value for value in vars(module).values() if isinstance(value, Kernel))


def ptx_of(kernel: Kernel) -> str:
    text = kernel.compile("nvptx").products["ptx"]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("mode", MODES)
def test_every_kernel_in_every_mode(mode: str) -> None:
    """M-6: both GPU back ends accept the app; ptxas assembles it."""
    kernels = {kernel.name: kernel for kernel in kernels_of(faithful, natural, prefix_sum)}
    assert len(kernels) == 17
    with oa.Heap(mode=mode, backend="cpu"):
        for name, kernel in kernels.items():
            ptx = ptx_of(kernel)
            assert f".entry kernel_{name}(" in ptx
            assert assemble(ptx, "sm_90").registers > 0
            # What LLVM prints is also what ptxpass reads.
            assert print_module(read_module(ptx, name)) == ptx
            code = kernel.compile("amdgpu").products["o"]
            assert isinstance(code, bytes)
            assert code.startswith(b"\x7fELF")
