"""Waiting for the device so that Ctrl-C, which Python sees between its own instructions, ends it.

The driver's own functions that wait return only when the device is done: never, for a kernel
without end. So native code asks the driver again and again, as those do, for some milliseconds,
and Python calls it until the answer is another one.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..once import once
from ..uninterrupted import uninterrupted
from .interpreter_function import interpreter_function

if TYPE_CHECKING:
    from .gpu_device import GpuDevice

NOT_READY = 600
"""What both drivers answer meanwhile."""
_ROUNDS = 10_000
"""Questions before Python looks for signals: some milliseconds."""
_SPARED_SHARE, _MOST_SPARED, _LEAST_SPARED = 1 / 256, 0.005, 0.0005
"""A long wait leaves the core to others for this share of the time passed, in seconds; what that
makes it longer is at most that."""
#: The words of a block: the driver's function and its argument.
_CODE = f"""
define ptr @ask(ptr %self, ptr %address) {{
start:
  %block = call ptr @PyLong_AsVoidPtr(ptr %address)
  %place = getelementptr i64, ptr %block, i64 1
  %driver = load ptr, ptr %block
  %handle = load ptr, ptr %place
  %thread = call ptr @PyEval_SaveThread()
  br label %round
round:
  %left = phi i64 [ {_ROUNDS}, %start ], [ %fewer, %round ]
  %error = call i32 %driver(ptr %handle)
  %fewer = sub i64 %left, 1
  %busy = icmp eq i32 %error, {NOT_READY}
  %some = icmp ne i64 %fewer, 0
  %again = and i1 %busy, %some
  br i1 %again, label %round, label %done
done:
  call void @PyEval_RestoreThread(ptr %thread)
  %wide = sext i32 %error to i64
  %result = call ptr @PyLong_FromLong(i64 %wide)
  ret ptr %result
}}
"""


@once
def _native_ask() -> Callable[[int], int]:
    return interpreter_function("ask", _CODE)


class Wait:
    """Waits for a stream (``query`` is "StreamQuery") or an event ("EventQuery")."""

    def __init__(self, device: GpuDevice, query: str, handle: object) -> None:
        self._ask = _native_ask()
        function = device.entry_point(query)
        self._words = (ctypes.c_uint64 * 2)(function, int(handle))  # type: ignore[call-overload]
        self._address = ctypes.addressof(self._words)

    def __call__(self) -> int:
        """The driver's answer when it is no longer "not ready": 0 for success."""
        answer = self._ask(self._address)
        if answer != NOT_READY:
            return answer
        begun = time.monotonic()
        while True:
            uninterrupted.checkpoint()
            answer = self._ask(self._address)
            if answer != NOT_READY:
                return answer
            spared = min((time.monotonic() - begun) * _SPARED_SHARE, _MOST_SPARED)
            if spared >= _LEAST_SPARED:
                time.sleep(spared)
