"""What a kernel did wrong while it ran, from the records that it left in memory.

Every loaded kernel has its own record, so that a failure found long after an asynchronous launch
still names the kernel. The first thread to fail fills it (``dispatch.errors`` has the format).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch.errors import RECORD_DTYPE, ErrorCode

from ..errors import DeviceError, Diagnostic
from ..heap.provider import Slab

if TYPE_CHECKING:
    from .unit import Unit

RECORDS_PER_SLAB = 1024
_DEBUG_HELP = "run the same launch with debug=True (or SHAREDOA_DEBUG=1)"

_MESSAGES: dict[int, tuple[str, str]] = {
    ErrorCode.NULL: ("a null reference is used", "test it first: if x is not None"),
    ErrorCode.FOREIGN: (
        "reference {address:#x} is no object of this heap",
        "create objects in the heap of the launch; where objects are placed one by one, a deleted "
        "one is told by this too",
    ),
    ErrorCode.FREED: (
        "the object at {address:#x} was deleted",
        "drop every reference to an object before oa.delete",
    ),
    ErrorCode.INDEX: (
        "index {index} is out of bounds for length {extra}",
        "compare the index with len(array) first",
    ),
    ErrorCode.DIVISION_BY_ZERO: ("an integer is divided by zero", "test the divisor first"),
    ErrorCode.ASSERTION: ("an assertion failed", "the assert on that line says what must hold"),
    ErrorCode.RANGE_STEP_ZERO: ("range() has the step 0", "give a step that is not 0"),
    ErrorCode.NO_METHOD: (
        "the object at {address:#x} has no class that this call expects",
        "a reference must point to a live object of the declared class",
    ),
    ErrorCode.NEGATIVE_EXPONENT: (
        "an integer has the negative exponent {index}",
        "convert the base to a float first",
    ),
}


def null_reference_used() -> DeviceError:
    """What compiled kernels report, for those that CPython runs."""
    return DeviceError(*_MESSAGES[ErrorCode.NULL])


class ErrorRecords:
    """Error records of the kernels that one backend has loaded, in memory that it can write."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._slabs: list[Slab] = []
        self._free: list[tuple[int, int]] = []
        self._units: dict[tuple[int, int], Unit] = {}

    def claim(self, unit: Unit) -> int:
        """The address of a cleared record for ``unit``."""
        if not self._free:
            self._grow()
        place = self._free.pop()
        self._units[place] = unit
        slab, index = place
        return int(self._slabs[slab].address + index * RECORD_DTYPE.itemsize)

    def release(self, unit: Unit) -> None:
        place = next(place for place, owner in self._units.items() if owner is unit)
        del self._units[place]
        self._free.append(place)

    def _grow(self) -> None:
        slab = self._provider.allocate(RECORDS_PER_SLAB * RECORD_DTYPE.itemsize)
        slab.memory[:] = 0
        self._slabs.append(slab)
        self._free += [(len(self._slabs) - 1, i) for i in reversed(range(RECORDS_PER_SLAB))]

    def raise_first(self) -> None:
        """Clear all records; raise DeviceError for the first that was filled.

        Call it when nothing is under way of what the calling thread launched. A record that the
        kernel of another thread is still filling has no code yet; it is for that thread to find.
        """
        for number, slab in enumerate(self._slabs):
            records = slab.memory[: RECORDS_PER_SLAB * RECORD_DTYPE.itemsize].view(RECORD_DTYPE)
            filled = np.flatnonzero(records["flag"])
            if not len(filled):
                continue
            copies = records[filled]
            told = np.flatnonzero(copies["code"])
            if not len(told):
                continue
            filled, record = filled[told], copies[told[0]]
            unit = self._units[number, int(filled[0])]
            records[filled] = np.zeros((), RECORD_DTYPE)
            raise _error(unit, record)


def _error(unit: Unit, record: Any) -> DeviceError:
    code, value = int(record["code"]), int(record["value"])
    message, help = _MESSAGES[code]
    text = message.format(
        address=value,
        index=value - (1 << 64) if value >> 63 else value,
        extra=int(record["extra"]),
    )
    site, lowered = int(record["site"]), unit.compilation.lowered
    if asserted := lowered.assertion_texts.get(site):
        text = f"{text}: {asserted}"
    x, y = int(record["thread_x"]), int(record["thread_y"])
    thread = "" if x < 0 else f", thread {x if y <= 0 else (x, y)}"
    text = f"kernel {unit.name}{thread}: {text}"
    sites = lowered.source_sites
    location = sites[site] if 0 <= site < len(sites) else None
    if location is None and not unit.compilation.debug:
        help = f"{help}; {_DEBUG_HELP} to see the source line"
    return DeviceError(str(Diagnostic(text, location)), help)
