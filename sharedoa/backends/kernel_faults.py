"""From a fault in a kernel on the CPU to its error record (``dispatch.errors``)."""

from __future__ import annotations

import ctypes
import signal
from typing import TYPE_CHECKING, Any

from dispatch import state as state_block
from dispatch.errors import RECORD_DTYPE, ErrorCode

from ..errors import DeviceError
from ..model.reference import NULL_REACH
from .launch_guard import SIGBUS, Fault

if TYPE_CHECKING:
    from .cpu import LoadedKernel

_NO_SITE, _NO_THREAD = -1, -1
_SI_KERNEL = 0x80
"""Linux's ``si_code`` of a fault that has no address: one of those that no processor takes."""
_ANY_ADDRESS = 1 << 47


def report_fault(fault: Fault, kernel: LoadedKernel, threads: tuple[int, int]) -> None:
    """Fill the kernel's error record, unless it has told of something else first; whoever waits for
    the launch raises it. Raises DeviceError for a kernel without a record."""
    code, value = _meaning(fault, kernel.state)
    place = kernel.state[state_block.ERRORS]
    if place == 0:
        raise DeviceError(f"kernel {kernel.symbol}: {code.name.lower()} at {value:#x}")
    size = RECORD_DTYPE.itemsize
    memory = (ctypes.c_uint8 * size).from_address(place)
    record: Any = _record(memory)
    if record["code"]:
        return
    x, y = _thread(fault, kernel, threads)
    record["site"], record["thread_x"], record["thread_y"] = _NO_SITE, x, y
    record["value"], record["extra"] = value, 0
    record["code"], record["flag"] = code, 1


def _record(memory: Any) -> Any:
    import numpy as np

    return np.frombuffer(memory, RECORD_DTYPE)[0:1].view(np.recarray)[0]


def _meaning(fault: Fault, state: Any) -> tuple[ErrorCode, int]:
    """The code and value of the record."""
    if fault.signal == signal.SIGFPE:
        return ErrorCode.ARITHMETIC, 0
    if fault.signal == SIGBUS:
        return ErrorCode.MEMORY, fault.address
    if fault.code == _SI_KERNEL:
        return ErrorCode.ADDRESS, _ANY_ADDRESS
    if fault.is_of_stack:
        return ErrorCode.RECURSION, fault.stack_pointer
    base = state[state_block.REFERENCE_BASE] % (1 << 64)
    if any(0 <= fault.address - null < NULL_REACH for null in (0, base)):
        return ErrorCode.NULL, 0
    return ErrorCode.ADDRESS, fault.address


def _thread(fault: Fault, kernel: LoadedKernel, threads: tuple[int, int]) -> tuple[int, int]:
    """The thread's index where it is known: in debug mode, or if it was the only one of its
    piece."""
    if kernel.debug and not kernel.uses_barrier:
        state = kernel.state
        return state[state_block.THREAD_X], state[state_block.THREAD_Y]
    if fault.end - fault.begin == 1:
        y, x = divmod(fault.begin, threads[0])
        return x, y if threads[1] > 1 else 0
    return _NO_THREAD, _NO_THREAD
