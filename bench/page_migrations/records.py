"""Records of unified memory: how they begin and what they say; and all records of a process.

What is declared here is the part that CUpti_ActivityUnifiedMemoryCounter2 and 3 (until and from
CUDA 12.8) have in common.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

from bench.cupti.kernel_records import (
    KERNEL,
    KernelHead,
    KernelRun,
    read_kernel,
    require_span,
    strange_record,
)

#: CUpti_ActivityKind.
UNIFIED_MEMORY = 25
#: CUpti_ActivityUnifiedMemoryCounterKind.
TO_DEVICE, TO_HOST, CPU_FAULT, GPU_FAULT, THRASHING, THROTTLING, REMOTE_MAP, BETWEEN_DEVICES = (
    range(1, 9)
)
DIRECTIONS = {TO_DEVICE: "to device", TO_HOST: "to host"}
#: CUpti_ActivityUnifiedMemoryMigrationCause: why memory moved. ``ASKED_FOR`` is a call of
#: cuMemPrefetchAsync, "beside a fault" what the driver guesses will be touched next (its prefetch).
ASKED_FOR = "asked for"
CAUSES = ("unknown", ASKED_FOR, "fault", "beside a fault", "eviction", "access counters")
#: CUpti_ActivityUnifiedMemoryAccessType: what faulted.
ACCESSES = ("unknown", "read", "write", "atomic", "prefetch")

_MOST_NAMES = 32
"""More than newer versions of CUPTI may tell apart."""


class CounterHead(ctypes.Structure):
    """CUpti_ActivityUnifiedMemoryCounter2: all of it."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("counterKind", ctypes.c_uint32),
        ("value", ctypes.c_uint64),
        ("start", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("srcId", ctypes.c_uint32),
        ("dstId", ctypes.c_uint32),
        ("streamId", ctypes.c_uint32),
        ("processId", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
    )


@dataclass(frozen=True)
class Migration:
    """``bytes`` from ``address`` on moved, from ``start`` to ``end``; times are nanoseconds."""

    direction: str
    cause: str
    address: int
    bytes: int
    start: int
    end: int

    @property
    def asked_for(self) -> bool:
        return self.cause == ASKED_FOR


@dataclass(frozen=True)
class GpuFault:
    """``groups`` of faults of the GPU on one page, handled from ``start`` to ``end``."""

    groups: int
    access: str
    address: int
    start: int
    end: int


@dataclass(frozen=True)
class CpuFault:
    """One fault of the host."""

    address: int
    start: int


@dataclass(frozen=True)
class OtherEvent:
    """Thrashing, throttling or memory mapped from afar: ``what``."""

    what: str
    start: int


@dataclass
class Records:
    """What was collected of one process."""

    migrations: list[Migration] = field(default_factory=list)
    gpu_faults: list[GpuFault] = field(default_factory=list)
    cpu_faults: list[CpuFault] = field(default_factory=list)
    others: list[OtherEvent] = field(default_factory=list)
    kernels: list[KernelRun] = field(default_factory=list)
    #: Kernels that CUPTI could not time.
    untimed: int = 0

    @property
    def unified_memory(self) -> int:
        """Records of unified memory."""
        faults = len(self.gpu_faults) + len(self.cpu_faults)
        return len(self.migrations) + faults + len(self.others)

    def read(self, address: int) -> None:
        """Take in the record at ``address``; what was not asked for is left out.

        Raises CuptiError for one that cannot be what it should be by our layout.
        """
        kind = ctypes.c_uint32.from_address(address).value
        if kind == KERNEL:
            self._read_kernel(KernelHead.from_address(address))
        elif kind == UNIFIED_MEMORY:
            self._read_counter(CounterHead.from_address(address))

    def _read_kernel(self, record: KernelHead) -> None:
        run = read_kernel(record)
        if run is None:
            self.untimed += 1
        else:
            self.kernels.append(run)

    def _read_counter(self, record: CounterHead) -> None:
        kind, start, end = record.counterKind, record.start, record.end
        if kind in DIRECTIONS:
            require_span("a migration", start, end)
            cause = _name(CAUSES, record.flags, "cause of a migration")
            if not record.value:
                raise strange_record("a migration of no bytes")
            self.migrations.append(
                Migration(DIRECTIONS[kind], cause, record.address, record.value, start, end)
            )
        elif kind == GPU_FAULT:
            # One that ended with its process has no end.
            end = max(start, end)
            require_span("a fault of the GPU", start, end)
            access = _name(ACCESSES, record.flags, "access that faulted")
            self.gpu_faults.append(GpuFault(record.value, access, record.address, start, end))
        elif kind == CPU_FAULT:
            # Its value is where the program was, and it has no end.
            self.cpu_faults.append(CpuFault(record.address, start))
        elif kind in (THRASHING, THROTTLING, REMOTE_MAP, BETWEEN_DEVICES):
            names = ("thrashing", "throttling", "remote map", "between devices")
            self.others.append(OtherEvent(names[kind - THRASHING], start))
        else:
            raise strange_record(f"a counter of unified memory of kind {kind}")


def _name(names: tuple[str, ...], number: int, what: str) -> str:
    if number >= _MOST_NAMES:
        raise strange_record(f"{number} as {what}")
    return names[number] if number < len(names) else f"number {number}"
