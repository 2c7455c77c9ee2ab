"""Memory of the host that stays where it is, which the device reads and writes at full speed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import Bytes
from .gpu_device import UNTIMED, GpuDevice
from .gpu_wait import NOT_READY, Wait

if TYPE_CHECKING:
    from ..heap.provider import Provider, Slab

_SMALL = 1 << 20
"""Bytes of a slab up to which it is page-locked; larger ones take longer to lock than to move."""


class PinnedStaging:
    """``pieces`` pieces of page-locked memory (``bulk_transfer.Staging``,
    ``heap.slot_lists.ReportStaging``), which kernels reach at the address that the host uses.

    Raises HeapError if the system refuses.
    """

    def __init__(self, device: GpuDevice, pieces: int, piece_bytes: int) -> None:
        self.piece_bytes = piece_bytes
        self._device = device
        size = pieces * piece_bytes
        self._events: list[Any] = []
        # After an error: that is told, not what goes wrong when giving back.
        with ExitStack() as undoing:
            self._start = int(device.call("MemHostAlloc", size, 0))
            undoing.callback(device.call_quietly, "MemFreeHost", self._start)
            for _ in range(pieces):
                event = device.call("EventCreate", UNTIMED)
                undoing.callback(device.call_quietly, "EventDestroy", event)
                self._events.append(event)
            self._waits = [Wait(device, "EventQuery", event) for event in self._events]
            undoing.pop_all()
        self._memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self._start))

    def address(self, piece: int) -> int:
        return self._start + piece * self.piece_bytes

    def memory(self, piece: int) -> Bytes:
        return self._memory[piece * self.piece_bytes :][: self.piece_bytes]

    def mark(self, piece: int) -> None:
        """An event in the stream, after everything launched."""
        self._device.call("EventRecord", self._events[piece], self._device.stream)

    def has_ended(self, piece: int) -> bool:
        self._device.enter()
        error = self._device.call_quietly("EventQuery", self._events[piece])[0]
        if error and int(error) != NOT_READY:
            self._device.fail(error, "asking for a transfer")
        return not error

    def wait(self, piece: int) -> None:
        """Wait for the event; of a piece that was never marked there is nothing to wait for."""
        self._device.enter()
        error = self._waits[piece]()
        if error:
            self._device.fail(error, "waiting for a transfer")

    def close(self) -> None:
        """Give the memory back; nothing may be under way."""
        device = self._device
        if device.is_lost:
            return
        for event in self._events:
            device.call("EventDestroy", event)
        device.call("MemFreeHost", self._start)


class StagingProvider:
    """Slabs for what host and device hand each other: small ones page-locked, so that neither
    faults for what the other has written; others from ``large``."""

    def __init__(self, device: GpuDevice, large: Provider) -> None:
        self._device = device
        self._large = large
        self._pinned: dict[int, PinnedStaging] = {}

    def allocate(self, size: int) -> Slab:
        """``size`` bytes, or HeapError."""
        from ..heap.provider import Slab

        if size > _SMALL:
            return self._large.allocate(size)
        staging = PinnedStaging(self._device, 1, size)
        address = staging.address(0)
        self._pinned[address] = staging
        return Slab(address, size, staging.memory(0))

    def free(self, slab: Slab) -> None:
        """Give a slab back, which nothing under way may use."""
        staging = self._pinned.pop(slab.address, None)
        if staging is None:
            self._large.free(slab)
        else:
            staging.close()

    def free_memory(self) -> int:
        """Bytes of large slabs that can still be allocated."""
        return self._large.free_memory()

    def keep_free(self, address: int) -> Callable[[], object] | None:
        return self._large.keep_free(address)
