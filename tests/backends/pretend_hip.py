"""HIP that notes what it is asked to do: as a module like AMD's bindings, and as a library under
these, for tests that need no AMD GPU."""

from __future__ import annotations

import ctypes
import enum
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..targets.code_object import metadata

GIB, _PAGE = 1 << 30, 1 << 12
STREAM, MODULE, FUNCTION, STATE, GRAPH = 0x57000, 0x30000, 0xF0000, 0x5000, 0x60000
_WORDS = [ctypes.c_long] * 12
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_long, *_WORDS)


class hipError_t(enum.IntEnum):
    hipSuccess = 0
    hipErrorOutOfMemory = 2
    hipErrorInvalidContext = 201
    hipErrorNotReady = 600
    hipErrorIllegalAddress = 700
    hipErrorNotSupported = 801


class hipLimit_t(enum.IntEnum):
    hipLimitStackSize, hipLimitMallocHeapSize = 0, 2


class hipFunction_attribute(enum.IntEnum):
    HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 0, 3
    HIP_FUNC_ATTRIBUTE_NUM_REGS, HIP_FUNC_ATTRIBUTE_BINARY_VERSION = 4, 6


class hipStreamCaptureMode(enum.IntEnum):
    hipStreamCaptureModeRelaxed = 2


class hipDeviceAttribute_t(enum.IntEnum):
    hipDeviceAttributeManagedMemory, hipDeviceAttributeConcurrentManagedAccess = 1, 2
    hipDeviceAttributeMultiprocessorCount, hipDeviceAttributeMaxThreadsPerMultiProcessor = 3, 4


#: Which of the parameters in C are results, by where they begin; other functions have none.
RESULTS: dict[str, tuple[int, tuple[Any, ...]]] = {
    "hipGetDeviceCount": (0, (ctypes.c_int,)),
    "hipDeviceGetAttribute": (0, (ctypes.c_int,)),
    "hipRuntimeGetVersion": (0, (ctypes.c_int,)),
    "hipStreamCreateWithFlags": (0, (ctypes.c_uint64,)),
    "hipEventCreateWithFlags": (0, (ctypes.c_uint64,)),
    "hipMemGetInfo": (0, (ctypes.c_uint64, ctypes.c_uint64)),
    "hipDeviceGetLimit": (0, (ctypes.c_uint64,)),
    "hipMallocManaged": (0, (ctypes.c_uint64,)),
    "hipHostMalloc": (0, (ctypes.c_uint64,)),
    "hipModuleLoadData": (0, (ctypes.c_uint64,)),
    "hipModuleGetFunction": (0, (ctypes.c_uint64,)),
    "hipModuleGetGlobal": (0, (ctypes.c_uint64, ctypes.c_uint64)),
    "hipFuncGetAttribute": (0, (ctypes.c_int,)),
    "hipStreamEndCapture": (1, (ctypes.c_uint64,)),
    "hipGraphInstantiateWithFlags": (0, (ctypes.c_uint64,)),
    "hipEventElapsedTime": (0, (ctypes.c_float,)),
    "hipMemAddressReserve": (0, (ctypes.c_uint64,)),
}
_WITHOUT = (
    "hipInit", "hipSetDevice", "hipStreamDestroy", "hipStreamQuery", "hipStreamSynchronize",
    "hipStreamBeginCapture", "hipEventRecord", "hipEventQuery", "hipEventDestroy", "hipFree",
    "hipHostFree", "hipMemsetD8Async", "hipMemPrefetchAsync", "hipMemcpyHtoDAsync",
    "hipMemcpyDtoHAsync", "hipModuleUnload", "hipModuleLaunchKernel", "hipGraphLaunch",
    "hipGraphDestroy", "hipGraphExecDestroy", "hipDeviceSetLimit", "hipMemAddressFree",
)  # fmt: skip
_OWN = ("hipGetDevicePropertiesR0600", "hipGetErrorString", "hipGetProcAddress")


class PretendHip:
    """One card of 8 GiB with 16 multiprocessors, whose memory is this process's. ``launched`` has
    grid, block and arguments of each launch, cut as the metadata of the kernel's code says."""

    architecture = "gfx90a:xnack+"
    hipError_t, hipLimit_t, hipFunction_attribute = hipError_t, hipLimit_t, hipFunction_attribute
    hipStreamCaptureMode, hipDeviceAttribute_t = hipStreamCaptureMode, hipDeviceAttribute_t

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.failures: dict[str, int] = {}
        self.memory: list[np.ndarray] = []
        self.launched: list[tuple[tuple[int, ...], list[int]]] = []
        self.kernels: list[list[dict[str, Any]]] = []
        self._handles = 0
        self.functions = {
            name: _FUNCTION(lambda *given, name=name: self.in_c(name, given))
            for name in (*RESULTS, *_WITHOUT)
        }

    def __getattr__(self, name: str):
        if name in _WITHOUT or name in RESULTS:
            return lambda *given: self.answer(name, given)
        raise AttributeError(name)

    def answer(self, name: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """As the bindings answer."""
        self.calls.append((name, given))
        if name in self.failures:
            # As the bindings do, whatever results there would be.
            return hipError_t(self.failures[name]), *[0] * len(RESULTS.get(name, (0, ()))[1])
        return hipError_t.hipSuccess, *self.results(name, given)

    def results(self, name: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
        self._handles += 0x100
        if name in ("hipMallocManaged", "hipHostMalloc"):
            self.memory.append(np.zeros(given[0] + _PAGE, np.uint8))
            return (-(-self.memory[-1].ctypes.data // _PAGE) * _PAGE,)
        if name == "hipModuleLoadData":
            self.kernels.append(metadata(elf_at(int(given[0])))["amdhsa.kernels"])
            return (MODULE + len(self.kernels),)
        if name == "hipModuleGetFunction":
            return (FUNCTION + int(given[0]) - MODULE,)
        if name == "hipModuleLaunchKernel":
            self._launch(given)
        if name == "hipDeviceGetAttribute":
            name = self.hipDeviceAttribute_t(given[0]).name.removeprefix("hipDeviceAttribute")
            return ({"MultiprocessorCount": 16, "MaxThreadsPerMultiProcessor": 2048}.get(name, 1),)
        return {
            "hipGetDeviceCount": (1,),
            "hipRuntimeGetVersion": (60_200_000,),
            "hipStreamCreateWithFlags": (STREAM + self._handles,),
            "hipEventCreateWithFlags": (0xE0000 + self._handles,),
            "hipMemGetInfo": (8 * GIB, 8 * GIB),
            "hipDeviceGetLimit": (1024,),
            "hipModuleGetGlobal": (STATE, 128),
            "hipFuncGetAttribute": (1024,),
            "hipStreamEndCapture": (GRAPH,),
            "hipGraphInstantiateWithFlags": (GRAPH + 1,),
            "hipEventElapsedTime": (2.5,),
        }.get(name, ())

    def _launch(self, given: tuple[Any, ...]) -> None:
        (kernel,) = self.kernels[int(given[0]) - FUNCTION - 1]
        sizes = [a[".size"] for a in kernel[".args"] if not a[".value_kind"].startswith("hidden_")]
        pointers = (ctypes.c_uint64 * len(sizes)).from_address(int(given[9]))
        values = [
            int.from_bytes(ctypes.string_at(pointer, size), "little")
            for pointer, size in zip(pointers, sizes, strict=True)
        ]
        # Of words on the stack C fills the lower half only.
        shape = tuple(int(each) & 0xFFFFFFFF for each in given[1:7])
        self.launched.append((shape, values))

    def hipGetDeviceProperties(self, ordinal: int) -> tuple[Any, ...]:
        found = SimpleNamespace(
            name="Pretended GPU", gcnArchName=self.architecture, totalGlobalMem=8 * GIB
        )
        return hipError_t.hipSuccess, found

    def hipGetErrorString(self, error: int) -> tuple[Any, ...]:
        return hipError_t.hipSuccess, b"pretended"

    def hipGetProcAddress(self, symbol: bytes, version: int, flags: int) -> tuple[Any, ...]:
        found = self.functions[symbol.decode()]
        return hipError_t.hipSuccess, ctypes.cast(found, ctypes.c_void_p).value, 0

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [given for called, given in self.calls if called == name]

    def in_c(self, name: str, given: tuple[int, ...]) -> int:
        """The same function as the library has it."""
        first, types = RESULTS.get(name, (0, ()))
        rest = (*given[:first], *given[first + len(types) :])
        error, *results = self.answer(name, rest)
        for address, type, value in zip(given[first:], types, results, strict=False):
            type.from_address(address).value = value
        return int(error)


def elf_at(address: int) -> bytes:
    """An ELF file in memory, which ends with the table of its sections."""
    head = ctypes.string_at(address, 64)
    sections, size, count = (
        int.from_bytes(head[start:end], "little") for start, end in ((40, 48), (58, 60), (60, 62))
    )
    return ctypes.string_at(address, sections + size * count)


class StandIn(PretendHip):
    """The same as ``libamdhip64``, loaded before AMD's bindings look for it."""

    _NAME, _ARCHITECTURE, _MEMORY = 0, 1160, 288
    """Bytes in hipDeviceProp_tR0600."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        parameters = ", ".join(f"long a{number}" for number in range(len(_WORDS)))
        given = ", ".join(f"a{number}" for number in range(len(_WORDS)))
        text = "\n".join(
            f"long (*{name}_is)({parameters}); long {name}({parameters}) "
            f"{{ return {name}_is({given}); }}"
            for name in (*RESULTS, *_WITHOUT, *_OWN)
        )
        source, library = folder / "hip.c", folder / "libamdhip64.so"
        source.write_text(text)
        command = ["cc", "-shared", "-fPIC", "-Wl,-soname,libamdhip64.so", "-o", library, source]
        subprocess.run(command, check=True, capture_output=True)
        self.library = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        from hip import hip

        self.hipDeviceAttribute_t = hip.hipDeviceAttribute_t
        own: dict[str, Callable[..., int]] = {
            "hipGetDevicePropertiesR0600": self._properties,
            "hipGetErrorString": lambda *_: self._text,
            "hipGetProcAddress": self._address,
        }
        self._words = ctypes.create_string_buffer(b"pretended")
        self._text = ctypes.addressof(self._words)
        self.functions |= {name: _FUNCTION(function) for name, function in own.items()}
        for name, function in self.functions.items():
            place = ctypes.c_void_p.in_dll(self.library, f"{name}_is")
            place.value = ctypes.cast(function, ctypes.c_void_p).value

    def _properties(self, address: int, *_: int) -> int:
        ctypes.memmove(address + self._NAME, b"Pretended GPU\0", 14)
        ctypes.memmove(address + self._ARCHITECTURE, b"gfx90a:xnack+\0", 14)
        ctypes.c_uint64.from_address(address + self._MEMORY).value = 8 * GIB
        return 0

    def _address(self, symbol: int, to: int, version: int, flags: int, how: int, *_: int) -> int:
        found = getattr(self.library, ctypes.string_at(symbol).decode())
        ctypes.c_uint64.from_address(to).value = ctypes.cast(found, ctypes.c_void_p).value or 0
        ctypes.c_int.from_address(how).value = 0
        return 0
