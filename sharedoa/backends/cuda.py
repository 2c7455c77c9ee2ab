"""The CUDA backend: PTX loaded by the driver, launched in one stream, objects in managed memory."""

from __future__ import annotations

import ctypes
import re
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dispatch import state as state_block

from ..errors import BackendError, InternalError
from ..targets.base import Stages, Target
from ..targets.nvptx import NvptxTarget, architecture_for
from .base import Addresses, Bytes, KernelLaunch, nothing
from .bulk_transfer import PIECE_BYTES, PIECES, BulkTransfer
from .cuda_context import INDIRECT_STACK, RECURSIVE_STACK, CudaContext, cuda_context
from .cuda_driver import driver_function
from .cuda_graph import CudaGraph, capture_graph
from .cuda_launch import PreparedLaunch, native_launch
from .managed_memory import ManagedProvider, prefetch
from .move_kernels import MoveKernels
from .pinned_memory import PinnedStaging, StagingProvider
from .scattered import ScatteredMemory
from .slot_kernels import SlotKernels
from .timing import EventStopwatch, time_by_events

if TYPE_CHECKING:
    from ..heap.object_moves import ObjectMoves
    from ..heap.provider import Provider
    from ..heap.slot_lists import SlotLists
    from ..heap.transfer import Transfer

_LOG_BYTES = 16 << 10
#: Threads of a block of a launch that is too small for so many usual blocks a multiprocessor.
_SMALL_BLOCK, _BLOCKS_EACH = 64, 2
_MOST_REGISTERS = 48
"""Of a thread, at first. Left alone, ptxas takes as few as fill a multiprocessor with threads, and
loads of a loop then wait for one another; with so many five eighths of the threads fit, and loops
have more loads under way (docs/performance.md)."""
_CALL = re.compile(r"^\s*call", re.MULTILINE)
#: Words of PTX that tell how a kernel uses the device.
_INDIRECT_CALL, _PRINT = ".callprototype", "vprintf"
#: What launching gives in a thread where the context is not current: CUDA_ERROR_INVALID_CONTEXT and
#: CUDA_ERROR_INVALID_HANDLE.
_WRONG_CONTEXT = (201, 400)


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
    """A kernel of a loaded module.

    ``words`` are the slots at which its parameters begin, for kernels of other compilers; ours
    (None) take one slot a leaf, and after them the two numbers of threads.
    """

    symbol: str
    function: Any
    module: CudaModule
    max_threads: int
    prints: bool
    words: tuple[int, ...] | None = None


class CudaBackend:
    """Kernels on an NVIDIA GPU; launches return at once and run in order."""

    name = "cuda"
    prefers_few_launches = True

    def __init__(self, context: CudaContext | None = None) -> None:
        self.context: CudaContext = context or cuda_context()
        self.context.require_device()
        self._target = NvptxTarget(architecture_for(self.context.capability))
        self._launch = native_launch()
        self._blocks_for_all = _BLOCKS_EACH * self.context.multiprocessors
        self._scattered = ScatteredMemory(self, StagingProvider(self.context, self.provider))
        self._transfer = BulkTransfer(
            self,
            lambda: PinnedStaging(self.context, PIECES, PIECE_BYTES),
            lambda: not self.is_lost,
        )
        self.scattered_capacity: int | None = None

    @property
    def is_lost(self) -> bool:
        return self.context.is_lost

    @property
    def target(self) -> Target:
        return self._target

    @cached_property
    def _driver_function(self) -> int:
        return driver_function(self.context, "cuLaunchKernel")

    @cached_property
    def provider(self) -> Provider:
        return ManagedProvider(self.context)

    @property
    def transfer(self) -> Transfer:
        return self._transfer

    @cached_property
    def slot_lists(self) -> SlotLists:
        return SlotKernels(self, self._read, partial(PinnedStaging, self.context))

    @cached_property
    def object_moves(self) -> ObjectMoves:
        return MoveKernels(self)

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
        return CudaKernel(name or symbol, function, module, max_threads, module.prints, words)

    def read_global(self, module: CudaModule, symbol: str) -> bytes:
        """The bytes of a variable of a loaded module, after everything launched before."""
        self.context.enter()
        address, size = self.context.call("cuModuleGetGlobal", module.handle, symbol.encode())
        return self._read(address, size)

    def _read(self, address: int, size: int) -> bytes:
        context = self.context
        context.enter()
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
        context.fail(error, f"loading a kernel {words}".strip())

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

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        if 0 in launch.threads:
            return nothing
        context, native, kernel = self.context, self._launch, launch.handle
        symbol, prints, is_timed = kernel.symbol, kernel.prints, launch.is_timed
        prepared = PreparedLaunch(launch)
        address = prepared.words(self._driver_function, int(context.stream))

        def start(_: Any = prepared) -> None:
            if prints:
                context.before_printing()
            watch = context.stopwatch_running if is_timed else None
            if watch is not None:
                watch.before_kernel()
            error = native(address)
            if error in _WRONG_CONTEXT:
                # Asking before takes as long as all else that a launch does before the driver.
                context.make_current()
                error = native(address)
            if watch is not None:
                watch.after_kernel()
            context.launched[symbol] = None
            if error:
                context.fail(context.driver.CUresult(error), f"launching {symbol}")

        return start

    def record(self, launches: Sequence[KernelLaunch]) -> CudaGraph:
        return capture_graph(self.context, launches)

    def replay(self, recorded: CudaGraph, times: int) -> None:
        context = self.context
        context.enter()
        if recorded.prints:
            context.before_printing()
        watch, start = context.stopwatch_running, context.driver.cuGraphLaunch
        for _ in range(times):
            if watch is not None:
                watch.before_kernel()
            error = start(recorded.executable, context.stream)[0]
            if watch is not None:
                watch.after_kernel()
            context.launched.update(recorded.symbols)
            if error:
                context.fail(error, f"launching {', '.join(recorded.symbols)}")

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

    def allocate_scattered(self, count: int, size: int, header: bytes) -> Addresses:
        self.context.open_malloc_heap(self.scattered_capacity)
        return self._scattered.allocate(count, size, header)

    def free_scattered(self, addresses: Addresses) -> None:
        if not self.context.is_lost:
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
        if self.context.is_lost:
            return
        self.synchronize()
        self._scattered.close()
        self._transfer.close()


def _unload(context: CudaContext, module: Any) -> None:
    """Give back a module whose kernel nobody can launch again; its launches end first."""
    if context.is_lost:
        return
    context.enter()
    context.wait()
    context.driver.cuModuleUnload(module)
