"""Ctrl-C while a kernel runs in the main thread.

The interpreter calls handlers of signals only when the main thread comes back to it. So a handler
of ours, before the interpreter's, makes the launch stop at its next piece, which can be begun again
if the program's handler raises nothing. A kernel that comes to no next piece is left after a while,
as what it has computed is lost then: if the handler is the one that raises KeyboardInterrupt, or
the user insists. Its threads get another signal for that, one that harms nobody if it comes late.

Programs replace handlers (notebooks in every cell), so that ours is looked after by a thread, the
*watch*, which sleeps unless a launch of the main thread lasts.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..errors import BackendError
from ..forks import call_in_child
from ..uninterrupted import uninterrupted
from .guard_code import short_serial
from .launch_guard import Fault, address_of, launch_guard

#: From an interrupt until a kernel is cut.
GRACE_SECONDS = 0.5
_TICK_SECONDS, _RETRY_SECONDS = 0.05, 0.01
_LEAVE = signal.SIGURG if hasattr(signal, "SIGURG") else 0
"""Ignored by default; what others send of it is passed on."""
_SI_QUEUE = -1
_SEND = {"x86_64": 297, "aarch64": 240}
"""The number of the system call ``rt_tgsigqueueinfo``."""


class KernelFault(Exception):
    """A fault left a kernel; ``fault`` says which."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class _SignalInfo(ctypes.Structure):
    """``siginfo_t`` of a signal with a value."""

    _fields_ = (
        ("number", ctypes.c_int),
        ("error", ctypes.c_int),
        ("code", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("process", ctypes.c_int),
        ("user", ctypes.c_int),
        ("value", ctypes.c_int64),
        ("rest", ctypes.c_int64 * 12),
    )


def settle() -> None:
    """Find out why a launch of the calling thread did not run to its end; nothing of it runs now.
    On return it may be continued.

    Raises KernelFault after a fault, KeyboardInterrupt if the kernel was cut, and whatever the
    program's handlers of signals raise.
    """
    was_cut = launch_guard().this_thread().cut
    fault = end_launch()
    watch_main_thread()
    if fault is not None:
        raise KernelFault(fault)
    _let_handlers_run()
    if was_cut:
        raise KeyboardInterrupt


def end_launch() -> Fault | None:
    """Of a launch of the calling thread's that has ended before its end: forget what was asked of
    it. The result is its fault, if it had one."""
    guard = launch_guard()
    thread = guard.this_thread()
    thread.stop = thread.leaving = thread.cut = 0
    return guard.take_fault(thread)


def _let_handlers_run() -> None:
    """The interpreter looks for signals where a function begins."""


_watched_by: list[int] = []
"""The watch of this process, if it has one."""


def watch_main_thread() -> None:
    """From now on interrupts reach kernels of the main thread, if that is the calling thread."""
    guard = launch_guard()
    if not guard.handles_faults or threading.current_thread() is not threading.main_thread():
        return
    guard.keep_interrupts()
    if _watched_by:
        return
    thread = guard.this_thread()
    main = ctypes.c_void_p.from_address(guard.address("main"))
    main.value = address_of(thread)
    # Where no thread is to be had Ctrl-C comes through at the next piece all the same.
    with suppress(RuntimeError):
        _watched_by.append(_thread.start_new_thread(_watch, (thread, threading.get_native_id())))


def keep_interrupts() -> None:
    """Native code is about to run a launch. Sections, which loading that code is, too, put Python's
    handler in place of ours, and the watch looks only after a while."""
    uninterrupted.has_set_handlers = False
    guard = launch_guard()
    if guard.handles_faults:
        guard.keep_interrupts()


def _watch(main: Any, main_id: int) -> None:
    guard = launch_guard()
    await_long_launch = guard.library.function("await_long_launch", "void(*)(void)")
    while True:
        await_long_launch()
        guard.keep_interrupts()
        _attend(main, main_id)


def _attend(main: Any, main_id: int) -> None:
    """Until the launch that runs has ended: after an interrupt, wait, then cut it."""
    from .thread_pool import worker_ids

    serial = main.serial
    interrupted_at: float | None = None
    while main.serial == serial and (main.frame or main.busy):
        if not main.stop:
            time.sleep(_TICK_SECONDS)
            continue
        now = time.monotonic()
        interrupted_at = interrupted_at or now
        if now - interrupted_at >= GRACE_SECONDS and _may_cut(main.stop):
            main.leaving = short_serial(serial)
            ask_to_leave([main_id, *worker_ids()])
        time.sleep(_RETRY_SECONDS)


def _may_cut(interrupts: int) -> bool:
    """Whether the program's handler is what raises KeyboardInterrupt, or the user insists."""
    return interrupts > 1 or signal.getsignal(signal.SIGINT) is signal.default_int_handler


def ask_to_leave(thread_ids: Sequence[int]) -> None:
    """Signal threads to leave kernels of launches whose owner has ``leaving`` set; nothing happens
    to those that are in none, or not in the kernel's own code."""
    if sys.platform == "win32":
        raise BackendError("kernels cannot be left on Windows", "run them under WSL")
    guard = launch_guard()
    guard.hook(_LEAVE, "on_leave")
    info = _SignalInfo(
        number=_LEAVE,
        code=_SI_QUEUE,
        process=os.getpid(),
        user=os.getuid(),
        value=guard.address("token"),
    )
    send = ctypes.CDLL(None).syscall
    for number in thread_ids:
        send(
            ctypes.c_long(_SEND[platform.machine()]),
            ctypes.c_long(os.getpid()),
            ctypes.c_long(number),
            ctypes.c_long(_LEAVE),
            ctypes.byref(info),
        )


def _after_fork() -> None:
    """The child has no watch; it gets one when its main thread launches."""
    if not _watched_by:
        return
    _watched_by.clear()
    guard = launch_guard()
    guard.library.function("forget_watch", "void(*)(void)")()
    thread = guard.this_thread()
    ctypes.c_void_p.from_address(guard.address("main")).value = address_of(thread)
    thread.stop = 1


call_in_child(_after_fork)
