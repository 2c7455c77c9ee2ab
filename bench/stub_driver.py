"""A CUDA backend without a GPU, whose driver agrees to everything and does nothing.

It shows what launches cost on the way to the driver. Code for GPUs is made as ever; its memory is
memory of this process, and no kernel ever runs.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from sharedoa.backends.cuda import CudaBackend
from sharedoa.backends.cuda_device import CudaDevice
from sharedoa.backends.native_code import NativeLibrary, host_target

_CARD_BYTES = 8 << 30
_NOTHING = "define i32 @nothing() { ret i32 0 }"
_ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MANAGED_MEMORY": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "MULTIPROCESSOR_COUNT": 132,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
}
#: Results by the name of the function; those of all others are none.
_ANSWERS: dict[str, tuple[Any, ...]] = {
    "cuDeviceGetCount": (1,),
    "cuDeviceGet": (0,),
    "cuDeviceGetName": (b"pretended\0",),
    "cuDeviceTotalMem": (_CARD_BYTES,),
    "cuDevicePrimaryCtxRetain": ("context",),
    "cuStreamCreate": (0x57000,),
    "cuEventCreate": (0xE7000,),
    "cuStreamEndCapture": ("graph",),
    "cuGraphInstantiate": ("executable graph",),
    "cuCtxGetLimit": (1 << 20,),
    "cuMemGetInfo": (_CARD_BYTES, _CARD_BYTES),
    "cuModuleLoadDataEx": ("module",),
    "cuModuleGetFunction": (0xF0000,),
    "cuModuleGetGlobal": (0x5000, 128),
}


class StubDriver:
    """What sharedoa uses of ``cuda.bindings.driver``."""

    def __init__(self) -> None:
        self._bindings = importlib.import_module("cuda.bindings.driver")
        self._success = self._bindings.CUresult.CUDA_SUCCESS
        code = host_target().compile(_NOTHING)["o"]
        assert isinstance(code, bytes)
        self._nothing = NativeLibrary(code, ("nothing",), {})
        self._memory: list[np.ndarray[Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("CU"):
            return getattr(self._bindings, name)
        answer = (self._success, *_ANSWERS.get(name, ()))
        function: Callable[..., Any] = lambda *arguments: answer  # noqa: E731
        setattr(self, name, function)
        return function

    def cuDeviceGetAttribute(self, key: Any, device: Any) -> tuple[Any, int]:
        return self._success, _ATTRIBUTES[key.name.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def cuFuncGetAttribute(self, key: Any, function: Any) -> tuple[Any, int]:
        return self._success, 1024 if key.name.endswith("MAX_THREADS_PER_BLOCK") else 0

    def cuGetProcAddress(self, symbol: bytes, version: int, flags: int) -> tuple[Any, int, Any]:
        return self._success, self._nothing.address("nothing"), None

    def cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: Any) -> tuple[Any]:
        if self._has(source):
            ctypes.memmove(target, source, size)
        return (self._success,)

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: Any) -> tuple[Any]:
        if self._has(target):
            ctypes.memmove(target, source, size)
        return (self._success,)

    def _has(self, address: int) -> bool:
        return any(m.ctypes.data <= address < m.ctypes.data + m.nbytes for m in self._memory)

    def cuMemHostAlloc(self, size: int, flags: int) -> tuple[Any, int]:
        return self.cuMemAllocManaged(size, flags)

    def cuMemAlloc(self, size: int) -> tuple[Any, int]:
        return self.cuMemAllocManaged(size, 0)

    def cuMemAllocManaged(self, size: int, flags: int) -> tuple[Any, int]:
        self._memory.append(np.zeros(size, np.uint8))
        return self._success, self._memory[-1].ctypes.data


def stub_backend() -> CudaBackend:
    return CudaBackend(CudaDevice(driver=StubDriver()))
