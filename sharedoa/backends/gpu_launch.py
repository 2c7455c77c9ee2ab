"""One launch made ready for the driver: its grid, its parameter list, and the call itself.

The bindings convert eleven arguments for every launch, which takes about as long as the driver's
own work. A few instructions of native code, which Python calls as it calls its own functions, read
them from a block of words instead and call the driver.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..once import once
from .base import KernelLaunch
from .interpreter_function import interpreter_function

if TYPE_CHECKING:
    from .gpu import GpuKernel

_LARGEST_ROW = (1 << 31) - 1
_LARGEST_GRID_Y = (1 << 16) - 1
#: The words of a block: the driver's function and its arguments in order, all but the last (null).
_TYPES = ("ptr", "ptr", *["i32"] * 7, "ptr", "ptr")


class PreparedLaunch:
    """A launch as the driver takes it, again and again: the leaves are read from its slots each
    time. ``shape`` is the grid and the block with three axes each, ``parameters`` the address of
    the list of pointers to parameters.

    It must be kept as long as it is launched.
    """

    def __init__(self, launch: KernelLaunch) -> None:
        """Raises ArgumentError for a grid or a block that the device cannot launch."""
        kernel: GpuKernel = launch.handle
        bx, by = launch.block
        gx, gy = _grid(kernel, launch.threads, launch.block, launch.at_once)
        self.shape = (gx, gy, 1, bx, by, 1)
        self._launch = launch
        self._threads = (ctypes.c_int64 * 2)(*launch.threads)
        base = ctypes.addressof(launch.slots)
        numbers = range(launch.count) if kernel.words is None else kernel.words
        pointers = [base + 8 * number for number in numbers]
        if kernel.words is None:
            threads = ctypes.addressof(self._threads)
            pointers += [threads, threads + 8]
        self._pointers = (ctypes.c_uint64 * len(pointers))(*pointers)
        self.parameters = ctypes.addressof(self._pointers)

    def words(self, function: int, stream: Any) -> int:
        """The address of the words that ``native_launch`` gives takes; ``function`` is that of the
        driver's that launches."""
        kernel = int(self._launch.handle.function)
        words = (function, kernel, *self.shape, 0, int(stream), self.parameters)
        self.stream = stream
        self._words = (ctypes.c_uint64 * len(_TYPES))(*words)
        return ctypes.addressof(self._words)

    def go_through(self, stream: Any) -> None:
        """Launch in another stream from now on."""
        self.stream = stream
        self._words[-2] = int(stream)


def _grid(
    kernel: GpuKernel, threads: tuple[int, int], block: tuple[int, int], at_once: int
) -> tuple[int, int]:
    (nx, ny), (bx, by) = threads, block
    if not 0 < bx * by <= kernel.max_threads or bx < 1:
        raise ArgumentError(
            f"{kernel.symbol} cannot run in blocks of {bx} x {by} threads on this device: at "
            f"most {kernel.max_threads} fit, given the registers that it needs",
            f"launch with a smaller block: kernel[threads, {min(256, kernel.max_threads)}](...)",
        )
    grid = -(-nx // (bx * at_once)), -(-ny // by)
    if nx > _LARGEST_ROW or grid[1] > _LARGEST_GRID_Y:
        raise ArgumentError(
            f"a launch of {nx:,} x {ny:,} threads is more than the device takes: at most "
            f"{_LARGEST_ROW:,} in x and {_LARGEST_GRID_Y * by:,} in y with this block",
            "launch several times, or let each thread loop over several items",
        )
    return grid


@once
def native_launch() -> Callable[[int], int]:
    """What starts a ``PreparedLaunch``, by the address of its words; the result is the driver's: 0
    for success.

    cffi or ctypes would take longer to call one than the rest of what a launch does before the
    driver.
    """
    return interpreter_function("launch", _code())


def _code() -> str:
    lines = [
        "define ptr @launch(ptr %self, ptr %address) {",
        "%block = call ptr @PyLong_AsVoidPtr(ptr %address)",
    ]
    for place, type in enumerate(_TYPES):
        lines += [
            f"%p{place} = getelementptr i64, ptr %block, i64 {place}",
            f"%w{place} = load {type}, ptr %p{place}",
        ]
    driver, *arguments = (f"{type} %w{place}" for place, type in enumerate(_TYPES))
    lines += [
        "%thread = call ptr @PyEval_SaveThread()",
        f"%error = call i32 {driver.removeprefix('ptr ')}({', '.join(arguments)}, ptr null)",
        "call void @PyEval_RestoreThread(ptr %thread)",
        "%wide = sext i32 %error to i64",
        "%result = call ptr @PyLong_FromLong(i64 %wide)",
        "ret ptr %result",
        "}",
    ]
    return "\n".join(lines)
