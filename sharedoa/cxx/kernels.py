"""Kernels of a C++ program, launched as Python kernels are: ``kernel[threads](arguments)``."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from ptxpass.text.syntax import Call, Function, Module

from ..backends.base import KernelLaunch
from ..errors import ArgumentError, BackendError
from ..forks import renew_in_child
from ..heap.heap import Heap, current_heap
from ..heap.recording import recorder
from ..runtime.geometry import DEFAULT_BLOCK, Geometry, Pair, parse_geometry
from .arguments import KernelParameters

if TYPE_CHECKING:
    from .program import Loaded, Program

_SECOND_AXIS = re.compile(r"%(tid|ctaid|ntid|nctaid)\.y\b")
_BLOCK_LIMIT = re.compile(r"\.(maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?")
_MANGLED = re.compile(r"_Z(N?)((?:\d+[A-Za-z_]\w*)+)")


class Kernel:
    """One ``__global__`` function.

    ``kernel[threads]`` launches as many threads as are asked for, rounded up to whole blocks of
    256: the kernel compares its index with the number of items itself. ``kernel[threads, block]``
    gives the block; ``kernel[(nx, ny), (bx, by)]`` two axes, and ``kernel[nx, ny]`` does so for a
    kernel that reads its index along y.
    """

    def __init__(self, program: Program, function: Function, module: Module) -> None:
        self.program = program
        self.symbol = function.name
        self.name = plain_name(function.name)
        self.parameters = KernelParameters(self.name, function.parameters, program)
        self._axes = 2 if _reads_second_axis(function, module) else 1
        self._default_block = _default_block(function, self._axes)
        self._slots = self.parameters.new_slots()
        self._lock = renew_in_child(threading.Lock())

    @property
    def has_pointers(self) -> bool:
        """Whether there are parameters that may be pointers."""
        return self.parameters.has_words

    def __getitem__(self, item: Any) -> Launcher:
        return Launcher(self, parse_geometry(item, self._axes, self._default_block))

    def __call__(self, *arguments: Any) -> None:
        raise ArgumentError(
            f"kernel {self.name} is called without a number of threads",
            f"write {self.name}[threads](...)",
        )

    def __repr__(self) -> str:
        return f"<C++ kernel {self.name} of {self.program.name}>"

    def launch(self, geometry: Geometry, arguments: tuple[Any, ...]) -> None:
        """Pack, make the module ready for the heap, launch; returns at once."""
        with self._lock:
            heap: Heap = self.parameters.pack(self._slots, arguments) or current_heap()
            backend = heap.backend
            if backend.name != "cuda":
                raise BackendError(
                    f"kernel {self.name} is C++ for NVIDIA GPUs, and the heap's backend is "
                    f"{backend.name}",
                    "create the heap with oa.Heap(backend='cuda') or SHAREDOA_BACKEND=cuda, on a "
                    "machine with an NVIDIA GPU",
                )
            if recorder() is not None:
                raise BackendError(
                    f"kernel {self.name} is C++, and a block of oa.capture() or oa.tape() "
                    "records Python kernels only",
                    "launch it outside of the block",
                )
            if geometry.is_empty:
                return
            heap.launch_deferred()
            loaded = self.program.loaded(heap.mode, backend)
            # Two heaps may share the module, whose state block is that of one at a time.
            with loaded.lock:
                loaded.bound(heap, lambda: self._start(loaded, heap, geometry))

    def _start(self, loaded: Loaded, heap: Heap, geometry: Geometry) -> None:
        heap.before_launch()
        handle, count = loaded.kernel(self), self.parameters.count
        launch = KernelLaunch(handle, geometry.threads, geometry.block, self._slots, count)
        start = heap.backend.prepare(launch)
        heap.note_launch()
        start()
        heap.memory.last_launch = object()


class Launcher:
    """A kernel with its launch sizes; calling it launches."""

    __slots__ = ("_geometry", "_kernel")

    def __init__(self, kernel: Kernel, geometry: Geometry) -> None:
        self._kernel = kernel
        self._geometry = geometry

    def __call__(self, *arguments: Any) -> None:
        """Launch. What goes wrong while the kernel runs is raised as DeviceError by whatever waits
        for it.

        Raises ArgumentError for a wrong number or type of arguments, BackendError for a heap whose
        backend is not cuda.
        """
        self._kernel.launch(self._geometry, arguments)


def plain_name(symbol: str) -> str:
    """The name in the source of a mangled function that is no template, else the symbol."""
    match = _MANGLED.match(symbol)
    if match is None:
        return symbol
    rest, parts = symbol[match.start(2) :], []
    while rest[:1].isdigit():
        digits = re.match(r"\d+", rest)
        assert digits is not None
        length = int(digits[0])
        rest = rest[len(digits[0]) :]
        parts.append(rest[:length])
        rest = rest[length:]
        if not match[1]:
            break
    if rest.startswith("I") or (match[1] and not rest.startswith("E")):
        return symbol
    return "::".join(parts)


def _reads_second_axis(entry: Function, module: Module) -> bool:
    functions = module.functions
    waiting, seen = [entry.name], {entry.name}
    while waiting:
        function = functions.get(waiting.pop())
        for statement in (function.body if function else None) or ():
            if _SECOND_AXIS.search(statement.text):
                return True
            if isinstance(statement, Call) and statement.target.text not in seen:
                seen.add(statement.target.text)
                waiting.append(statement.target.text)
    return False


def _default_block(entry: Function, axes: int) -> Pair | None:
    """Where ``__launch_bounds__`` or ``__block_size__`` say more than the usual block."""
    match = _BLOCK_LIMIT.search(entry.text)
    if match is None:
        return None
    x, y = int(match[2]), int(match[3] or 1)
    if match[1] == "reqntid":
        return x, y
    usual = DEFAULT_BLOCK[axes]
    if x * y >= usual[0] * usual[1]:
        return None
    return (x * y, 1) if axes == 1 else (min(usual[0], x * y), max(1, x * y // usual[0]))
