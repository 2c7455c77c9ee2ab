"""Launching with one argument: a block of words that a kernel keeps from launch to launch.

The bindings convert eleven arguments for every launch, which takes about as long as the driver's
own work. A few instructions of native code read them from the block instead and call the driver.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from .cuda_context import CudaContext
from .native_code import NativeLibrary, ffi, host_target

#: Places in a block: the driver's function and its arguments in order, all but the last (null).
DRIVER, FUNCTION, GRID_X, GRID_Y, GRID_Z, BLOCK_X, BLOCK_Y, BLOCK_Z, SHARED, STREAM, PARAMETERS = (
    range(11)
)
_TYPES = ("ptr", "ptr", *["i32"] * 7, "ptr", "ptr")
_CUDA_VERSION = 12000


class LaunchBlock:
    """The words of one kernel; ``pointer`` is what ``native_launch`` gives takes."""

    __slots__ = ("pointer", "words")

    def __init__(self) -> None:
        self.words: Any = (ctypes.c_int64 * len(_TYPES))()
        for place in (GRID_X, GRID_Y, GRID_Z, BLOCK_X, BLOCK_Y, BLOCK_Z):
            self.words[place] = 1
        self.pointer = ffi.cast("void *", ctypes.addressof(self.words))


def driver_function(context: CudaContext) -> int:
    """The address of the driver's ``cuLaunchKernel``."""
    address, _ = context.call("cuGetProcAddress", b"cuLaunchKernel", _CUDA_VERSION, 0)
    return int(address)


def native_launch() -> Any:
    """What launches the kernel of a block, by its pointer; the result is the driver's, an int."""
    return _library().function("launch", "int(*)(void *)")


@cache
def _library() -> NativeLibrary:
    code = host_target().compile(_code())["o"]
    assert isinstance(code, bytes)
    return NativeLibrary(code, ("launch",), {})


def _code() -> str:
    lines = ["define i32 @launch(ptr %block) {"]
    for place, type in enumerate(_TYPES):
        lines += [
            f"%p{place} = getelementptr i64, ptr %block, i64 {place}",
            f"%w{place} = load {type}, ptr %p{place}",
        ]
    arguments = [f"{type} %w{place}" for place, type in enumerate(_TYPES)][1:]
    lines += [
        f"%result = call i32 %w{DRIVER}({', '.join(arguments)}, ptr null)",
        "ret i32 %result",
        "}",
    ]
    return "\n".join(lines)
