"""``heap.device_copies.DeviceCopies`` of GPUs: memory of the card that is not managed."""

from __future__ import annotations

from ..errors import HeapError
from .gpu_device import GpuDevice


class DeviceMemory:
    """Counted with managed memory, as both must fit."""

    def __init__(self, device: GpuDevice) -> None:
        self._device = device

    def reserve(self, size: int) -> int | None:
        """See ``heap.device_copies.DeviceCopies``."""
        device = self._device
        if 2 * size > device.free_managed():
            return None
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

    def release(self, address: int, size: int) -> None:
        """See ``heap.device_copies.DeviceCopies``."""
        device = self._device
        if not device.is_lost:
            device.enter()
            device.wait()
            device.call_quietly("MemFree", address)
        device.release_managed(size)

    def copy(self, target: int, source: int, size: int) -> None:
        """See ``heap.device_copies.DeviceCopies``."""
        device = self._device
        device.call("MemcpyDtoDAsync", target, source, size, device.stream)
