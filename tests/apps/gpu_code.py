"""Whether kernels become code for NVIDIA's and AMD's GPUs, on a machine without one."""

from __future__ import annotations

from types import ModuleType

import sharedoa as oa
from sharedoa.runtime.kernel import Kernel
from sharedoa.targets.ptxas import assemble


def kernels_of(*modules: ModuleType) -> list[Kernel]:
    return [
        value for module in modules for value in vars(module).values() if isinstance(value, Kernel)
    ]


def check_gpu_code(kernels: list[Kernel], mode: str) -> None:
    """Both GPU back ends accept each kernel in the mode, and ptxas assembles it."""
    with oa.Heap(mode=mode, backend="cpu"):
        for kernel in kernels:
            ptx = kernel.compile("nvptx").products["ptx"]
            assert isinstance(ptx, str)
            assert f".entry kernel_{kernel.name}(" in ptx
            assert assemble(ptx, "sm_90").registers > 0
            code = kernel.compile("amdgpu").products["o"]
            assert isinstance(code, bytes)
            assert code.startswith(b"\x7fELF")
