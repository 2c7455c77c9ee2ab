"""Whether kernels become code for NVIDIA's and AMD's GPUs, on a machine without one."""

from __future__ import annotations

from types import ModuleType

import pytest

import sharedoa as oa
from dispatch.mode import MODES, parse_mode
from ptxpass.text import print_module, read_module
from sharedoa.runtime.kernel import Kernel
from sharedoa.targets.ptxas import assemble

#: What the modes differ in is in these; the others take minutes.
SAMPLE = ("cuda", "coal", "typepointer", "tag+switch", "range+switch")
#: ``mode`` and ``everything``.
EVERY_MODE = [
    *((mode, False) for mode in SAMPLE),
    *(pytest.param(mode, True, marks=pytest.mark.slow) for mode in MODES),
]


def kernels_of(*modules: ModuleType) -> list[Kernel]:
    return [
        value for module in modules for value in vars(module).values() if isinstance(value, Kernel)
    ]


def check_gpu_code(kernels: list[Kernel], mode: str, everything: bool = False) -> None:
    """Both GPU back ends accept each kernel in the mode, and ptxas assembles it; where calls are
    branches to bodies in place, without a stack or spills. The modes differ little in LLVM's eyes:
    unless ``everything`` is asked for, every third kernel becomes code in one mode of the sample,
    and for AMD's in every third mode."""
    turn = 3 * len(SAMPLE)
    with oa.Heap(mode=mode, backend="cpu"):
        for place, kernel in enumerate(sorted(kernels, key=lambda kernel: kernel.name)):
            if not everything and mode in SAMPLE and place % turn != 3 * SAMPLE.index(mode):
                continue
            ptx = kernel.compile("nvptx").products["ptx"]
            assert isinstance(ptx, str)
            assert f".entry kernel_{kernel.name}(" in ptx
            report = assemble(ptx, "sm_90")
            assert report.registers > 0
            if parse_mode(mode).invoke == "switch":
                assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
            # What LLVM prints is also what ptxpass reads.
            assert print_module(read_module(ptx, kernel.name)) == ptx
            if everything or (place + MODES.index(mode)) % 3 == 0:
                code = kernel.compile("amdgpu").products["o"]
                assert isinstance(code, bytes)
                assert code.startswith(b"\x7fELF")
