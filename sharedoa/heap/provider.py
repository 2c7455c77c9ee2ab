"""Providers of memory: what hands out the slabs that a heap cuts into regions and arrays."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dispatch.dataclass import dataclass

from ..errors import HeapError
from .null_guard import NullGuard

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, eq=False)
class Slab:
    """``size`` bytes at ``address``, zero when handed out; ``memory`` is the host's view."""

    address: int
    size: int
    memory: Bytes


class Provider(Protocol):
    """A source of slabs that the host and the backend's device both reach."""

    def allocate(self, size: int) -> Slab:
        """``size`` bytes of zeros. Raises HeapError if the system refuses."""
        ...

    def free(self, slab: Slab) -> None:
        """Take back a slab that nothing uses any more."""
        ...

    def free_memory(self) -> int:
        """Bytes that can still be handed out."""
        ...

    def keep_free(self, address: int) -> Callable[[], object] | None:
        """Let nobody have the ``NULL_REACH`` bytes at ``address``, neither on the host nor on the
        device: who uses them is a fault. The result gives them back; None where something is."""
        ...


def private_pages(size: int, are_reserved: bool = True) -> mmap.mmap:
    """Pages of zeros for this process alone; if they are not reserved, it may turn out as they
    are touched that the machine has none left.

    Raises OSError, OverflowError or ValueError if the system refuses.
    """
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    if not are_reserved:
        flags |= getattr(mmap, "MAP_NORESERVE", 0)  # from Python 3.13 on
    return mmap.mmap(-1, size, flags=flags)


class HostProvider:
    """Pages of this process; the system fills them with zeros at their first use."""

    def __init__(self) -> None:
        self._mappings: dict[int, mmap.mmap] = {}

    def allocate(self, size: int) -> Slab:
        try:
            mapping = private_pages(size)
        except (OSError, OverflowError, ValueError) as error:
            raise HeapError(
                f"the system refused {size:,} bytes of memory: {error}", "ask for less at a time"
            ) from error
        if sys.platform == "linux":
            mapping.madvise(mmap.MADV_HUGEPAGE)
        memory = np.frombuffer(mapping, np.uint8)
        address = int(memory.ctypes.data)
        self._mappings[address] = mapping
        return Slab(address, size, memory)

    def free(self, slab: Slab) -> None:
        # The mapping goes when the last NumPy view of it does.
        del self._mappings[slab.address]

    def free_memory(self) -> int:
        return min(_available_memory(), _left_in_control_group())

    def keep_free(self, address: int) -> Callable[[], object] | None:
        guard = NullGuard.at(address)
        return guard.release if guard is not None else None


def _available_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux: all memory is the best that the system tells
    return total_memory()


def total_memory() -> int:
    """Bytes of memory that the machine has, used or not."""
    if sys.platform == "win32":
        return _total_memory_of_windows()
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _total_memory_of_windows() -> int:
    # MEMORYSTATUSEX: its own size and the share in use, then sizes, the first of them of all.
    status = (ctypes.c_uint64 * 8)(64)
    ctypes.CDLL("kernel32").GlobalMemoryStatusEx(ctypes.byref(status))
    return status[1]


def _left_in_control_group(folder: Path = Path("/sys/fs/cgroup")) -> int:
    """What a container's memory limit leaves; no limit reads as the largest integer."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return (1 << 63) - 1
    return max(0, limit - used)
