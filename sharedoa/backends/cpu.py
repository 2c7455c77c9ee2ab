"""The CPU backend: native code on all cores, memory of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dispatch import state as state_block

from ..targets.base import Stages, Target
from ..targets.host import BARRIER_SYMBOL, PRINT_SYMBOL
from .base import Addresses, Bytes, KernelLaunch, Slots, nothing
from .native_code import NativeLibrary, ffi, host_target, print_address
from .scattered import ScatteredMemory
from .thread_pool import run_parallel
from .thread_team import barrier_address, run_team
from .timing import ClockStopwatch, time_by_clock

if TYPE_CHECKING:
    from ..heap.provider import Provider
    from ..heap.transfer import Transfer

_ENTRY_TYPE = ffi.typeof("void(*)(int64_t, int64_t, int64_t, int64_t, void *)")
_NO_THREAD = -1


@dataclass(eq=False)
class LoadedKernel:
    """A kernel's entry and how its threads are to be run."""

    library: NativeLibrary
    entry: Any
    state: Any
    uses_barrier: bool
    debug: bool


class CpuBackend:
    """Kernels on the cores of this machine; a launch has ended when ``launch`` returns."""

    name = "cpu"
    prefers_few_launches = False
    transfer: Transfer | None = None

    def __init__(self) -> None:
        self._scattered = ScatteredMemory(self)
        self.scattered_capacity: int | None = None

    @property
    def target(self) -> Target:
        return host_target()

    @cached_property
    def provider(self) -> Provider:
        from ..heap.provider import HostProvider

        return HostProvider()

    def load(
        self,
        symbol: str,
        stages: Stages,
        uses_barrier: bool,
        recursive: bool,
        debug: bool = False,
    ) -> LoadedKernel:
        object_code = stages["o"]
        assert isinstance(object_code, bytes)
        imports = {PRINT_SYMBOL: print_address()}
        if uses_barrier:
            imports[BARRIER_SYMBOL] = barrier_address()
        library = NativeLibrary(object_code, (symbol, state_block.SYMBOL), imports)
        words = (ctypes.c_int64 * state_block.MOST_WORDS).from_address(
            library.address(state_block.SYMBOL)
        )
        entry = library.function(symbol, _ENTRY_TYPE)
        return LoadedKernel(library, entry, words, uses_barrier, debug)

    def attributes(self, handle: LoadedKernel) -> dict[str, int]:
        return {}

    def set_state(self, handle: LoadedKernel, state: Sequence[int]) -> None:
        words = list(state)
        # Threads that run side by side cannot be told apart in one block of words.
        words[state_block.THREAD_X] = words[state_block.THREAD_Y] = _NO_THREAD
        handle.state[: len(words)] = words

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        if 0 in launch.threads:
            return nothing
        pointer = _pointer(launch.slots)
        return lambda: _run(launch.handle, launch.threads, launch.block, pointer)

    def record(self, launches: Sequence[KernelLaunch]) -> list[Callable[[], None]]:
        return [self.prepare(each) for each in launches]

    def replay(self, recorded: list[Callable[[], None]], times: int) -> None:
        for _ in range(times):
            for start in recorded:
                start()

    def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
        return True

    def usual_block(self, threads: tuple[int, int], block: tuple[int, int]) -> tuple[int, int]:
        return block

    def synchronize(self) -> None:
        """Nothing is ever under way."""

    def allocate_scattered(self, count: int, size: int, header: bytes) -> Addresses:
        return self._scattered.allocate(count, size, header)

    def free_scattered(self, addresses: Addresses) -> None:
        self._scattered.free(addresses)

    def gather(self, addresses: Addresses, offset: int, itemsize: int) -> Bytes:
        return self._scattered.gather(addresses, offset, itemsize)

    def scatter(self, addresses: Addresses, offset: int, data: Bytes) -> None:
        self._scattered.scatter(addresses, offset, data)

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        """Host memory is where the CPU uses it already."""

    def free_memory(self) -> int:
        return self.provider.free_memory()

    def stopwatch(self) -> ClockStopwatch:
        return ClockStopwatch(self.synchronize)

    def time_launches(self, launch: Callable[[], None], repeat: int) -> list[float]:
        return time_by_clock(launch, repeat, self.synchronize)

    def close(self) -> None:
        self._scattered.close()


def _pointer(slots: Slots) -> Any:
    return ffi.cast("void *", ctypes.addressof(slots))


def _run(
    handle: LoadedKernel, threads: tuple[int, int], block: tuple[int, int], slots: Any
) -> None:
    nx, ny = threads
    if handle.uses_barrier:
        run_team(handle.entry, threads, block, slots)
    elif handle.debug:
        handle.entry(0, nx * ny, nx, ny, slots)
    else:
        run_parallel(handle.entry, nx, ny, slots)
