"""CUDA managed memory as a heap provider: one address for CPU and GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .cuda_context import CudaContext

if TYPE_CHECKING:
    from ..heap.provider import Slab


_GUARD_BYTES = 2 << 20
"""The driver reserves no less."""


class ManagedProvider:
    """Slabs of managed memory, never more than the card can hold at once.

    A new slab is zero; the device has cleared it, so its pages start out on the device.
    """

    def __init__(self, context: CudaContext) -> None:
        self._context = context

    def allocate(self, size: int) -> Slab:
        """``size`` bytes; HeapError with the figures if the card has no room for them."""
        from ..heap.provider import Slab

        context, driver = self._context, self._context.driver
        context.enter()
        context.reserve_managed(size)
        with ExitStack() as undoing:
            undoing.callback(context.release_managed, size)
            flags = driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL
            address = int(context.call("cuMemAllocManaged", size, int(flags)))
            undoing.callback(_give_back, context, address)
            # Else the memset would fetch page by page what has no place yet.
            prefetch(context, address, size, to_device=True)
            context.call("cuMemsetD8Async", address, 0, size, context.stream)
            # The host may write into the slab as soon as it has it.
            context.synchronize()
            undoing.pop_all()
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
        return Slab(address, size, memory)

    def free(self, slab: Slab) -> None:
        """Give a slab back; waits for kernels that may use it."""
        if not self._context.is_lost:
            self._context.synchronize()
            self._context.call("cuMemFree", slab.address)
        self._context.release_managed(slab.size)

    def free_memory(self) -> int:
        """Bytes that can still be allocated."""
        return self._context.free_managed()

    def keep_free(self, address: int) -> Callable[[], object] | None:
        """Addresses that the driver reserves, if nobody could have them from the system."""
        from ..heap.null_guard import NullGuard

        guard = NullGuard.at(address)
        if guard is not None:
            return guard.release
        context = self._context
        context.enter()
        found = int(context.call("cuMemAddressReserve", _GUARD_BYTES, 0, address, 0))
        if found == address:
            return partial(_release, context, address)
        context.call("cuMemAddressFree", found, _GUARD_BYTES)
        return None


def _release(context: CudaContext, address: int) -> None:
    if not context.is_lost:
        context.enter()
        context.driver.cuMemAddressFree(address, _GUARD_BYTES)


def _give_back(context: CudaContext, address: int) -> None:
    """Free what an error has left unusable; the error is told, not what goes wrong here."""
    context.wait()
    context.driver.cuMemFree(address)


def prefetch(context: CudaContext, address: int, size: int, to_device: bool) -> None:
    """Move managed memory to the device or the host, in the stream's order. Where the device is
    lost, it comes to the host page by page as that touches it."""
    if context.is_lost:
        return
    driver = context.driver
    kinds = driver.CUmemLocationType
    location = driver.CUmemLocation()
    location.type = (
        kinds.CU_MEM_LOCATION_TYPE_DEVICE if to_device else kinds.CU_MEM_LOCATION_TYPE_HOST
    )
    location.id = int(context.device) if to_device else 0
    # Bindings 12 call the function that takes a location _v2; bindings 13 have no other.
    name = "cuMemPrefetchAsync"
    name = f"{name}_v2" if hasattr(driver, f"{name}_v2") else name
    context.enter()
    context.call(name, address, size, location, 0, context.stream)
