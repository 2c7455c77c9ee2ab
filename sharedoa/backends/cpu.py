"""The CPU backend: native code on all cores, memory of this process."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dispatch import state as state_block
from dispatch.dataclass import dataclass
from dispatch.errors import RECORD_DTYPE

from ..targets.base import Stages, Target
from ..targets.host import BARRIER_SYMBOL, PRINT_SYMBOL
from .base import Addresses, Bytes, KernelLaunch, Recordable, Slots, Timing, nothing
from .interruption import KernelFault, end_launch, watch_main_thread
from .kernel_faults import report_fault
from .kernel_print import print_address, raise_print_failure
from .launch_guard import described, launch_guard
from .move_kernels import MoveKernels
from .native_code import NativeLibrary, ffi, host_target, text_bytes
from .scattered import ScatteredMemory
from .slot_kernels import SlotKernels
from .staging import HostStaging
from .thread_pool import parallel, run_alone
from .thread_team import barrier_address, run_team
from .timing import ClockStopwatch, time_by_clock, timed_by_clock

if TYPE_CHECKING:
    from ..heap.device_copies import DeviceCopies
    from ..heap.object_moves import ObjectMoves
    from ..heap.provider import Provider
    from ..heap.slot_lists import ReportStaging, SlotLists
    from ..heap.transfer import Transfer

_ENTRY_TYPE = ffi.typeof("void(*)(int64_t, int64_t, int64_t, int64_t, void *)")
_NO_THREAD = -1
assert RECORD_DTYPE.fields is not None
_LAUNCH = RECORD_DTYPE.fields["launch"][1]


@dataclass(eq=False)
class LoadedKernel:
    """A kernel's entry and how its threads are to be run. ``code`` is the entry with where the
    kernel's code lies (``guard_code.Code``)."""

    symbol: str
    library: NativeLibrary
    entry: Any
    code: Any
    state: Any
    uses_barrier: bool
    prints: bool
    debug: bool


class CpuBackend:
    """Kernels on the cores of this machine; a launch has ended when ``launch`` returns."""

    name = label = "cpu"
    prefers_few_launches = False
    is_lost = False
    transfer: Transfer | None = None
    copies: DeviceCopies | None = None

    def __init__(self) -> None:
        self._scattered = ScatteredMemory(self)

    @property
    def target(self) -> Target:
        return host_target()

    @cached_property
    def provider(self) -> Provider:
        from ..heap.provider import HostProvider

        return HostProvider()

    @cached_property
    def slot_lists(self) -> SlotLists:
        return SlotKernels(self, self.read, self._staging)

    @cached_property
    def object_moves(self) -> ObjectMoves:
        return MoveKernels(self)

    def _staging(self, pieces: int, piece_bytes: int) -> ReportStaging:
        return HostStaging(self.synchronize, pieces, piece_bytes)

    def read(self, address: int, size: int) -> bytes:
        self.synchronize()
        return ctypes.string_at(address, size)

    def write(self, address: int, data: bytes) -> None:
        self.synchronize()
        ctypes.memmove(address, data, len(data))

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
        entry, address = library.function(symbol, _ENTRY_TYPE), library.address(symbol)
        size = text_bytes(object_code)
        code = ffi.new("Code *", (ffi.cast("void *", entry), address - size, address + size))
        prints = PRINT_SYMBOL.encode() in object_code
        launch_guard().install()
        watch_main_thread()
        return LoadedKernel(symbol, library, entry, code, words, uses_barrier, prints, debug)

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
        kernel, (nx, ny) = launch.handle, launch.threads
        if kernel.uses_barrier or kernel.debug or kernel.prints or launch.in_order:
            return lambda: _run(launch)
        return parallel(_described(launch), nx * ny, partial(_look_after, launch))

    def timed(self, start: Callable[[], None]) -> Timing:
        return timed_by_clock(start)

    def record(self, launches: Sequence[Recordable]) -> list[Callable[[], None]]:
        kernels = [each for each in launches if isinstance(each, KernelLaunch)]
        assert len(kernels) == len(launches), "copies are recorded for devices alone"
        return [self.prepare(each) for each in kernels]

    def replay(self, recorded: list[Callable[[], None]], times: int) -> None:
        for _ in range(times):
            for start in recorded:
                start()

    @property
    def blocks_at_once(self) -> int:
        return 1

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


def _described(launch: KernelLaunch) -> bytes:
    return described(launch.handle.code, *launch.threads, _pointer(launch.slots))


def _pointer(slots: Slots) -> Any:
    return ffi.cast("void *", ctypes.addressof(slots))


def _run(launch: KernelLaunch) -> None:
    kernel, threads, total = launch.handle, launch.threads, math.prod(launch.threads)
    if kernel.debug:
        _begin_debug_launch(kernel, launch.block)
    try:
        if kernel.uses_barrier:
            slots = _pointer(launch.slots)
            run_team(kernel.code, threads, launch.block, slots, one_by_one=kernel.debug)
        elif kernel.debug or launch.in_order:
            run_alone(_described(launch), 0, total)
        else:
            parallel(_described(launch), total, _go_on)()
    except BaseException as problem:
        _look_after(launch, problem)
    finally:
        if kernel.prints:
            raise_print_failure()


def _look_after(launch: KernelLaunch, problem: BaseException) -> None:
    """Where ``problem`` ended a launch: tell of its fault, raise what is none."""
    kernel = launch.handle
    if isinstance(problem, KernelFault):
        report_fault(problem.fault, kernel, launch.threads)
        return
    # A handler of signals may have raised it before anybody looked how the launch ended.
    fault = end_launch()
    if fault is not None:
        report_fault(fault, kernel, launch.threads)
    if isinstance(problem, KeyboardInterrupt):
        problem.add_note(
            f"{kernel.symbol} was interrupted: some of its threads have not run, or not to their "
            "end; objects and arrays hold what the others have stored, and can be used"
        )
    raise problem


def _go_on(problem: BaseException) -> None:
    """Leave it to the caller."""
    raise problem


def _begin_debug_launch(kernel: LoadedKernel, block: tuple[int, int]) -> None:
    kernel.state[state_block.BLOCK_X], kernel.state[state_block.BLOCK_Y] = block
    record = kernel.state[state_block.ERRORS]
    if record:
        ctypes.c_int64.from_address(record + _LAUNCH).value += 1
