"""What the backends of GPUs share: launches in one stream, objects in managed memory.

How machine code is loaded is ``cuda``'s and ``hip``'s.
"""

from __future__ import annotations

import ctypes
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dispatch import state as state_block
from dispatch.dataclass import dataclass, field

from ..targets.base import Stages, Target
from .base import Addresses, Bytes, KernelLaunch, Recordable, Timing, nothing
from .bulk_transfer import PIECE_BYTES, PIECES, BulkTransfer
from .gpu_device import GpuDevice
from .gpu_graph import GpuGraph, capture_graph
from .gpu_launch import PreparedLaunch, native_launch
from .managed_memory import ManagedProvider
from .move_kernels import MoveKernels
from .pinned_memory import PinnedStaging, StagingProvider
from .scattered import ScatteredMemory
from .slot_kernels import SlotKernels
from .timing import EventStopwatch, LaunchTimer, load_occupying_kernel, time_by_events

if TYPE_CHECKING:
    from ..heap.device_copies import DeviceCopies
    from ..heap.object_moves import ObjectMoves
    from ..heap.provider import Provider
    from ..heap.slot_lists import SlotLists
    from ..heap.transfer import Transfer

#: Threads of a block of a launch that is too small for so many usual blocks a multiprocessor.
_SMALL_BLOCK, _BLOCKS_EACH = 64, 2
#: What launching gives in a thread where the device is not current: both drivers' "invalid context"
#: and "invalid handle".
_NOT_CURRENT = (201, 400)


@dataclass(eq=False)
class GpuModule:
    """A loaded module, and what its state block holds. It goes with its last kernel."""

    handle: Any
    state_address: Any
    prints: bool
    last_state: tuple[int, ...] = ()
    state: Any = field(default_factory=lambda: (ctypes.c_int64 * state_block.MOST_WORDS)())


@dataclass(eq=False)
class GpuKernel:
    """A kernel of a loaded module.

    ``words`` are the slots at which its parameters begin, for kernels of other compilers; ours
    (None) take one slot a leaf, and after them the two numbers of threads.
    """

    symbol: str
    function: Any
    module: GpuModule
    max_threads: int
    prints: bool
    words: tuple[int, ...] | None = None


class GpuBackend(ABC):
    """Kernels on a GPU; launches return at once and run in order."""

    prefers_few_launches = True

    def __init__(self, device: GpuDevice, target: Target) -> None:
        device.require_device()
        self.device, self._target = device, target
        self.name, self.label = device.kind, device.label
        self._launch = native_launch()
        self._blocks_for_all = _BLOCKS_EACH * device.description.multiprocessors
        self._scattered = ScatteredMemory(self, StagingProvider(device, self.provider))
        self._transfer = BulkTransfer(
            self,
            lambda: PinnedStaging(device, PIECES, PIECE_BYTES),
            lambda: not self.is_lost,
        )

    @property
    def is_lost(self) -> bool:
        return self.device.is_lost

    @property
    def target(self) -> Target:
        return self._target

    @cached_property
    def _start_graph(self) -> Callable[..., Any]:
        return self.device.function("GraphLaunch")

    @cached_property
    def provider(self) -> Provider:
        return ManagedProvider(self.device)

    @property
    def transfer(self) -> Transfer:
        return self._transfer

    @property
    def copies(self) -> DeviceCopies:
        return self.device.own_memory

    @cached_property
    def slot_lists(self) -> SlotLists:
        return SlotKernels(self, self.read, partial(PinnedStaging, self.device))

    @cached_property
    def object_moves(self) -> ObjectMoves:
        return MoveKernels(self)

    @abstractmethod
    def load(
        self,
        symbol: str,
        stages: Stages,
        uses_barrier: bool,
        recursive: bool,
        debug: bool = False,
    ) -> GpuKernel: ...

    def module(self, handle: Any, prints: bool) -> GpuModule:
        """What the driver has loaded, with its state block."""
        device = self.device
        state_address, _ = device.call("ModuleGetGlobal", handle, state_block.SYMBOL.encode())
        module = GpuModule(handle, state_address, prints)
        weakref.finalize(module, _unload, device, handle).atexit = False
        return module

    def kernel(
        self,
        module: GpuModule,
        symbol: str,
        words: tuple[int, ...] | None = None,
        name: str = "",
    ) -> GpuKernel:
        """A kernel of a loaded module; ``words`` as in ``GpuKernel``, ``name`` for messages."""
        function = self.device.call("ModuleGetFunction", module.handle, symbol.encode())
        max_threads = self.device.function_attribute(function, "MAX_THREADS_PER_BLOCK")
        return GpuKernel(name or symbol, function, module, max_threads, module.prints, words)

    def read_global(self, module: GpuModule, symbol: str) -> bytes:
        """The bytes of a variable of a loaded module, after everything launched before."""
        address, size = self.device.call("ModuleGetGlobal", module.handle, symbol.encode())
        return self.read(address, size)

    def read(self, address: int, size: int) -> bytes:
        device = self.device
        found = ctypes.create_string_buffer(size)
        device.call("MemcpyDtoHAsync", ctypes.addressof(found), address, size, device.stream)
        device.synchronize()
        return found.raw

    def write(self, address: int, data: bytes) -> None:
        device, given = self.device, ctypes.create_string_buffer(data, len(data))
        device.call("MemcpyHtoDAsync", address, ctypes.addressof(given), len(data), device.stream)
        device.synchronize()

    def attributes(self, handle: GpuKernel) -> dict[str, int]:
        names = {
            "registers": "NUM_REGS",
            "stack": "LOCAL_SIZE_BYTES",
            "max_threads": "MAX_THREADS_PER_BLOCK",
            "binary_version": "BINARY_VERSION",
        }
        function, ask = handle.function, self.device.function_attribute
        return {ours: ask(function, theirs) for ours, theirs in names.items()}

    def set_state(self, handle: GpuKernel, state: Sequence[int]) -> None:
        self.set_module_state(handle.module, state)

    def set_module_state(self, module: GpuModule, state: Sequence[int]) -> None:
        """``set_state`` for all kernels of a module."""
        words = tuple(state)
        if words != module.last_state:
            device = self.device
            module.state[: len(words)] = words
            source, size = ctypes.addressof(module.state), 8 * len(words)
            device.call("MemcpyHtoDAsync", module.state_address, source, size, device.stream)
            module.last_state = words

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        if 0 in launch.threads:
            return nothing
        device, native, kernel = self.device, self._launch, launch.handle
        symbol, prints, is_timed = kernel.symbol, kernel.prints, launch.is_timed
        prepared = PreparedLaunch(launch)
        address = prepared.words(device.launch_function, device.stream)

        def start() -> None:
            if prints:
                device.before_printing()
            if prepared.stream is not device.stream:
                prepared.go_through(device.stream)
            watch = device.stopwatch_running if is_timed else None
            if watch is not None:
                watch.before_kernel()
            error = native(address)
            if error and (error in _NOT_CURRENT or device.has_others):
                # Asking before takes as long as all else that a launch does before the driver. The
                # error may be that of another device, which is lost and current.
                device.make_current()
                error = native(address)
            if watch is not None:
                watch.after_kernel()
            device.launched[symbol] = None
            if error:
                device.fail(error, f"launching {symbol}")

        return start

    @cached_property
    def _timer(self) -> LaunchTimer:
        return LaunchTimer(self)

    def timed(self, start: Callable[[], None]) -> Timing:
        return self._timer.time(start)

    def record(self, launches: Sequence[Recordable]) -> GpuGraph:
        return capture_graph(self.device, launches)

    def replay(self, recorded: GpuGraph, times: int) -> None:
        device = self.device
        device.enter()
        if recorded.prints:
            device.before_printing()
        watch, start = device.stopwatch_running, self._start_graph
        for _ in range(times):
            if watch is not None:
                watch.before_kernel()
            error = start(recorded.executable, device.stream)[0]
            if watch is not None:
                watch.after_kernel()
            device.launched.update(recorded.symbols)
            if error:
                device.fail(error, f"launching {', '.join(recorded.symbols)}")

    @property
    def blocks_at_once(self) -> int:
        """One on each multiprocessor: whatever else is there ends before, or leaves room. Where it
        takes long, blocks begin in the order of their numbers, so whoever is waited for runs."""
        return self.device.description.multiprocessors

    def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
        return threads[0] * threads[1] > block[0] * block[1] * self._blocks_for_all

    def usual_block(self, threads: tuple[int, int], block: tuple[int, int]) -> tuple[int, int]:
        """A small launch in small blocks, so that every multiprocessor has some of it."""
        bx, by = block
        if self.keeps_busy(threads, block):
            return block
        return (_SMALL_BLOCK, 1) if by == 1 else (bx, max(1, _SMALL_BLOCK // bx))

    def synchronize(self) -> None:
        self.device.synchronize()

    def allocate_scattered(self, count: int, size: int, header: bytes) -> Addresses:
        self.device.open_malloc_heap()
        return self._scattered.allocate(count, size, header)

    def free_scattered(self, addresses: Addresses) -> None:
        if not self.device.is_lost:
            self._scattered.free(addresses)

    def gather(self, addresses: Addresses, offset: int, itemsize: int) -> Bytes:
        return self._scattered.gather(addresses, offset, itemsize)

    def scatter(self, addresses: Addresses, offset: int, data: Bytes) -> None:
        self._scattered.scatter(addresses, offset, data)

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        if not self.is_lost:
            self.device.prefetch(address, size, to_device)

    def free_memory(self) -> int:
        return self.provider.free_memory()

    @cached_property
    def occupying_kernel(self) -> GpuKernel:
        return load_occupying_kernel(self)

    def stopwatch(self) -> EventStopwatch:
        return EventStopwatch(self)

    def time_launches(self, launch: Callable[[], None], repeat: int) -> list[float]:
        return time_by_events(self, launch, repeat)

    def close(self) -> None:
        if self.device.is_lost:
            return
        self.synchronize()
        self._scattered.close()
        self._transfer.close()


def _unload(device: GpuDevice, module: Any) -> None:
    """Give back a module whose kernel nobody can launch again; its launches end first."""
    if not device.is_lost:
        device.enter()
        device.wait()
        device.call_quietly("ModuleUnload", module)
