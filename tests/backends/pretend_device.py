"""A device that is this machine's CPU: it has code and memory, and launches wait to be waited for.

What the host does too early, such as filling a buffer again that a launch has not read, goes wrong
here as it does on a GPU.
"""

from __future__ import annotations

import ctypes
import gc
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.bulk_transfer import PIECES, BulkTransfer
from sharedoa.backends.cpu import CpuBackend
from sharedoa.targets.host import HostTarget


class PretendTarget(HostTarget):
    # Kept code is not told from that for the host by what a device has compiled otherwise.
    name = "pretended"
    is_device = True


class PretendDevice(CpuBackend):
    """``moved`` notes what is prefetched: address, size, whether to the device."""

    name = label = "pretended"

    def __init__(self, piece_bytes: int) -> None:
        super().__init__()
        self.moved: list[tuple[int, int, bool]] = []
        self._target = PretendTarget()
        self._queue: deque[Callable[[], None]] = deque()
        self._done = 0
        #: Who waits in another thread lets nothing overtake what was queued before.
        self._running = threading.RLock()
        self.transfer = BulkTransfer(self, lambda: PretendStaging(self, piece_bytes))

    @property
    def target(self) -> PretendTarget:
        return self._target

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        self.moved.append((address, size, to_device))

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        def start() -> None:
            own = (ctypes.c_uint64 * len(launch.slots))(*launch.slots)
            self.queue(lambda: super(PretendDevice, self).prepare(replace(launch, slots=own))())

        return start

    def queue(self, work: Callable[[], None]) -> None:
        """Do it after what was queued before, when somebody waits."""
        self._queue.append(work)

    def launched(self) -> int:
        """How many launches there were."""
        return self._done + len(self._queue)

    def run_until(self, launches: int) -> None:
        with self._running:
            while self._done < launches:
                self._done += 1
                # What Python collects may wait for launches: none is to overtake this one.
                is_collecting = gc.isenabled()
                gc.disable()
                try:
                    self._queue.popleft()()
                finally:
                    if is_collecting:
                        gc.enable()

    def synchronize(self) -> None:
        self.run_until(self.launched())


class PromptDevice(PretendDevice):
    """One whose launches have ended when they return, so that tests may share it: none is left to
    run when the heap that it is of has gone."""

    def __init__(self) -> None:
        super().__init__(1 << 16)

    def queue(self, work: Callable[[], None]) -> None:
        super().queue(work)
        self.synchronize()


class PretendStaging:
    def __init__(self, device: PretendDevice, piece_bytes: int, pieces: int = PIECES) -> None:
        self.piece_bytes = piece_bytes
        self._device = device
        self._memory = np.full((pieces, piece_bytes), 0xAB, np.uint8)
        self._marks = [0] * pieces

    def address(self, piece: int) -> int:
        return int(self._memory[piece].ctypes.data)

    def memory(self, piece: int) -> np.ndarray:
        return self._memory[piece]

    def mark(self, piece: int) -> None:
        self._marks[piece] = self._device.launched()

    def wait(self, piece: int) -> None:
        self._device.run_until(self._marks[piece])

    def close(self) -> None:
        assert self._device.launched() == self._device._done
