"""The CUDA backend: PTX loaded by the driver, launched in one stream, objects in managed memory."""

from __future__ import annotations

import ctypes
import re
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dispatch import state as state_block

from ..errors import ArgumentError, BackendError, InternalError
from ..targets.base import Stages, Target
from ..targets.nvptx import NvptxTarget, architecture_for
from . import cuda_launch
from .base import Addresses, Bytes, KernelLaunch, Slots
from .bulk_transfer import PIECE_BYTES, PIECES, BulkTransfer
from .cuda_context import INDIRECT_STACK, RECURSIVE_STACK, CudaContext, cuda_context
from .cuda_driver import raise_driver_error
from .cuda_graph import CudaGraph, capture_graph
from .cuda_launch import LaunchBlock, driver_function, native_launch
from .managed_memory import ManagedProvider, prefetch
from .pinned_memory import PinnedStaging
from .scattered import ScatteredMemory
from .timing import EventStopwatch, time_by_events

if TYPE_CHECKING:
    from ..heap.provider import Provider
    from ..heap.transfer import Transfer

_LOG_BYTES = 16 << 10
_LARGEST_ROW = (1 << 31) - 1
_LARGEST_GRID_Y = (1 << 16) - 1
#: Threads of a block of a launch that is too small for so many usual blocks a multiprocessor.
_SMALL_BLOCK, _BLOCKS_EACH = 64, 2
_MOST_REGISTERS = 48
"""Of a thread, at first. Left alone, ptxas takes as few as fill a multiprocessor with threads, and
loads of a loop then wait for one another; with so many five eighths of the threads fit, and loops
have more loads under way (docs/performance.md)."""
_CALL = re.compile(r"^\s*call", re.MULTILINE)
#: Words of PTX that tell how a kernel uses the device.
_INDIRECT_CALL, _PRINT = ".callprototype", "vprintf"


@dataclass(eq=False)
class CudaModule:
    """A loaded module, and what its state block holds. It goes with its last kernel."""

    handle: Any
    state_address: Any
    prints: bool
    last_state: tuple[int, ...] = ()
    state: Any = field(default_factory=lambda: (ctypes.c_int64 * state_block.MOST_WORDS)())


@dataclass(eq=False)
class CudaKernel:
    """A kernel of a loaded module, and what its last launch prepared.

    ``words`` are the slots at which its parameters begin, for kernels of other compilers; ours
    (None) take one slot a leaf, and after them the two numbers of threads. These are the kernel's
    own: several kernels (one for each form of runs, or mode) may be launched with the same slots.
    """

    symbol: str
    function: Any
    module: CudaModule
    max_threads: int
    prints: bool
    words: tuple[int, ...] | None = None
    slots: Slots | None = None
    parameters: Any = None
    parameters_address: int = 0
    threads: tuple[int, int] = (0, 0)
    block: tuple[int, int] = (0, 0)
    grid: tuple[int, int] = (0, 0)
    thread_words: Any = field(default_factory=lambda: (ctypes.c_int64 * 2)())
    call: LaunchBlock = field(default_factory=LaunchBlock)

    def prepare_slots(self, slots: Slots, count: int) -> None:
        """Point the driver's parameter list at ``slots``, for this launch and the next ones."""
        base = ctypes.addressof(slots)
        words = range(count) if self.words is None else self.words
        pointers = [base + 8 * number for number in words]
        if self.words is None:
            threads = ctypes.addressof(self.thread_words)
            pointers += [threads, threads + 8]
        self.parameters = (ctypes.c_uint64 * len(pointers))(*pointers)
        self.parameters_address = ctypes.addressof(self.parameters)
        self.call.words[cuda_launch.PARAMETERS] = self.parameters_address
        self.slots = slots

    def prepare_shape(self, threads: tuple[int, int], block: tuple[int, int]) -> None:
        """Compute the grid; raises ArgumentError for one that the device cannot launch."""
        (nx, ny), (bx, by) = threads, block
        if not 0 < bx * by <= self.max_threads or bx < 1:
            raise ArgumentError(
                f"{self.symbol} cannot run in blocks of {bx} x {by} threads on this device: at "
                f"most {self.max_threads} fit, given the registers that it needs",
                f"launch with a smaller block: kernel[threads, {min(256, self.max_threads)}](...)",
            )
        grid = -(-nx // bx), -(-ny // by)
        if nx > _LARGEST_ROW or grid[1] > _LARGEST_GRID_Y:
            raise ArgumentError(
                f"a launch of {nx:,} x {ny:,} threads is more than the device takes: at most "
                f"{_LARGEST_ROW:,} in x and {_LARGEST_GRID_Y * by:,} in y with this block",
                "launch several times, or let each thread loop over several items",
            )
        self.grid, self.threads, self.block = grid, threads, block
        self.thread_words[:] = threads
        words = self.call.words
        words[cuda_launch.GRID_X], words[cuda_launch.GRID_Y] = grid
        words[cuda_launch.BLOCK_X], words[cuda_launch.BLOCK_Y] = block


class CudaBackend:
    """Kernels on an NVIDIA GPU; launches return at once and run in order."""

    name = "cuda"
    prefers_few_launches = True

    def __init__(self, context: CudaContext | None = None) -> None:
        self.context: CudaContext = context or cuda_context()
        self._target = NvptxTarget(architecture_for(self.context.capability))
        self._launch = native_launch()
        self._prints = False
        self._blocks_for_all = _BLOCKS_EACH * self.context.multiprocessors
        self._scattered = ScatteredMemory(self)
        self._transfer = BulkTransfer(
            self, lambda: PinnedStaging(self.context, PIECES, PIECE_BYTES)
        )
        self.scattered_capacity: int | None = None
        #: Set while a launch is timed.
        self.stopwatch_running: EventStopwatch | None = None

    @property
    def target(self) -> Target:
        return self._target

    @cached_property
    def _driver_function(self) -> int:
        return driver_function(self.context)

    @cached_property
    def provider(self) -> Provider:
        return ManagedProvider(self.context)

    @property
    def transfer(self) -> Transfer:
        return self._transfer

    def load(
        self,
        symbol: str,
        stages: Stages,
        uses_barrier: bool,
        recursive: bool,
        debug: bool = False,
    ) -> CudaKernel:
        ptx = stages["ptx"]
        assert isinstance(ptx, str)
        # Around calls registers go to memory anyway; elsewhere only if the bound is too tight.
        if not _CALL.search(ptx):
            bounded = self.load_module(ptx, recursive, most_registers=_MOST_REGISTERS)
            kernel = self.kernel(bounded, symbol)
            if self._function_attribute(kernel.function, "LOCAL_SIZE_BYTES") == 0:
                return kernel
        return self.kernel(self.load_module(ptx, recursive), symbol)

    def load_module(
        self,
        ptx: str,
        recursive: bool,
        compiler: str = "this LLVM",
        most_registers: int | None = None,
    ) -> CudaModule:
        """A module with a state block, of any number of kernels. ``recursive``: its functions may
        call themselves; ``compiler`` is what wrote it, for messages; ``most_registers``: of a
        thread, where that is not left to the driver.

        Raises BackendError if the driver is too old, InternalError if it refuses the text.
        """
        context = self.context
        context.enter()
        if recursive or _INDIRECT_CALL in ptx:
            context.raise_stack(RECURSIVE_STACK if recursive else INDIRECT_STACK)
        handle = self._link(ptx, compiler, most_registers)
        state_address, _ = context.call("cuModuleGetGlobal", handle, state_block.SYMBOL.encode())
        module = CudaModule(handle, state_address, _PRINT in ptx)
        weakref.finalize(module, _unload, context, handle).atexit = False
        return module

    def kernel(
        self,
        module: CudaModule,
        symbol: str,
        words: tuple[int, ...] | None = None,
        name: str = "",
    ) -> CudaKernel:
        """A kernel of a loaded module; ``words`` as in ``CudaKernel``, ``name`` for messages."""
        self.context.enter()
        function = self.context.call("cuModuleGetFunction", module.handle, symbol.encode())
        max_threads = self._function_attribute(function, "MAX_THREADS_PER_BLOCK")
        kernel = CudaKernel(name or symbol, function, module, max_threads, module.prints, words)
        kernel.call.words[cuda_launch.DRIVER] = self._driver_function
        kernel.call.words[cuda_launch.FUNCTION] = int(function)
        kernel.call.words[cuda_launch.STREAM] = int(self.context.stream)
        return kernel

    def read_global(self, module: CudaModule, symbol: str) -> bytes:
        """The bytes of a variable of a loaded module, after everything launched before."""
        context = self.context
        context.enter()
        address, size = context.call("cuModuleGetGlobal", module.handle, symbol.encode())
        found = ctypes.create_string_buffer(size)
        context.call("cuMemcpyDtoHAsync", ctypes.addressof(found), address, size, context.stream)
        context.synchronize()
        return found.raw

    def _link(self, ptx: str, compiler: str, most_registers: int | None) -> Any:
        context, driver = self.context, self.context.driver
        image = ctypes.create_string_buffer(ptx.encode())
        log = bytearray(_LOG_BYTES)
        options = {
            driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER: log,
            driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        }
        if most_registers is not None:
            options[driver.CUjit_option.CU_JIT_MAX_REGISTERS] = most_registers
        error, module = driver.cuModuleLoadDataEx(
            ctypes.addressof(image), len(options), list(options), list(options.values())
        )
        if not error:
            return module
        words = log.split(b"\0")[0].decode(errors="replace").strip()
        if error.name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
            raise BackendError(
                f"the NVIDIA driver (CUDA {context.driver_version}) is too old for the PTX that "
                f"{compiler} writes: {words}",
                "install a newer NVIDIA driver",
            )
        if error.name in ("CUDA_ERROR_INVALID_PTX", "CUDA_ERROR_NO_BINARY_FOR_GPU"):
            raise InternalError(f"the NVIDIA driver refuses the PTX of a kernel: {words}")
        raise_driver_error(driver, error, f"loading a kernel {words}".strip())

    def attributes(self, handle: CudaKernel) -> dict[str, int]:
        names = {
            "registers": "NUM_REGS",
            "stack": "LOCAL_SIZE_BYTES",
            "max_threads": "MAX_THREADS_PER_BLOCK",
            "binary_version": "BINARY_VERSION",
        }
        self.context.enter()
        return {ours: self._function_attribute(handle.function, n) for ours, n in names.items()}

    def _function_attribute(self, function: Any, name: str) -> int:
        kinds = self.context.driver.CUfunction_attribute
        key = getattr(kinds, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(self.context.call("cuFuncGetAttribute", key, function))

    def set_state(self, handle: CudaKernel, state: Sequence[int]) -> None:
        self.set_module_state(handle.module, state)

    def set_module_state(self, module: CudaModule, state: Sequence[int]) -> None:
        """``set_state`` for all kernels of a module."""
        words = tuple(state)
        if words != module.last_state:
            context = self.context
            context.enter()
            module.state[: len(words)] = words
            source, size = ctypes.addressof(module.state), 8 * len(words)
            context.call("cuMemcpyHtoDAsync", module.state_address, source, size, context.stream)
            module.last_state = words

    def launch(
        self,
        handle: CudaKernel,
        threads: tuple[int, int],
        block: tuple[int, int],
        slots: Slots,
        count: int,
    ) -> None:
        context = self.context
        if not context.entered.here:
            context.enter()
        # The same launch again has the same tuples.
        if handle.threads is not threads or handle.block is not block:
            if 0 in threads:
                return
            handle.prepare_shape(threads, block)
        if handle.slots is not slots:
            handle.prepare_slots(slots, count)
        if handle.prints:
            self._before_printing()
        watch = self.stopwatch_running
        if watch is not None:
            watch.before_kernel()
        error = self._launch(handle.call.pointer)
        if watch is not None:
            watch.after_kernel()
        context.launched[handle.symbol] = None
        if error:
            driver = context.driver
            raise_driver_error(driver, driver.CUresult(error), f"launching {handle.symbol}")

    def record(self, launches: Sequence[KernelLaunch]) -> CudaGraph:
        return capture_graph(self.context, launches)

    def replay(self, recorded: CudaGraph, times: int) -> None:
        context = self.context
        context.enter()
        if recorded.prints:
            self._before_printing()
        watch, start = self.stopwatch_running, context.driver.cuGraphLaunch
        for _ in range(times):
            if watch is not None:
                watch.before_kernel()
            error = start(recorded.executable, context.stream)[0]
            if watch is not None:
                watch.after_kernel()
            context.launched.update(recorded.symbols)
            if error:
                raise_driver_error(
                    context.driver, error, f"launching {', '.join(recorded.symbols)}"
                )

    def _before_printing(self) -> None:
        sys.stdout.flush()
        self._prints = True

    def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
        return threads[0] * threads[1] > block[0] * block[1] * self._blocks_for_all

    def usual_block(self, threads: tuple[int, int], block: tuple[int, int]) -> tuple[int, int]:
        """A small launch in small blocks, so that every multiprocessor has some of it."""
        bx, by = block
        if self.keeps_busy(threads, block):
            return block
        return (_SMALL_BLOCK, 1) if by == 1 else (bx, max(1, _SMALL_BLOCK // bx))

    def synchronize(self) -> None:
        self.context.synchronize()
        if self._prints:
            # The driver prints to C's stdout, whose buffer Python does not know of.
            ctypes.CDLL(None).fflush(None)
            self._prints = False

    def allocate_scattered(self, count: int, size: int, header: bytes) -> Addresses:
        self.context.open_malloc_heap(self.scattered_capacity)
        return self._scattered.allocate(count, size, header)

    def free_scattered(self, addresses: Addresses) -> None:
        self._scattered.free(addresses)

    def gather(self, addresses: Addresses, offset: int, itemsize: int) -> Bytes:
        return self._scattered.gather(addresses, offset, itemsize)

    def scatter(self, addresses: Addresses, offset: int, data: Bytes) -> None:
        self._scattered.scatter(addresses, offset, data)

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        prefetch(self.context, address, size, to_device)

    def free_memory(self) -> int:
        return self.provider.free_memory()

    def stopwatch(self) -> EventStopwatch:
        return EventStopwatch(self)

    def time_launches(self, launch: Callable[[], None], repeat: int) -> list[float]:
        return time_by_events(self, launch, repeat)

    def close(self) -> None:
        self.synchronize()
        self._scattered.close()
        self._transfer.close()


def _unload(context: CudaContext, module: Any) -> None:
    """Give back a module whose kernel nobody can launch again; its launches end first."""
    context.enter()
    context.driver.cuStreamSynchronize(context.stream)
    context.driver.cuModuleUnload(module)
