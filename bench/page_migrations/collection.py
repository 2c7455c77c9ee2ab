"""Collecting CUPTI's records of kernels and unified memory of this process."""

from __future__ import annotations

import ctypes

from bench.cupti.buffers import Buffers, dropped_records, flush, records_in
from bench.cupti.kernel_records import KERNEL
from bench.cupti.library import Cupti, CuptiError

from . import records
from .records import UNIFIED_MEMORY, Records

#: Counted where the driver can, and at least.
_COUNTERS = (
    records.TO_DEVICE, records.TO_HOST, records.CPU_FAULT, records.GPU_FAULT,
    records.THRASHING, records.REMOTE_MAP,
)  # fmt: skip
_FEWEST_COUNTERS = _COUNTERS[:4]
_ONE_DEVICE_OF_PROCESS = 1


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
        call = self._cupti.call
        self._buffers.register(self._cupti)
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
        flush(self._cupti)
        if not self.refused:
            call("cuptiActivityDisable", UNIFIED_MEMORY)
        call("cuptiActivityDisable", KERNEL)
        flush(self._cupti)
        found = Records()
        strange: list[CuptiError] = []
        for address, valid in self._buffers.filled():
            self._read(address, valid, found, strange)
        if strange:
            self.gaps.append(f"{len(strange):,} records were left out; of the first: {strange[0]}")
        dropped = dropped_records(self._cupti)
        if dropped or self._buffers.ran_out:
            self.gaps.append(
                f"{dropped:,} records were dropped; there was room for "
                f"{self._buffers.room:,} bytes of them"
            )
        if found.untimed:
            self.gaps.append(f"{found.untimed:,} launches have no times")
        return found

    def _read(self, buffer: int, valid: int, found: Records, strange: list[CuptiError]) -> None:
        try:
            for record in records_in(self._cupti, buffer, valid):
                try:
                    found.read(record)
                except CuptiError as problem:
                    strange.append(problem)
        except CuptiError as problem:
            self.gaps.append(str(problem))
