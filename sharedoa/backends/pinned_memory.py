"""Memory of the host that stays where it is, which the device reads and writes at full speed."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from typing import Any

import numpy as np

from .base import Bytes
from .cuda_context import CudaContext


class PinnedStaging:
    """``pieces`` pieces of page-locked memory (``bulk_transfer.Staging``), which kernels reach at
    the address that the host uses.

    Raises HeapError if the system refuses.
    """

    def __init__(self, context: CudaContext, pieces: int, piece_bytes: int) -> None:
        self.piece_bytes = piece_bytes
        self._context = context
        context.enter()
        size = pieces * piece_bytes
        driver = context.driver
        flags = int(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
        self._events: list[Any] = []
        # After an error: that is told, not what goes wrong when giving back.
        with ExitStack() as undoing:
            self._start = int(context.call("cuMemHostAlloc", size, 0))
            undoing.callback(driver.cuMemFreeHost, self._start)
            for _ in range(pieces):
                event = context.call("cuEventCreate", flags)
                undoing.callback(driver.cuEventDestroy, event)
                self._events.append(event)
            undoing.pop_all()
        self._memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self._start))

    def address(self, piece: int) -> int:
        return self._start + piece * self.piece_bytes

    def memory(self, piece: int) -> Bytes:
        return self._memory[piece * self.piece_bytes :][: self.piece_bytes]

    def mark(self, piece: int) -> None:
        """An event in the stream, after everything launched."""
        self._context.enter()
        self._context.call("cuEventRecord", self._events[piece], self._context.stream)

    def wait(self, piece: int) -> None:
        """Wait for the event; of a piece that was never marked there is nothing to wait for."""
        self._context.enter()
        self._context.call("cuEventSynchronize", self._events[piece])

    def close(self) -> None:
        """Give the memory back; nothing may be under way."""
        context = self._context
        context.enter()
        for event in self._events:
            context.call("cuEventDestroy", event)
        context.call("cuMemFreeHost", self._start)
