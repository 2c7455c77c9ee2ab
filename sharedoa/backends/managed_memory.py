"""Managed memory as a heap provider: one address for CPU and GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .gpu_device import GpuDevice

if TYPE_CHECKING:
    from ..heap.provider import Slab


_GUARD_BYTES = 2 << 20
"""The driver reserves no less."""


class ManagedProvider:
    """Slabs of managed memory, never more than the card can hold at once.

    A new slab is zero; the device has cleared it, so its pages start out on the device.
    """

    def __init__(self, device: GpuDevice) -> None:
        self._device = device

    def allocate(self, size: int) -> Slab:
        """``size`` bytes; HeapError with the figures if the card has no room for them."""
        from ..heap.provider import Slab

        device = self._device
        device.reserve_managed(size)
        with ExitStack() as undoing:
            undoing.callback(device.release_managed, size)
            address = device.allocate_managed(size)
            undoing.callback(_give_back, device, address)
            # Else the memset would fetch page by page what has no place yet.
            device.prefetch(address, size, to_device=True)
            device.call("MemsetD8Async", address, 0, size, device.stream)
            # The host may write into the slab as soon as it has it.
            device.synchronize()
            undoing.pop_all()
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
        return Slab(address, size, memory)

    def free(self, slab: Slab) -> None:
        """Give a slab back; waits for kernels that may use it."""
        if not self._device.is_lost:
            self._device.synchronize()
            self._device.call("MemFree", slab.address)
        self._device.release_managed(slab.size)

    def free_memory(self) -> int:
        """Bytes that can still be allocated."""
        return self._device.free_managed()

    def keep_free(self, address: int) -> Callable[[], object] | None:
        """Addresses that the driver reserves, if nobody could have them from the system."""
        from ..heap.null_guard import NullGuard

        guard = NullGuard.at(address)
        if guard is not None:
            return guard.release
        device = self._device
        found = int(device.call("MemAddressReserve", _GUARD_BYTES, 0, address, 0))
        if found == address:
            return partial(_release, device, address)
        device.call("MemAddressFree", found, _GUARD_BYTES)
        return None


def _release(device: GpuDevice, address: int) -> None:
    if not device.is_lost:
        device.enter()
        device.call_quietly("MemAddressFree", address, _GUARD_BYTES)


def _give_back(device: GpuDevice, address: int) -> None:
    """Free what an error has left unusable; the error is told, not what goes wrong here."""
    device.wait()
    device.call_quietly("MemFree", address)
