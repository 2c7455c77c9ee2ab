"""A GPU of this machine as all heaps on it share it: our stream, its memory, and its loss.

The drivers of NVIDIA and AMD have the same functions under nearly the same names. ``call`` takes
the common part of a name; what they do not have in common is ``cuda_device``'s and
``hip_device``'s.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from dispatch.dataclass import dataclass

from ..errors import BackendError, DeviceError, HeapError
from .device_memory import DeviceMemory
from .forked import forked, was_forked
from .gpu_wait import Wait

if TYPE_CHECKING:
    from .timing import EventStopwatch

#: Stack a thread: kernels whose calls cannot be followed at compile time, and recursive ones.
INDIRECT_STACK = 4 << 10
RECURSIVE_STACK = 16 << 10
_MALLOC_HEAP = 4 << 30
_STACK_SHARE = 8
"""At most this part of the free memory goes to stacks: a device reserves one for every thread."""
#: Flags of both drivers: a stream that waits for no other, memory that all devices reach, an event
#: without time.
_NON_BLOCKING, _ATTACH_GLOBAL, UNTIMED = 1, 1, 2


@dataclass(frozen=True)
class Description:
    """What is known of a device that nobody has opened. ``missing``: why it cannot be used and what
    to do, if it cannot."""

    name: str
    architecture: str
    """As targets name it."""
    multiprocessors: int
    threads: int
    """That fit at once."""
    memory: int
    missing: tuple[str, str] | None = None

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.architecture}, {self.multiprocessors} multiprocessors, "
            f"{self.memory / (1 << 30):.0f} GiB"
        )


def told(answer: tuple[Any, ...]) -> Any:
    """What a driver answers about a device that nobody has opened."""
    error, result = answer
    if error:
        raise BackendError(
            f"the driver does not say which devices there are: {error.name} ({int(error)})",
            "start the program again; if that does not help, check the driver's log with `dmesg`",
        )
    return result


class _Current(threading.local):
    """What each thread has for itself. The system gives identities of threads out again, so a new
    thread may have that of one in which a device was current."""

    device: GpuDevice | None = None
    """Which device this package made current last in the calling thread."""
    collecting: GpuDevice | None = None
    """Which one that was when the collection that runs there began."""


_current = _Current()
_losses: list[tuple[Any, str]] = []
"""Which devices this process has lost, by their drivers, and in which kernels."""


def _keep_current(phase: str, _: Any) -> None:
    """Finalizers that a collection runs may use another device, in the middle of anything."""
    before = _current.collecting
    if phase == "start":
        _current.collecting = _current.device
    elif before is not None and before is not _current.device and not before.is_lost:
        before.make_current()


class GpuDevice(ABC):
    """Device ``ordinal`` of those that the process sees, made current, and our stream on it.

    Launches, copies and prefetches of all heaps on it go through the one ``stream``, so they happen
    in the order of the program.
    """

    kind: ClassVar[str]
    vendor: ClassVar[str]
    prefix: ClassVar[str]
    """What the names of the driver's functions begin with."""
    names: ClassVar[Mapping[str, str]] = {}
    """Functions whose names go on otherwise than ``call`` calls them."""
    sticky: ClassVar[frozenset[str]]
    """Errors after which the driver refuses everything on the device."""
    illegal_address: ClassVar[str]
    out_of_memory: ClassVar[str]
    constants: ClassVar[Mapping[str, str]]
    """Where the driver has what ``constant`` gives."""
    diagnosis: ClassVar[str]
    """What to do about an error of the driver."""
    visible: ClassVar[str]
    """The variable that says which devices the process sees."""

    def __init__(self, ordinal: int, driver: Any) -> None:
        """Raises BackendError for an ordinal that there is not, or a device that cannot be used."""
        self.ordinal, self.driver = ordinal, driver
        #: What ended the use of the device by this process, for good; "" as long as it works.
        self._loss = ""
        #: Kernels launched since the last synchronisation, in order.
        self.launched: dict[str, None] = {}
        #: Sizes of the pieces of managed memory. Finalizers take theirs out in the middle of
        #: anything, also where the lock is held: one call that nothing comes between.
        self._managed: list[int] = []
        count = self.count(driver)
        if ordinal >= count:
            there = ", ".join(f"{self.kind}:{number}" for number in range(count))
            raise BackendError(
                f"there is no device {self.label}: this process sees {count} of {self.vendor}'s "
                f"GPUs, {there}",
                f"choose one of them; {self.visible} says which the process sees",
            )
        #: Whether another device may be current in a thread.
        self.has_others = count > 1
        if self.has_others and _keep_current not in gc.callbacks:
            gc.callbacks.append(_keep_current)
        self.description = self.describe(driver, ordinal)
        if self.description.missing is not None:
            raise BackendError(*self.description.missing)
        self.open()
        self.stream = self.new_stream()
        #: The thread that has a stream of others in its place (``oa.stream``).
        self.stream_taken_by: int | None = None
        #: Set while launches are timed.
        self.stopwatch_running: EventStopwatch | None = None
        self._printing = False
        self._reserving = threading.RLock()
        #: Memory that is not managed.
        self.own_memory = DeviceMemory(self)
        self.managed_limit = self.memory()[0]
        self._stack = self.limit("stack")
        self._malloc_heap_set = False

    # ------------------------------------------------------------ what drivers differ in

    @staticmethod
    @abstractmethod
    def count(driver: Any) -> int:
        """How many devices the process sees."""

    @classmethod
    @abstractmethod
    def describe(cls, driver: Any, ordinal: int) -> Description:
        """What is known of a device without opening it."""

    @abstractmethod
    def open(self) -> None:
        """Whatever ``make_current`` needs."""

    @abstractmethod
    def set_current(self) -> tuple[Any, ...]:
        """Make it current in the calling thread; the driver's answer."""

    @abstractmethod
    def entry_point(self, name: str) -> int:
        """The address of the driver's function that ``call`` calls so."""

    @abstractmethod
    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        """Move managed memory to the device or the host, in the stream's order."""

    @abstractmethod
    def words(self, error: Any) -> str:
        """What the driver says of an error."""

    # ------------------------------------------------------------ what they share

    def call(self, name: str, *arguments: Any) -> Any:
        """Call the driver's function ``name``, given without its prefix, with the device current;
        its result, or an exception that says what failed."""
        self.enter()
        return self.checked(self.call_quietly(name, *arguments), self._name(name))

    def call_quietly(self, name: str, *arguments: Any) -> Any:
        """The driver's answer, with an error that the caller does not tell. The device must be
        current."""
        return self.function(name)(*arguments)

    def function(self, name: str) -> Callable[..., Any]:
        """What ``call`` calls."""
        found: Callable[..., Any] = getattr(self.driver, self._name(name))
        return found

    def _name(self, name: str) -> str:
        return self.prefix + self.names.get(name, name)

    def constant(self, name: str) -> Any:
        """One of the driver's constants or types, by the name that it has in ``constants``."""
        return attrgetter(self.constants[name])(self.driver)

    def checked(self, answer: tuple[Any, ...], doing: str) -> Any:
        """The result in a driver call's answer; raises what ``fail`` says on failure."""
        error, *results = answer
        if error:
            self.fail(error, doing)
        return results[0] if len(results) == 1 else tuple(results)

    def error_text(self, error: Any) -> str:
        """Name, number and the driver's own words."""
        return f"{self.words(error)} ({error.name}, {int(error)})"

    def fail(self, error: Any, doing: str) -> NoReturn:
        """Raise DeviceError for a kernel's fault, with which the device is lost, or because it was
        lost before; else HeapError for lack of memory, BackendError otherwise. ``error`` may be the
        number of one."""
        self.require_device()
        error = self.constant("error")(error)
        reason = self.error_text(error)
        if error.name == self.out_of_memory:
            code, *figures = self.call_quietly("MemGetInfo")
            free = "" if code else "; {:,} of {:,} bytes of the card are free".format(*figures)
            raise HeapError(f"{doing}: {reason}{free}", "free memory on the card, or ask for less")
        if error.name not in self.sticky:
            raise BackendError(f"{doing}: {reason}", self.diagnosis)
        who = ", ".join(self.launched) or "a kernel of another library"
        if error.name == self.illegal_address:
            reason += ": most often a null reference is used, or an index is out of bounds"
        earlier = [told for driver, told in _losses if driver is self.driver]
        before = f", after {', '.join(earlier)}" if earlier else ""
        self._loss = f"in {who}: {reason}{before}"
        _losses.append((self.driver, f"{self.label} was lost in {who}"))
        raise DeviceError(
            f"in {who}: the device stopped: {reason}{before}. This process has lost {self.label}, "
            "and with it what launches under way were working on; "
            f"{self.managed_bytes:,} bytes are held by objects and arrays on it. {self.vendor}'s "
            "driver does not give it back",
            "start the program (or the notebook's kernel) again with SHAREDOA_DEBUG=1: it names "
            "the source line and object. Here heaps of backend='cpu' and of other devices go on "
            "working, and heaps that no launch was under way on can be read and dumped",
        )

    @property
    def is_lost(self) -> bool:
        """Whether the process cannot use the device any more. What is then given back stays with
        the driver, which frees it with the process."""
        return bool(self._loss) or was_forked()

    def require_device(self) -> None:
        """Raises BackendError in a forked process, DeviceError after a fault of a kernel."""
        if was_forked():
            raise forked()
        if self._loss:
            raise DeviceError(
                f"{self.label} was lost to this process {self._loss}",
                "start the program (or the notebook's kernel) again, with SHAREDOA_DEBUG=1 to see "
                "the source line; heaps of backend='cpu' and of other devices work here",
            )

    def enter(self) -> None:
        """Make the device current in the calling thread. Raises what ``require_device`` does."""
        if self._loss or was_forked():
            self.require_device()
        if self.has_others or _current.device is not self:
            self.make_current()

    def make_current(self) -> None:
        """``enter`` where something else may have made another device current since."""
        # First, for a collection in between (``_keep_current``).
        _current.device = self
        try:
            self.checked(self.set_current(), f"making {self.label} current")
        except BaseException:
            _current.device = None
            raise

    @property
    def label(self) -> str:
        """What the device is called by users."""
        return f"{self.kind}:{self.ordinal}"

    def memory(self) -> tuple[int, int]:
        """Bytes of the card: free, total."""
        free, total = self.call("MemGetInfo")
        return int(free), int(total)

    def limit(self, name: str) -> int:
        """One of the device's limits: "stack" or "malloc heap", in bytes."""
        return int(self.call("CtxGetLimit", self.constant(name)))

    def new_stream(self) -> Any:
        """A stream that waits for no other."""
        return self.call("StreamCreate", _NON_BLOCKING)

    def order(self, first: Any, then: Any) -> None:
        """What ``then`` is given from now on waits for what ``first`` has been given."""
        event = self.call("EventCreate", UNTIMED)
        self.call("EventRecord", event, first)
        self.call("StreamWaitEvent", then, event, 0)
        self.call("EventDestroy", event)  # the driver keeps it until it has happened

    def use_stream(self, stream: Any) -> None:
        """Let everything go through ``stream`` from now on, after what went through the last."""
        self.order(self.stream, stream)
        self.stream = stream
        self.__dict__.pop("wait", None)

    def allocate_managed(self, size: int) -> int:
        """The address of so many bytes that the host and all devices reach."""
        return int(self.call("MemAllocManaged", size, _ATTACH_GLOBAL))

    def function_attribute(self, function: Any, name: str) -> int:
        """What the driver says of a loaded kernel."""
        keys = self.constant("function attribute")
        key = getattr(keys, f"{self.prefix.upper()}_FUNC_ATTRIBUTE_{name}")
        return int(self.call("FuncGetAttribute", key, function))

    def raise_stack(self, wanted: int) -> None:
        """Give every thread a stack of at least ``wanted`` bytes, as far as memory allows."""
        if wanted <= self._stack:
            return
        threads = self.description.threads
        affordable = self.memory()[0] // (_STACK_SHARE * threads)
        size = min(wanted, affordable) // 16 * 16
        if size > self._stack:
            self.call("CtxSetLimit", self.constant("stack"), size)
            self.managed_limit -= (size - self._stack) * threads
            self._stack = size

    def open_malloc_heap(self, capacity: int = _MALLOC_HEAP) -> None:
        """Size the heap of the device's own malloc, once: ``capacity`` bytes, but never more than
        half of the free memory."""
        if self._malloc_heap_set:
            return
        self._malloc_heap_set = True
        size = min(capacity, self.memory()[0] // 2)
        if size > self.limit("malloc heap"):
            self.call("CtxSetLimit", self.constant("malloc heap"), size)
            self.managed_limit -= size

    def reserve_managed(self, size: int) -> None:
        """Count ``size`` bytes of managed memory; HeapError if the card could not hold them all."""
        if self._try_to_reserve(size):
            return
        # Heaps that nobody uses any more may be in reference cycles.
        gc.collect()
        if not self._try_to_reserve(size):
            free = self.free_managed()
            raise HeapError(
                f"{size:,} bytes of managed memory were asked for; this process holds "
                f"{self.managed_bytes:,} and the card has room for {free:,} more",
                "make fewer objects, delete some, or free memory that other programs hold on the "
                "card: managed memory beyond the card's would be swapped page by page",
            )

    def _try_to_reserve(self, size: int) -> bool:
        with self._reserving:
            free = self.free_managed()
            if free - self.own_memory.kept_bytes < size <= free:
                self.own_memory.let_go()
                free = self.free_managed()
            fits = size <= free
            if fits:
                self._managed.append(size)
        return fits

    def release_managed(self, size: int) -> None:
        """Count ``size`` bytes no more that ``reserve_managed`` counted."""
        self._managed.remove(size)

    @property
    def managed_bytes(self) -> int:
        """Bytes of managed memory, and of others, that this process holds."""
        return sum(self._managed) - self.own_memory.kept_bytes

    def free_managed(self) -> int:
        """Bytes of managed memory that the card can still hold."""
        free = self.memory()[0] + self.own_memory.kept_bytes
        return max(0, min(self.managed_limit - self.managed_bytes, free))

    def before_printing(self) -> None:
        """A kernel that prints is about to be launched."""
        if sys.stdout is not None:
            sys.stdout.flush()
        self._printing = True

    @cached_property
    def launch_function(self) -> int:
        """The address of the driver's function that launches a kernel."""
        return self.entry_point("LaunchKernel")

    @cached_property
    def wait(self) -> Wait:
        """Waits for the stream, and answers as the driver does."""
        return Wait(self, "StreamQuery", self.stream)

    def synchronize(self) -> None:
        """Wait for the stream. Raises DeviceError that names the kernels that may have failed.

        KeyboardInterrupt ends the wait, and the kernels run on."""
        self.enter()
        wait = self.wait
        launched, self.launched = self.launched, {}
        try:
            error = wait()
        except BaseException as stop:
            self.launched = {**launched, **self.launched}
            if launched:
                who = ", ".join(launched)
                stop.add_note(f"still running on the GPU: {who}; whoever needs its results waits")
            raise
        if error:
            self.launched = {**launched, **self.launched}
            self.fail(error, "waiting for kernels")
        if self._printing:
            # To have asked is not enough for what kernels print. The driver prints to C's stdout,
            # whose buffer Python does not know of.
            self.call_quietly("StreamSynchronize", self.stream)
            ctypes.CDLL(None).fflush(None)
            self._printing = False
