"""``heap.device_copies.DeviceCopies`` of GPUs: memory of the card that is not managed.

What is given back is kept for who asks for as much the next time: the driver takes longer to give
memory and take it back than a small launch takes, and waits for the device. It counts as free, and
goes back to the driver when somebody needs the room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import HeapError

if TYPE_CHECKING:
    from .gpu_device import GpuDevice

_LEAST, _SMALL = 512, 1 << 20
"""Bytes of the smallest pieces; and of those that are given again whatever is free."""
_KEPT_SHARE = 4
"""What share of the card is kept at most, if it is of no use."""


class DeviceMemory:
    """That of one device. Counted with managed memory, as both must fit."""

    def __init__(self, device: GpuDevice) -> None:
        self._device = device
        #: Addresses of what was given back, by size. Finalizers add to it in the middle of
        #: anything: one call that nothing comes between.
        self._kept: defaultdict[int, list[int]] = defaultdict(list)

    @cached_property
    def _copy(self) -> Callable[..., tuple[Any, ...]]:
        return self._device.function("MemcpyDtoDAsync")

    @property
    def kept_bytes(self) -> int:
        """What is kept, and nobody has."""
        return sum(size * len(addresses) for size, addresses in list(self._kept.items()))

    def reserve(self, size: int) -> int | None:
        """See ``heap.device_copies.DeviceCopies``."""
        device, size = self._device, _rounded(size)
        kept = self._kept[size]
        if kept and (size <= _SMALL or self.has_room(size)):
            device.enter()
            # All that uses it comes after what has used it: there is one stream.
            with suppress(IndexError):  # another thread was faster
                return kept.pop()
        if 2 * size > device.free_managed():
            return None
        if _KEPT_SHARE * self.kept_bytes > device.managed_limit:
            self.let_go()
        try:
            device.reserve_managed(size)
        except HeapError:  # another thread was faster
            return None
        try:
            return int(device.call("MemAlloc", size))
        except BaseException as error:
            device.release_managed(size)
            if isinstance(error, HeapError):
                return None
            raise

    def has_room(self, size: int) -> bool:
        """See ``heap.device_copies.DeviceCopies``."""
        return 2 * size <= self._device.managed_limit - self._device.managed_bytes

    def release(self, address: int, size: int) -> None:
        """See ``heap.device_copies.DeviceCopies``."""
        self._kept[_rounded(size)].append(address)

    def let_go(self) -> None:
        """Give the driver back what is kept."""
        device = self._device
        if self.kept_bytes and not device.is_lost:
            device.enter()
            device.wait()  # as others may do meanwhile: the driver would keep them
        for size, addresses in list(self._kept.items()):
            while addresses:
                with suppress(IndexError):  # another thread was faster
                    address = addresses.pop()
                    if not device.is_lost:
                        device.call_quietly("MemFree", address)
                    device.release_managed(size)

    def copy(self, target: int, source: int, size: int) -> None:
        """See ``heap.device_copies.DeviceCopies``."""
        device = self._device
        device.enter()
        device.checked(self._copy(target, source, size, device.stream), "MemcpyDtoDAsync")

    def clear(self, start: int, size: int) -> None:
        """See ``heap.device_copies.DeviceCopies``."""
        self._device.call("MemsetD8Async", start, 0, size, self._device.stream)

    def write(self, target: int, values: np.ndarray[Any, Any]) -> None:
        """See ``heap.device_copies.DeviceCopies``."""
        device, (source, _) = self._device, values.__array_interface__["data"]
        device.call("MemcpyHtoDAsync", target, source, values.nbytes, device.stream)


def _rounded(size: int) -> int:
    """To one of eight sizes between powers of two, so that few differ."""
    step = max(_LEAST, 1 << max(size.bit_length() - 4, 0))
    return -(-size // step) * step
