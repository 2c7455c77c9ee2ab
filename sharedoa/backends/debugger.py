"""Tells debuggers of the code that was loaded: gdb and lldb then have names of kernels and methods
and, with ``SHAREDOA_LINES=1``, lines of the user's source.

Both look for a list of object files that starts at ``__jit_debug_descriptor``, and stop at
``__jit_debug_register_code`` to see what changed (GDB's manual, "JIT Compilation Interface"). LLVM
has these two, and so its own code of this process, Numba's for instance, is in the same list. But
llvmlite exports neither: they are found in its file's table of symbols.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from ..collection import nothing_collected
from ..forks import renew_in_child
from ..once import once
from ..uninterrupted import uninterrupted
from .object_file import placed

_DESCRIPTOR, _REGISTER = "__jit_debug_descriptor", "__jit_debug_register_code"
_ADDED, _REMOVED = 1, 2
_SYMBOL_BYTES = 24


class _Entry(ctypes.Structure):
    """``jit_code_entry``: its neighbours in the list, and where an object file is."""

    _fields_ = (
        ("next", ctypes.c_uint64),
        ("previous", ctypes.c_uint64),
        ("file", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
    )


class _Descriptor(ctypes.Structure):
    """``jit_descriptor``."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", ctypes.c_uint64),
        ("first", ctypes.c_uint64),
    )


class _DynamicInfo(ctypes.Structure):
    """``Dl_info`` of dladdr."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class _List:
    """What debuggers look at."""

    def __init__(self, descriptor: int, register: int) -> None:
        self._descriptor = _Descriptor.from_address(descriptor)
        # A debugger stops there. Nobody else runs Python meanwhile, so the list stays as it is.
        self._tell = ctypes.PYFUNCTYPE(None)(register)
        self._lock = renew_in_child(threading.Lock())

    def add(self, file: bytes) -> tuple[_Entry, Any]:
        held = ctypes.create_string_buffer(file, len(file))
        with uninterrupted, self._lock, nothing_collected():
            first = self._descriptor.first
            entry = _Entry(first, 0, ctypes.addressof(held), len(file))
            if first:
                _Entry.from_address(first).previous = ctypes.addressof(entry)
            self._descriptor.first = ctypes.addressof(entry)
            self._look(entry, _ADDED)
        return entry, held

    def remove(self, entry: _Entry, held: Any) -> None:
        """``held``, the object file, is not needed afterwards."""
        with uninterrupted, self._lock, nothing_collected():
            if entry.previous:
                _Entry.from_address(entry.previous).next = entry.next
            else:
                self._descriptor.first = entry.next
            if entry.next:
                _Entry.from_address(entry.next).previous = entry.previous
            self._look(entry, _REMOVED)

    def _look(self, entry: _Entry, action: int) -> None:
        self._descriptor.relevant, self._descriptor.action = ctypes.addressof(entry), action
        self._tell()


def announce(library: Any, object_code: bytes, addresses: Mapping[str, int]) -> None:
    """``object_code`` was loaded with its symbols at ``addresses``, for as long as there is
    ``library``. A debugger is told if it is there, or if the code has lines: that takes a copy of
    the code, and for the first some tenths of a second."""
    if sys.platform != "linux" or not (b".debug_line\0" in object_code or is_debugged()):
        return
    found = _list()
    if found is not None:
        entry = found.add(placed(object_code, addresses))
        weakref.finalize(library, found.remove, *entry).atexit = False


def is_debugged() -> bool:
    """Whether a debugger has this process now."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False
    return "\nTracerPid:\t0\n" not in status


@once
def _list() -> _List | None:
    """LLVM's, which is not found where llvmlite was stripped of its symbols."""
    known = ctypes.cast(llvm.ffi.lib.LLVMPY_GetVersionInfo._cfn, ctypes.c_void_p)
    info = _DynamicInfo()
    if not ctypes.CDLL(None).dladdr(known, ctypes.byref(info)):
        return None
    with open(info.file, "rb") as opened:
        offsets = _local_symbols(opened.fileno(), (_DESCRIPTOR, _REGISTER))
    if offsets is None:
        return None
    return _List(*(info.base + each for each in offsets))


def _local_symbols(file: int, names: tuple[str, ...]) -> list[int] | None:
    """Values of symbols of an ELF file's table; None unless it has all."""
    with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as content:
        (headers,) = struct.unpack_from("<Q", content, 0x28)
        step, count = struct.unpack_from("<HH", content, 0x3A)
        for number in range(count):
            head = struct.unpack_from("<IIQQQQI", content, headers + step * number)
            if head[1] == 2:  # the table of all symbols, where there is one
                begin, size = head[4], head[5]
                texts = struct.unpack_from("<Q", content, headers + step * head[6] + 24)[0]
                break
        else:
            return None
        values = []
        for name in names:
            at = content.find(b"\0" + name.encode() + b"\0", texts) + 1
            wanted = struct.pack("<I", max(at - texts, 0))
            place = content.find(wanted, begin, begin + size)
            while place >= 0 and (place - begin) % _SYMBOL_BYTES:
                place = content.find(wanted, place + 1, begin + size)
            if not at or place < 0:
                return None
            values.append(struct.unpack_from("<Q", content, place + 8)[0])
    return values
