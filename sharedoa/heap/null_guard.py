"""Addresses that nobody may use, so that a store through null is a fault and reaches no memory.

The null of references that count from a base *is* the base, so what lies there, and as far behind
as fields reach, is mapped for nobody.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache
from typing import Any

from ..model.reference import NULL_REACH

_MAP_NORESERVE, _MAP_FIXED_NOREPLACE = 0x4000, 0x100000  # Linux, x86-64 and aarch64
_PROT_NONE = 0


class NullGuard:
    """``NULL_REACH`` bytes without access; ``release`` gives the addresses back."""

    def __init__(self, address: int) -> None:
        self.address = address

    @classmethod
    def at(cls, address: int) -> NullGuard | None:
        """None where something of those bytes is mapped, or the system refuses."""
        if sys.platform == "win32":
            return None  # its calls are others
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        if sys.platform == "linux":
            flags |= _MAP_NORESERVE | _MAP_FIXED_NOREPLACE
        place = _libc().mmap(address, NULL_REACH, _PROT_NONE, flags, -1, 0)
        if place == address:
            return cls(address)
        if place not in (None, ctypes.c_void_p(-1).value):
            # A system that takes the address for a mere wish.
            _libc().munmap(place, NULL_REACH)
        return None

    def release(self) -> None:
        _libc().munmap(self.address, NULL_REACH)


@cache
def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library
