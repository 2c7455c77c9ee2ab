"""The one CUDA device, context and stream that all heaps of the process share."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import BackendError, DeviceError, HeapError
from ..once import once
from .cuda_driver import driver_error, error_text, forked, is_sticky, load_driver, was_forked
from .cuda_wait import Wait

if TYPE_CHECKING:
    from .timing import EventStopwatch

#: Stack a thread: kernels whose calls cannot be followed at compile time, and recursive ones.
INDIRECT_STACK = 4 << 10
RECURSIVE_STACK = 16 << 10
_MALLOC_HEAP = 4 << 30
_STACK_SHARE = 8
"""At most this part of the free memory goes to stacks: a device reserves one for every thread."""


@once
def cuda_context() -> CudaContext:
    """Opened at first use; raises BackendError where CUDA does not work."""
    return CudaContext()


class _Entered(threading.local):
    """What each thread has for itself. The system gives identities of threads out again, so a new
    thread may have that of one in which the context was current."""

    here = False
    """Whether the context was made current in the calling thread."""


class CudaContext:
    """Device 0's primary context, made current, and our stream in it.

    CUDA_VISIBLE_DEVICES chooses the card. Launches, copies and prefetches of all heaps go through
    the one ``stream``, so they happen in the order of the program.
    """

    def __init__(self, driver: Any = None) -> None:
        """``driver`` takes the place of NVIDIA's; it answers like ``cuda.bindings.driver``."""
        self.driver = driver = driver or load_driver()
        #: What ended the use of the device by this process, for good; "" as long as it works.
        self._loss = ""
        #: Kernels launched since the last synchronisation, in order.
        self.launched: dict[str, None] = {}
        self.device = self.call("cuDeviceGet", 0)
        if not self.attribute("MANAGED_MEMORY"):
            raise BackendError(
                f"{self.device_name} has no managed memory, which objects shared by CPU and GPU "
                "live in",
                "use a card and driver with unified memory, or SHAREDOA_BACKEND=cpu",
            )
        if not self.attribute("CONCURRENT_MANAGED_ACCESS"):
            raise BackendError(
                f"{self.device_name} has managed memory that the CPU cannot use while a kernel "
                "runs, nor can it be moved ahead of its use (CONCURRENT_MANAGED_ACCESS is 0); so "
                "it is under Windows, in WSL and on some virtual GPUs",
                "use Linux on the machine itself, a virtual GPU with unified memory enabled, or "
                "SHAREDOA_BACKEND=cpu",
            )
        self.context = self.call("cuDevicePrimaryCtxRetain", self.device)
        self.entered = _Entered()
        self.enter()
        self.stream = self.call("cuStreamCreate", driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
        #: Set while launches are timed.
        self.stopwatch_running: EventStopwatch | None = None
        self._printing = False
        #: Sizes of the pieces of managed memory. Finalizers take theirs out in the middle of
        #: anything, also where the lock is held: one call that nothing comes between.
        self._managed: list[int] = []
        self._reserving = threading.RLock()
        self.managed_limit = self.memory()[0]
        self._stack = self.limit("STACK_SIZE")
        self._malloc_heap_set = False

    def call(self, name: str, *arguments: Any) -> Any:
        """Call the driver function ``name``; its result, or an exception that says what failed."""
        return self.checked(getattr(self.driver, name)(*arguments), name)

    def checked(self, answer: tuple[Any, ...], doing: str) -> Any:
        """The result in a driver call's answer; raises what ``fail`` says on failure."""
        error, *results = answer
        if error:
            self.fail(error, doing)
        return results[0] if len(results) == 1 else tuple(results)

    def fail(self, error: Any, doing: str) -> NoReturn:
        """Raise DeviceError for a kernel's fault, with which the device is lost, or because it was
        lost before; else what ``driver_error`` says."""
        self.require_device()
        if not is_sticky(error):
            raise driver_error(self.driver, error, doing)
        who = ", ".join(self.launched) or "a kernel of another library"
        reason = error_text(self.driver, error)
        if error.name == "CUDA_ERROR_ILLEGAL_ADDRESS":
            reason += ": most often a null reference is used, or an index is out of bounds"
        self._loss = f"in {who}: {reason}"
        raise DeviceError(
            f"in {who}: the device stopped: {reason}. The CUDA context of this process is lost, "
            f"and with it what launches under way were working on; {self.managed_bytes:,} bytes "
            "are held by objects and arrays on the GPU. NVIDIA's driver gives it no other",
            "start the program (or the notebook's kernel) again with SHAREDOA_DEBUG=1: it names "
            "the source line and object. Here heaps of backend='cpu' go on working, and heaps that "
            "no launch was under way on can be read and dumped",
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
                f"the GPU was lost to this process {self._loss}",
                "start the program (or the notebook's kernel) again, with SHAREDOA_DEBUG=1 to see "
                "the source line; heaps of backend='cpu' work here",
            )

    def enter(self) -> None:
        """Make the context current in the calling thread. Raises what ``require_device`` does."""
        if self._loss or was_forked():
            self.require_device()
        if not self.entered.here:
            self.make_current()

    def make_current(self) -> None:
        """``enter`` where something else may have made another context current since."""
        self.call("cuCtxSetCurrent", self.context)
        self.entered.here = True

    def attribute(self, name: str) -> int:
        """A CUdevice_attribute of the device."""
        key = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", key, self.device))

    @property
    def device_name(self) -> str:
        name: bytes = self.call("cuDeviceGetName", 256, self.device)
        return name.split(b"\0")[0].decode()

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, (major, minor)."""
        major, minor = (f"COMPUTE_CAPABILITY_{part}" for part in ("MAJOR", "MINOR"))
        return self.attribute(major), self.attribute(minor)

    @property
    def multiprocessors(self) -> int:
        return self.attribute("MULTIPROCESSOR_COUNT")

    @property
    def driver_version(self) -> str:
        """The newest CUDA that the driver supports, such as 13.0."""
        number = self.call("cuDriverGetVersion")
        return f"{number // 1000}.{number % 1000 // 10}"

    def memory(self) -> tuple[int, int]:
        """Bytes of the card: free, total."""
        self.enter()
        free, total = self.call("cuMemGetInfo")
        return int(free), int(total)

    def limit(self, name: str) -> int:
        """A CUlimit of the context."""
        return int(self.call("cuCtxGetLimit", getattr(self.driver.CUlimit, f"CU_LIMIT_{name}")))

    def _set_limit(self, name: str, value: int) -> None:
        self.call("cuCtxSetLimit", getattr(self.driver.CUlimit, f"CU_LIMIT_{name}"), value)

    def raise_stack(self, wanted: int) -> None:
        """Give every thread a stack of at least ``wanted`` bytes, as far as memory allows."""
        if wanted <= self._stack:
            return
        threads = self.attribute("MULTIPROCESSOR_COUNT") * self.attribute(
            "MAX_THREADS_PER_MULTIPROCESSOR"
        )
        affordable = self.memory()[0] // (_STACK_SHARE * threads)
        size = min(wanted, affordable) // 16 * 16
        if size > self._stack:
            self._set_limit("STACK_SIZE", size)
            self.managed_limit -= (size - self._stack) * threads
            self._stack = size

    def open_malloc_heap(self, capacity: int | None) -> None:
        """Size the heap of the device's own malloc, once: ``capacity`` bytes, or at least 4 GiB;
        never more than half of the free memory."""
        if self._malloc_heap_set:
            return
        self._malloc_heap_set = True
        size = min(capacity or _MALLOC_HEAP, self.memory()[0] // 2)
        if size > self.limit("MALLOC_HEAP_SIZE"):
            self._set_limit("MALLOC_HEAP_SIZE", size)
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
            fits = size <= self.free_managed()
            if fits:
                self._managed.append(size)
        return fits

    def release_managed(self, size: int) -> None:
        """Count ``size`` bytes no more that ``reserve_managed`` counted."""
        self._managed.remove(size)

    @property
    def managed_bytes(self) -> int:
        """Bytes of managed memory that this process holds."""
        return sum(self._managed)

    def free_managed(self) -> int:
        """Bytes of managed memory that the card can still hold."""
        return max(0, min(self.managed_limit - self.managed_bytes, self.memory()[0]))

    def before_printing(self) -> None:
        """A kernel that prints is about to be launched."""
        if sys.stdout is not None:
            sys.stdout.flush()
        self._printing = True

    @cached_property
    def wait(self) -> Wait:
        """Waits for the stream, and answers as the driver does."""
        return Wait(self, "cuStreamQuery", self.stream)

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
            self.fail(self.driver.CUresult(error), "waiting for kernels")
        if self._printing:
            # To have asked is not enough for what kernels print. The driver prints to C's stdout,
            # whose buffer Python does not know of.
            self.driver.cuStreamSynchronize(self.stream)
            ctypes.CDLL(None).fflush(None)
            self._printing = False
