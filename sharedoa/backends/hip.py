"""The HIP backend: code objects for AMD's GPUs, linked by lld. It has not run on hardware yet."""

from __future__ import annotations

import ctypes

from ..targets.amdgpu import AmdgpuTarget
from ..targets.base import Stages
from ..targets.rocm import link_code_object
from .gpu import GpuBackend, GpuKernel
from .gpu_device import RECURSIVE_STACK
from .hip_device import HipDevice, hip_device


class HipBackend(GpuBackend):
    """Kernels on an AMD GPU."""

    device: HipDevice

    def __init__(self, device: HipDevice | None = None) -> None:
        """``device``: if not the first one."""
        device = device or hip_device(0)
        super().__init__(device, AmdgpuTarget(device.description.architecture))

    def load(
        self,
        symbol: str,
        stages: Stages,
        uses_barrier: bool,
        recursive: bool,
        debug: bool = False,
    ) -> GpuKernel:
        object_code = stages["o"]
        assert isinstance(object_code, bytes)
        if recursive:
            self.device.raise_stack(RECURSIVE_STACK)
        image = ctypes.create_string_buffer(link_code_object(object_code))
        handle = self.device.call("ModuleLoadData", ctypes.addressof(image))
        # The target has no way to print.
        return self.kernel(self.module(handle, prints=False), symbol)
