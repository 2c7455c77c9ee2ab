"""A device that keeps copies of a heap's memory in memory of its own, all in the order of launches
when somebody waits."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sharedoa.backends.base import KernelLaunch, MemoryCopy, Recordable

from ..backends.pretend_device import PretendDevice

_ANYTHING = 0xAB


class Copies:
    """Memory of a device that has room for so many bytes. What is given back is anything, and if it
    ``keeps`` that given to who asks for as much next."""

    def __init__(self, device: CopyingDevice, room: int, keeps: bool) -> None:
        self.device, self.room, self.keeps, self.count = device, room, keeps, 0
        self.there: dict[int, np.ndarray] = {}
        self._kept: defaultdict[int, list[int]] = defaultdict(list)

    def reserve(self, size: int) -> int | None:
        if size > self.room:
            return None
        self.room -= size
        if self._kept[size]:
            return self._kept[size].pop()
        memory = np.full(size, _ANYTHING, np.uint8)
        address = int(memory.ctypes.data)
        self.there[address] = memory
        return address

    def has_room(self, size: int) -> bool:
        return True

    def release(self, address: int, size: int) -> None:
        assert self.there[address].nbytes == size
        self.room += size
        if self.keeps:
            self.device.queue(lambda: ctypes.memset(address, _ANYTHING, size))
            self._kept[size].append(address)
        else:
            self.device.queue(lambda: self.there.pop(address))

    def copy(self, target: int, source: int, size: int) -> None:
        self.count += 1
        self.device.queue(lambda: ctypes.memmove(target, source, size))

    def clear(self, start: int, size: int) -> None:
        self.device.queue(lambda: ctypes.memset(start, 0, size))

    def write(self, target: int, values: np.ndarray) -> None:
        self.device.queue(lambda: ctypes.memmove(target, values.ctypes.data, values.nbytes))


class CopyingDevice(PretendDevice):
    def __init__(self, room: int, keeps: bool = False) -> None:
        super().__init__(1 << 16)
        self.copies = Copies(self, room, keeps)

    def to_host(self) -> list[int]:
        """How much was moved to the host."""
        return [size for _, size, to_device in self.moved if not to_device]

    def record(self, launches: Sequence[Recordable]) -> Any:
        """With what their slots hold now."""
        return [each if isinstance(each, MemoryCopy) else _as_now(each) for each in launches]

    def replay(self, recorded: Any, times: int) -> None:
        for each in [*recorded] * times:
            if isinstance(each, MemoryCopy):
                self.copies.copy(each.target, each.source, each.size)
            else:
                self.prepare(each)()


def _as_now(launch: KernelLaunch) -> KernelLaunch:
    return replace(launch, slots=(ctypes.c_uint64 * len(launch.slots))(*launch.slots))
