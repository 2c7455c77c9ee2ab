"""The CUDA backend: PTX, which NVIDIA's driver makes machine code of."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from ..errors import BackendError, InternalError
from ..targets.base import Stages
from ..targets.nvptx import NvptxTarget, architecture_for
from ..targets.nvptx_lines import tells_lines
from .cuda_device import CudaDevice, cuda_device
from .gpu import GpuBackend, GpuKernel, GpuModule
from .gpu_device import INDIRECT_STACK, RECURSIVE_STACK

_LOG_BYTES = 16 << 10
_MOST_REGISTERS = 48
"""Of a thread, at first. Left alone, ptxas takes as few as fill a multiprocessor with threads, and
loads of a loop then wait for one another; with so many five eighths of the threads fit, and loops
have more loads under way (docs/performance/auto.md)."""
_MORE_REGISTERS, _FEW_BYTES, _FEWEST_BYTES = 64, 16, 8
"""The same where 48 nearly do: where no more than so many bytes of a thread are in memory then, and
no more than so many with 64. Else it is left to ptxas, as are arrays that threads have."""
_CALL = re.compile(r"^\s*call", re.MULTILINE)
#: Words of PTX that tell how a kernel uses the device.
_INDIRECT_CALL, _PRINT = ".callprototype", "vprintf"


class CudaBackend(GpuBackend):
    """Kernels on an NVIDIA GPU."""

    device: CudaDevice

    def __init__(self, device: CudaDevice | None = None) -> None:
        """``device``: if not the first one."""
        device = device or cuda_device(0)
        super().__init__(device, NvptxTarget(architecture_for(device.description.architecture)))

    def load(
        self,
        symbol: str,
        stages: Stages,
        uses_barrier: bool,
        recursive: bool,
        debug: bool = False,
    ) -> GpuKernel:
        ptx = stages["ptx"]
        assert isinstance(ptx, str)
        # Around calls registers go to memory anyway; elsewhere only if the bound is too tight.
        if not _CALL.search(ptx):
            for most, fits in ((_MOST_REGISTERS, 0), (_MORE_REGISTERS, _FEWEST_BYTES)):
                bounded = self.load_module(ptx, recursive, most_registers=most)
                kernel = self.kernel(bounded, symbol)
                size = self.device.function_attribute(kernel.function, "LOCAL_SIZE_BYTES")
                if size <= fits:
                    return kernel
                if size > _FEW_BYTES:
                    break
        return self.kernel(self.load_module(ptx, recursive), symbol)

    def load_module(
        self,
        ptx: str,
        recursive: bool,
        compiler: str = "this LLVM",
        most_registers: int | None = None,
    ) -> GpuModule:
        """A module with a state block, of any number of kernels. ``recursive``: its functions may
        call themselves; ``compiler`` is what wrote it, for messages; ``most_registers``: of a
        thread, where that is not left to the driver.

        Raises BackendError if the driver is too old, InternalError if it refuses the text.
        """
        self.device.enter()
        if recursive or _INDIRECT_CALL in ptx:
            self.device.raise_stack(RECURSIVE_STACK if recursive else INDIRECT_STACK)
        return self.module(self._link(ptx, compiler, most_registers), _PRINT in ptx)

    def _link(self, ptx: str, compiler: str, most_registers: int | None) -> Any:
        device, driver = self.device, self.device.driver
        image = ctypes.create_string_buffer(ptx.encode())
        log = bytearray(_LOG_BYTES)
        options = {
            driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER: log,
            driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        }
        if most_registers is not None:
            options[driver.CUjit_option.CU_JIT_MAX_REGISTERS] = most_registers
        if tells_lines(ptx):
            options[driver.CUjit_option.CU_JIT_GENERATE_LINE_INFO] = 1
        error, module = driver.cuModuleLoadDataEx(
            ctypes.addressof(image), len(options), list(options), list(options.values())
        )
        if not error:
            return module
        words = log.split(b"\0")[0].decode(errors="replace").strip()
        if error.name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
            raise BackendError(
                f"the NVIDIA driver (CUDA {device.driver_version}) is too old for the PTX that "
                f"{compiler} writes: {words}",
                "install a newer NVIDIA driver",
            )
        if error.name in ("CUDA_ERROR_INVALID_PTX", "CUDA_ERROR_NO_BINARY_FOR_GPU"):
            raise InternalError(f"the NVIDIA driver refuses the PTX of a kernel: {words}")
        device.fail(error, f"loading a kernel {words}".strip())
