"""Collecting CUPTI's records of this process.

CUPTI asks for buffers and gives them back by calling two functions, from threads of its own too and
holding its locks. They are native code of ours: Python's would wait there for the interpreter's
lock, whose holder may at that time be waiting in the driver for a lock of CUPTI's. LLVM, which is
always there, compiles them; a compiler of C may not be. They only hand out the pieces of memory
that was made before and note how much of each was filled. The records are read in the end.
"""

from __future__ import annotations

import ctypes

import numpy as np

from sharedoa.backends.native_code import NativeLibrary, host_target

from . import records
from .cupti import INVALID_KIND, MAX_LIMIT_REACHED, SUCCESS, Cupti, CuptiError
from .records import KERNEL, UNIFIED_MEMORY, Records

#: The memory that records are collected in: ordinary memory takes no space until it is used.
BUFFERS, BUFFER_BYTES = 128, 4 << 20
#: Counted where the driver can, and at least.
_COUNTERS = (
    records.TO_DEVICE, records.TO_HOST, records.CPU_FAULT, records.GPU_FAULT,
    records.THRASHING, records.REMOTE_MAP,
)  # fmt: skip
_FEWEST_COUNTERS = _COUNTERS[:4]
_ONE_DEVICE_OF_PROCESS = 1
_FORCED = 1


class Buffers:
    """Pieces of memory that CUPTI fills; ``requested`` and ``completed`` are the addresses of the
    functions that it calls."""

    def __init__(self, count: int = BUFFERS, size: int = BUFFER_BYTES) -> None:
        self._count, self._size = count, size
        self._memory = np.zeros(count * size, np.uint8)
        #: How many were asked for, and the bytes that each was filled with.
        self._taken = ctypes.c_uint64()
        self._filled = (ctypes.c_uint64 * count)()
        code = host_target().compile(self._code())["o"]
        assert isinstance(code, bytes)
        self._library = NativeLibrary(code, ("requested", "completed"), {})
        self.requested = self._library.address("requested")
        self.completed = self._library.address("completed")

    def filled(self) -> list[tuple[int, int]]:
        """Address and valid bytes of what was given back, in the order of being handed out."""
        base = self._memory.ctypes.data
        return [(base + n * self._size, valid) for n, valid in enumerate(self._filled) if valid]

    @property
    def room(self) -> int:
        """Bytes of records that fit."""
        return self._count * self._size

    @property
    def ran_out(self) -> bool:
        """Whether CUPTI asked for more than there are."""
        return self._taken.value > self._count

    def _code(self) -> str:
        base, taken = self._memory.ctypes.data, ctypes.addressof(self._taken)
        filled = ctypes.addressof(self._filled)
        return f"""
define void @requested(ptr %buffer, ptr %size, ptr %most_records) {{
  store i64 0, ptr %most_records
  %number = atomicrmw add ptr inttoptr (i64 {taken} to ptr), i64 1 seq_cst
  %is_there = icmp ult i64 %number, {self._count}
  %offset = mul i64 %number, {self._size}
  %place = add i64 %offset, {base}
  %given = select i1 %is_there, i64 %place, i64 0
  %bytes = select i1 %is_there, i64 {self._size}, i64 0
  %pointer = inttoptr i64 %given to ptr
  store ptr %pointer, ptr %buffer
  store i64 %bytes, ptr %size
  ret void
}}
define void @completed(ptr %context, i32 %stream, ptr %buffer, i64 %size, i64 %valid) {{
  %place = ptrtoint ptr %buffer to i64
  %offset = sub i64 %place, {base}
  %number = udiv i64 %offset, {self._size}
  %filled = getelementptr i64, ptr inttoptr (i64 {filled} to ptr), i64 %number
  store i64 %valid, ptr %filled
  ret void
}}
"""


class Collection:
    """Records of kernels and unified memory from ``start`` to ``finish``, once a process."""

    def __init__(self, cupti: Cupti, buffers: Buffers) -> None:
        self._cupti, self._buffers = cupti, buffers
        #: Why the driver does not tell of unified memory; kernels are timed all the same.
        self.refused = ""
        #: What may be missing from the records.
        self.gaps: list[str] = []

    def start(self) -> None:
        """Begin, with the driver initialised and no context yet, so that nothing is missed.

        Raises CuptiError if not even kernels can be timed.
        """
        call, buffers = self._cupti.call, self._buffers
        call("cuptiActivityRegisterCallbacks", buffers.requested, buffers.completed)
        call("cuptiActivityEnable", KERNEL)
        try:
            self._configure()
            call("cuptiActivityEnable", UNIFIED_MEMORY)
        except CuptiError as problem:
            self.refused = str(problem)

    def _configure(self) -> None:
        try:
            self._count(_COUNTERS)
        except CuptiError:
            self._count(_FEWEST_COUNTERS)

    def _count(self, counters: tuple[int, ...]) -> None:
        # CUpti_ActivityUnifiedMemoryCounterConfig: scope, kind, device, whether to count.
        words = [w for kind in counters for w in (_ONE_DEVICE_OF_PROCESS, kind, 0, 1)]
        configuration = (ctypes.c_uint32 * len(words))(*words)
        self._cupti.call("cuptiActivityConfigureUnifiedMemoryCounter", configuration, len(counters))

    def finish(self) -> Records:
        """End, after everything on the device has ended, and read what was collected. What may be
        missing, and records that cannot be what they should be, are in ``gaps``.

        Raises CuptiError if it does not end.
        """
        call = self._cupti.call
        # Disabling discards events of unified memory that nobody fetched.
        call("cuptiActivityFlushAll", _FORCED)
        if not self.refused:
            call("cuptiActivityDisable", UNIFIED_MEMORY)
        call("cuptiActivityDisable", KERNEL)
        call("cuptiActivityFlushAll", _FORCED)
        found = Records()
        strange: list[CuptiError] = []
        for address, valid in self._buffers.filled():
            self._read(address, valid, found, strange)
        if strange:
            self.gaps.append(f"{len(strange):,} records were left out; of the first: {strange[0]}")
        dropped = ctypes.c_size_t()
        call("cuptiActivityGetNumDroppedRecords", None, 0, ctypes.byref(dropped))
        if dropped.value or self._buffers.ran_out:
            self.gaps.append(
                f"{dropped.value:,} records were dropped; there was room for "
                f"{self._buffers.room:,} bytes of them"
            )
        if found.untimed:
            self.gaps.append(f"{found.untimed:,} launches have no times")
        return found

    def _read(self, buffer: int, valid: int, found: Records, strange: list[CuptiError]) -> None:
        record = ctypes.c_void_p()
        while True:
            result = self._cupti.result(
                "cuptiActivityGetNextRecord", buffer, valid, ctypes.byref(record)
            )
            if result == SUCCESS:
                assert record.value is not None
                try:
                    found.read(record.value)
                except CuptiError as problem:
                    strange.append(problem)
            elif result == MAX_LIMIT_REACHED:
                return
            else:
                reason = "an incomplete record" if result == INVALID_KIND else f"result {result}"
                self.gaps.append(f"reading a buffer ended early: {reason}")
                return
