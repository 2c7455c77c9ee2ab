"""Entering kernels so that a fault or an interrupt leaves them, and what became of a launch.

A fault (SIGSEGV, SIGBUS, SIGFPE) of a thread that runs a kernel leaves the kernel; any other one
goes to whoever handled it before. Of a launch that faulted the other threads begin no more pieces.
"""

from __future__ import annotations

import ctypes
import signal
import struct
import sys
from typing import Any

from dispatch.dataclass import dataclass

from ..once import once
from .guard_code import (
    EXPORTS,
    HANDLER_EXPORTS,
    HANDLER_FLAGS,
    THREAD_TYPE,
    guard_code,
    is_supported,
)
from .interpreter_function import exported_function, interpreter_addresses
from .native_code import NativeLibrary, assembled, ffi

_FAULTS = [signal.SIGSEGV, signal.SIGFPE]
SIGBUS: signal.Signals | None = None
if sys.platform != "win32":
    SIGBUS = signal.SIGBUS
    _FAULTS.append(SIGBUS)
_SA_RESTART = 0x10000000
_LAUNCH = struct.Struct("=QqqQ")
"""``%Launch`` of ``guard_code``."""

ffi.cdef(THREAD_TYPE)


class _Action(ctypes.Structure):
    """``struct sigaction`` of glibc."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Previous(ctypes.Structure):
    _fields_ = (("handler", ctypes.c_void_p), ("flags", ctypes.c_int64))


@dataclass(frozen=True)
class Fault:
    """A fault in a kernel, which ran the threads from ``begin`` to before ``end``."""

    signal: int
    code: int
    address: int
    stack_pointer: int
    begin: int
    end: int

    @property
    def is_of_stack(self) -> bool:
        """Whether it is the stack that had no room: it is touched from its pointer on, and nothing
        else that faults lies there."""
        return -_STACK_BELOW <= self.address - self.stack_pointer < _STACK_ABOVE


_STACK_BELOW, _STACK_ABOVE = 4096, 1 << 20


def described(code: Any, nx: int, ny: int, slots: Any) -> bytes:
    """A launch of nx * ny threads for native code. The caller keeps what ``code`` (``Code *``) and
    ``slots`` point to."""
    return _LAUNCH.pack(address_of(code), nx, ny, address_of(slots))


def address_of(pointer: Any) -> int:
    """Of what a pointer of cffi's points to."""
    return int(ffi.cast("uintptr_t", pointer))


class LaunchGuard:
    """The one guard of the process; its code stays for as long as the process lives."""

    def __init__(self) -> None:
        self.handles_faults = is_supported()
        object_code = assembled(guard_code(), "launch guard")
        exports = EXPORTS + (HANDLER_EXPORTS if self.handles_faults else ())
        self.library = NativeLibrary(object_code, exports, interpreter_addresses())
        # Signal handlers and ends of threads come here, also while the interpreter ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.library))
        self.library.function("prepare_guard", "void(*)(void)")()
        #: ``run(launch, begin, end)``: run these threads of what ``described`` gave on the calling
        #: thread. The result is 0, or how the kernel was left (``guard_code``).
        self.run = exported_function(self.library, "run")
        self.this_thread = self.library.function("this_thread", "Thread *(*)(void)")
        if self.handles_faults:
            #: Let our handler get SIGINT, unless that has its default effect or is ignored.
            self.keep_interrupts = self.library.function("keep_interrupts", "void(*)(void)")

    def address(self, name: str) -> int:
        return self.library.address(name)

    def install(self) -> None:
        """Handle faults from now on; also if somebody else came after us. Signals of which somebody
        else is told stay theirs, where they are not of a kernel."""
        if self.handles_faults:
            for number in _FAULTS:
                self.hook(number, "on_fault")

    def hook(self, number: int, handler: str) -> None:
        """Let ``handler`` get a signal, which passes on what is not its own."""
        ours = self.library.address(handler)
        old = _Action()
        _sigaction(number, None, old)
        before = old.handler or 0
        if before == ours:
            return
        table = (_Previous * 65).from_address(self.library.address("previous"))
        table[number].handler = before
        flags = old.flags | HANDLER_FLAGS
        if before <= _IGNORED:  # calls of the system went on after it, and still shall
            flags |= _SA_RESTART
        _sigaction(number, _Action(ours, old.mask, flags, old.restorer), None)

    def take_fault(self, thread: Any) -> Fault | None:
        """What went wrong first in the launch of ``thread``, which is told once."""
        if not thread.fault:
            return None
        found = Fault(
            thread.fault,
            thread.code,
            thread.address % (1 << 64),
            thread.stack_pointer % (1 << 64),
            thread.begin,
            thread.end,
        )
        thread.fault = 0
        return found


_IGNORED = 1


def _sigaction(number: int, new: _Action | None, old: _Action | None) -> None:
    pointers = [None if each is None else ctypes.byref(each) for each in (new, old)]
    if ctypes.CDLL(None).sigaction(int(number), *pointers) != 0:
        raise OSError(ctypes.get_errno(), "sigaction")


@once
def launch_guard() -> LaunchGuard:
    """Made at its first use."""
    return LaunchGuard()
