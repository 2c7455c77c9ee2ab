"""What the heap and the runtime ask of a backend: memory, loaded code, launches.

Values travel to a kernel in *slots*: a ctypes array of 8-byte words, one a leaf, little endian,
with two free words at the end that belong to the backend.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dispatch.dataclass import dataclass

from ..targets.base import Stages, Target

if TYPE_CHECKING:
    from ..heap.device_copies import DeviceCopies
    from ..heap.object_moves import ObjectMoves
    from ..heap.provider import Provider
    from ..heap.slot_lists import SlotLists
    from ..heap.transfer import Transfer

Addresses = np.ndarray[Any, np.dtype[np.uint64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Slots = ctypes.Array[ctypes.c_uint64]


@dataclass(frozen=True)
class Availability:
    """Whether a backend works on this machine; if not, what is missing and how to get it."""

    name: str
    ok: bool
    reason: str


@dataclass(frozen=True, eq=False)
class KernelLaunch:
    """One launch of loaded code: ``threads`` = (nx, ny) threads in blocks of ``block``, with the
    arguments that ``slots`` hold, of which ``count`` are leaves. ``is_timed``: stopwatches count
    it, as it is not one of the backend's own. ``in_order``: on a processor its threads run one
    after another, so that sums of floats have the same bits whenever. ``at_once``: how many
    threads along x one of a GPU is (``ir.storing``)."""

    handle: Any
    threads: tuple[int, int]
    block: tuple[int, int]
    slots: Slots
    count: int
    is_timed: bool = True
    in_order: bool = False
    at_once: int = 1

    @property
    def key(self) -> tuple[Any, ...]:
        """Something that is equal for two that do the same, with what the slots hold now."""
        return self.handle, self.block, bytes(self.slots)[: 8 * self.count]


@dataclass(frozen=True)
class MemoryCopy:
    """So many bytes from ``source`` to ``target``, both memory that the device reaches, when what
    was recorded before it has ended (``record``)."""

    target: int
    source: int
    size: int

    @property
    def key(self) -> tuple[Any, ...]:
        """As that of a launch."""
        return self.target, self.source, self.size


Recordable = KernelLaunch | MemoryCopy


Timing = Callable[[], float | None]
"""The seconds that a launch took; None as long as it is under way, NaN if nobody knows."""


def nothing() -> None:
    """Runs a launch of no threads."""


class Stopwatch(Protocol):
    """Sums up the seconds of launches by name."""

    def time(self, name: str, launch: Callable[[], None]) -> None:
        """Call ``launch``, which launches once, and time what it launched. It may not have ended
        on return."""
        ...

    def seconds(self) -> dict[str, float]:
        """Seconds by name so far; waits for everything that is being timed."""
        ...


class Backend(Protocol):
    """Where kernels run and where their objects live."""

    name: str
    label: str
    """The name, and which device of several: cuda:0."""
    prefers_few_launches: bool
    """Whether a launch should take objects of several classes, and a thread several neighbours."""

    @property
    def is_lost(self) -> bool:
        """Whether this process can use the device no more, which somebody has been told."""
        ...

    @property
    def target(self) -> Target:
        """What to compile for."""
        ...

    @property
    def provider(self) -> Provider:
        """Memory for by-type placement, arrays and tables; zero when handed out."""
        ...

    @property
    def transfer(self) -> Transfer | None:
        """What moves columns of values to and from provider memory on the device; None where host
        and device are one."""
        ...

    @property
    def copies(self) -> DeviceCopies | None:
        """What keeps copies of provider memory on the device; None where the host does."""
        ...

    @property
    def slot_lists(self) -> SlotLists:
        """What lists free slots, and notes which of them launches have filled, on the device."""
        ...

    @property
    def object_moves(self) -> ObjectMoves:
        """What lets objects change places, where they are."""
        ...

    def load(
        self,
        symbol: str,
        stages: Stages,
        uses_barrier: bool,
        recursive: bool,
        debug: bool = False,
    ) -> Any:
        """Machine code made ready to launch. In ``debug`` the CPU runs threads in index order.

        Raises InternalError with the loader's log if it refuses the code.
        """
        ...

    def attributes(self, handle: Any) -> dict[str, int]:
        """What the device says of loaded code: registers, stack (bytes), max_threads; CPUs: {}."""
        ...

    def set_state(self, handle: Any, state: Sequence[int]) -> None:
        """Fill the module's state block (``dispatch.state``) from its start; in order with
        launches."""
        ...

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        """What runs ``launch`` whenever it is called, with the arguments that its slots hold then.

        It returns at once where the backend can; the slots may be written to after that. It keeps
        the loaded code and the slots, not the backend. Raises ArgumentError for a block or a grid
        that the device does not have.
        """
        ...

    def timed(self, start: Callable[[], None]) -> Timing:
        """Call ``start``, which is what ``prepare`` gave, and time its launch, for which nobody
        waits."""
        ...

    def record(self, launches: Sequence[Recordable]) -> Any:
        """``launches``, at least one and none of 0 threads, made ready to be started together, in
        that order. What their slots hold now is what every run of them sees. Copies are among them
        only where there are ``copies``.

        Raises ArgumentError as ``prepare`` does.
        """
        ...

    def replay(self, recorded: Any, times: int) -> None:
        """Run all launches of ``record``'s result, ``times`` times; returns at once where the
        backend can."""
        ...

    @property
    def blocks_at_once(self) -> int:
        """In a launch of at most so many blocks, each may wait for those before it: all of them run
        at the same time."""
        ...

    def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
        """Whether so many threads in such blocks are enough for the whole device."""
        ...

    def usual_block(self, threads: tuple[int, int], block: tuple[int, int]) -> tuple[int, int]:
        """The block for a launch of so many threads that asks for none; ``block`` at most."""
        ...

    def synchronize(self) -> None:
        """Wait for everything launched. Raises DeviceError if a kernel failed meanwhile."""
        ...

    def allocate_scattered(self, count: int, size: int, header: bytes) -> Addresses:
        """Addresses of ``count`` objects of ``size`` bytes, one by one from the platform's own
        allocator, zero but for ``header`` at their start.

        Raises HeapError, having kept nothing, if they do not fit.
        """
        ...

    def free_scattered(self, addresses: Addresses) -> None: ...

    def gather(self, addresses: Addresses, offset: int, itemsize: int) -> Bytes:
        """Read ``itemsize`` bytes at ``offset`` of each object: shape (objects, itemsize)."""
        ...

    def scatter(self, addresses: Addresses, offset: int, data: Bytes) -> None:
        """Write row i of ``data``, shape (objects, itemsize), at ``offset`` of object i."""
        ...

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        """Move provider memory to where it is used next, in order with launches."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Bytes of provider memory after everything launched, which stays where it is."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Write bytes of provider memory after everything launched, wherever it is."""
        ...

    def free_memory(self) -> int:
        """Bytes that the provider can still hand out."""
        ...

    def time_launches(self, launch: Callable[[], None], repeat: int) -> list[float]:
        """Seconds of each of ``repeat`` calls of ``launch``, after a few that are not counted; by
        the device's own clock where there is one. ``launch`` launches once and does not wait."""
        ...

    def stopwatch(self) -> Stopwatch:
        """A new clock for launches that differ."""
        ...

    def close(self) -> None:
        """Wait, then give back loaded code and memory of the backend itself."""
        ...
