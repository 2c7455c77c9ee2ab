"""A CUDA driver that notes what it is asked to do, for tests that need no GPU.

What belongs to a context is refused, or goes to the wrong device, where another one is current.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
import pytest

from sharedoa.backends.native_code import NativeLibrary, host_target

bindings = pytest.importorskip("cuda.bindings.driver")
GIB = 1 << 30
#: What a stream, a kernel and the event before the first are known by; of each further device
#: the first two are larger by ``APART``.
APART = 0x1000000
STREAM, FUNCTION, FIRST_EVENT = 0x57000, 0xF0000, 0xE0000
_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint64, *[ctypes.c_uint32] * 7, *[ctypes.c_uint64] * 3
)
_QUERY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)
#: The functions whose addresses are asked for, by name, and what they are in C.
_BY_ADDRESS = {"cuLaunchKernel": _LAUNCH, "cuStreamQuery": _QUERY, "cuEventQuery": _QUERY}


CONTEXTS = ["context", "other context"]
_HANDLES = {"cuStreamCreate": STREAM, "cuModuleGetFunction": FUNCTION}


class PretendDriver:
    """Cards of 8 GiB with 16 multiprocessors; every call is noted and succeeds, except those named
    in ``failures``, by name, or by name and the device that is current. Managed and page-locked
    memory is this process's."""

    def __init__(self, devices: int = 1) -> None:
        self.devices = devices
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        #: The device that was current at each of ``calls``.
        self.called_on: list[int] = []
        self._thread = threading.local()
        self.failures: dict[str | tuple[str, int], object] = {}
        self.memory: list[np.ndarray] = []
        self.of_functions = {"MAX_THREADS_PER_BLOCK": 1024}
        self.limits = {"STACK_SIZE": 1024, "MALLOC_HEAP_SIZE": 8 << 20}
        self.answers = {
            "cuDeviceGetCount": devices,
            "cuDeviceGetName": b"Pretended GPU\0",
            "cuDeviceTotalMem": 8 * GIB,
            "cuMemGetInfo": (8 * GIB, 8 * GIB),
            "cuModuleLoadDataEx": "module",
            "cuModuleGetGlobal": (0x5000, 128),
            "cuGetErrorString": b"pretended",
            "cuStreamEndCapture": "graph",
            "cuGraphInstantiate": "executable",
        }
        self.functions: dict[str, Any] = {
            name: type(lambda *arguments, name=name: int(self.answer(name, arguments)[0]))
            for name, type in _BY_ADDRESS.items()
        }
        attributes = bindings.CUdevice_attribute
        self.attributes = {
            attributes.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: 1,
            attributes.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: 1,
            attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 9,
            attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: 0,
            attributes.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: 16,
            attributes.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: 2048,
        }

    def __getattr__(self, name: str):
        if name.startswith("CU"):
            return getattr(bindings, name)
        return lambda *arguments: self.answer(name, arguments)

    def answer(self, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        self.calls.append((name, arguments))
        self.called_on.append(self.current)
        for key in (name, (name, self.current)):
            if key in self.failures:
                return self.failures[key], None
        if name == "cuCtxSetCurrent":
            self._thread.device = CONTEXTS.index(arguments[0])
        elif name == "cuLaunchKernel" and self.devices > 1:
            kernel, stream = arguments[0] - FUNCTION, arguments[8] - STREAM
            if not kernel == stream == APART * self.current:
                return bindings.CUresult.CUDA_ERROR_INVALID_HANDLE, None
        if name == "cuDeviceGet":
            return bindings.CUresult.CUDA_SUCCESS, arguments[0]
        if name == "cuDevicePrimaryCtxRetain":
            return bindings.CUresult.CUDA_SUCCESS, CONTEXTS[arguments[0]]
        if name in _HANDLES and name not in self.answers:
            return bindings.CUresult.CUDA_SUCCESS, _HANDLES[name] + APART * self.current
        if name == "cuDeviceGetAttribute":
            return bindings.CUresult.CUDA_SUCCESS, self.attributes[arguments[0]]
        if name in ("cuMemAllocManaged", "cuMemHostAlloc"):
            self.memory.append(np.zeros(arguments[0], np.uint8))
            return bindings.CUresult.CUDA_SUCCESS, self.memory[-1].ctypes.data
        if name in ("cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync"):
            there = arguments[name == "cuMemcpyDtoHAsync"]
            if any(m.ctypes.data <= there < m.ctypes.data + m.nbytes for m in self.memory):
                ctypes.memmove(*arguments[:3])
        if name == "cuFuncGetAttribute":
            key = arguments[0].name.removeprefix("CU_FUNC_ATTRIBUTE_")
            return bindings.CUresult.CUDA_SUCCESS, self.of_functions.get(key, 0)
        if name == "cuEventCreate":
            return bindings.CUresult.CUDA_SUCCESS, FIRST_EVENT + len(self.called(name))
        if name == "cuGetProcAddress":
            found = self.functions[arguments[0].decode()]
            return bindings.CUresult.CUDA_SUCCESS, ctypes.cast(found, ctypes.c_void_p).value, None
        if name == "cuMemAddressReserve":
            return bindings.CUresult.CUDA_SUCCESS, arguments[2]
        if name == "cuCtxGetLimit":
            return bindings.CUresult.CUDA_SUCCESS, self.limits[self.limit_name(arguments[0])]
        if name == "cuCtxSetLimit":
            self.limits[self.limit_name(arguments[0])] = arguments[1]
        found = self.answers.get(name, ())
        return (bindings.CUresult.CUDA_SUCCESS, *(found if isinstance(found, tuple) else (found,)))

    @staticmethod
    def limit_name(key) -> str:
        return key.name.removeprefix("CU_LIMIT_")

    @property
    def current(self) -> int:
        """The device that is current in the calling thread."""
        found: int = getattr(self._thread, "device", 0)
        return found

    def devices_of(self, name: str) -> list[int]:
        """On which device each call of the function was."""
        asked = zip(self.calls, self.called_on, strict=True)
        return [device for (called, _), device in asked if called == name]

    def forget(self) -> None:
        """What was called until now."""
        self.calls.clear()
        self.called_on.clear()

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [arguments for called, arguments in self.calls if called == name]


class BusyDevice:
    """A device that is not done until it is told. Its answer is native code: signals that arrive
    meanwhile are Python's to see only afterwards, as with NVIDIA's driver."""

    _CODE = """
@answer = global i32 600
define i32 @query(i64 %handle) {
  %answer = load volatile i32, ptr @answer
  ret i32 %answer
}
"""

    def __init__(self, driver: PretendDriver) -> None:
        code = host_target().compile(self._CODE)["o"]
        assert isinstance(code, bytes)
        self._library = NativeLibrary(code, ("query", "answer"), {})
        driver.functions["cuStreamQuery"] = ctypes.c_void_p(self._library.address("query"))

    def is_done(self) -> None:
        ctypes.c_int.from_address(self._library.address("answer")).value = 0
