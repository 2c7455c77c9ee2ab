"""``print`` in kernels on the CPU: a line goes through Python's own stream, so that a kernel's
output keeps its place among the program's.

What the stream raises is raised once, when the launch has ended; until then nothing more is
printed.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from typing import Any

import numpy as np

from ..once import once
from ..targets.host import FLOAT_MARKS, FORMAT_MARK
from .launch_guard import launch_guard
from .native_code import ffi

#: What failed in the launches that run now, by the ``Thread`` block of who launched.
_failures: dict[int, BaseException] = {}
_GO_ON, _LEAVE = 0, 1
_MARKS = b"".join((FORMAT_MARK, *FLOAT_MARKS.values()))
_FLOATS = re.compile(
    b"%b([0-9a-f]{8})|(?:%b([^%b]*))?%b([0-9a-f]{16})|[%b].*"
    % (FLOAT_MARKS[32], FORMAT_MARK, _MARKS, FLOAT_MARKS[64], _MARKS),
    re.DOTALL,
)


def printed_text(line: bytes) -> str:
    """A line as kernels give it (``HostTarget.emit_print``), with floats as Python prints them."""
    return _FLOATS.sub(_float_text, line).decode(errors="replace")


def _float_text(match: re.Match[bytes]) -> bytes:
    single, spec, double = match.groups()
    if double is not None:
        value = struct.unpack(">d", bytes.fromhex(double.decode()))[0]
        return format(value, (spec or b"").decode()).encode()
    if single is not None:
        return str(np.frombuffer(bytes.fromhex(single.decode()), ">f4")[0]).encode()
    return b""  # where the line was cut


def _print(owner: Any, text: Any) -> int:
    """Whether the kernel is to be left."""
    key = int(ffi.cast("uintptr_t", owner))
    thread = ffi.cast("Thread *", owner)
    try:
        if key not in _failures and sys.stdout is not None:
            sys.stdout.write(printed_text(ffi.string(text)))
    except BaseException as problem:
        _failures.setdefault(key, problem)
        if not isinstance(problem, Exception):
            thread.stop = 1
    failed = _failures.get(key)
    is_over = failed is not None and not isinstance(failed, Exception)
    return _LEAVE if is_over or thread.leaving else _GO_ON


def _interrupted(kind: Any, problem: Any, trace: Any) -> None:
    """A signal came between two statements of ``_print``."""
    frame = trace.tb_frame
    owner = frame.f_locals.get("owner")
    if owner is not None:
        _failures.setdefault(int(ffi.cast("uintptr_t", owner)), problem)


_print_callback = ffi.callback("int(void *, char *)", _print, error=_LEAVE, onerror=_interrupted)
_bare_callback = ffi.callback("void(char *)", lambda text: _print(ffi.NULL, text) and None)


@once
def print_address() -> int:
    """The function that ``print`` in kernels calls with its finished line."""
    guard = launch_guard()
    if not guard.handles_faults:
        return int(ffi.cast("uintptr_t", _bare_callback))
    place = ctypes.c_void_p.from_address(guard.address("print_callback"))
    place.value = int(ffi.cast("uintptr_t", _print_callback))
    return guard.address("print_line")


def raise_print_failure() -> None:
    """Raise what went wrong with printing in the calling thread's launch, which has ended."""
    if _failures:
        key = int(ffi.cast("uintptr_t", launch_guard().this_thread()))
        problem = _failures.pop(key, None)
        if problem is not None:
            raise problem
