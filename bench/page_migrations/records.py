"""Records of CUPTI's activity API: how the two kinds that are read begin, and what they say.

Newer versions of CUPTI append fields to a record and never move one: what is declared here is the
part that CUpti_ActivityUnifiedMemoryCounter2 and 3 (until and from CUDA 12.8) and
CUpti_ActivityKernel4 to 13 (CUDA 9 to 13.5) have in common. The library itself steps from record to
record, so their whole sizes need not be known.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

from .cupti import CuptiError

#: CUpti_ActivityKind.
KERNEL, UNIFIED_MEMORY = 10, 25
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

_MOST_THREADS_OF_BLOCK = 1024
_LONGEST = 3600 * 10**9
"""Nanoseconds that nothing takes."""
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


class KernelHead(ctypes.Structure):
    """CUpti_ActivityKernel4 up to its name."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("cacheConfig", ctypes.c_uint8),
        ("sharedMemoryConfig", ctypes.c_uint8),
        ("registersPerThread", ctypes.c_uint16),
        ("partitionedGlobalCacheRequested", ctypes.c_uint32),
        ("partitionedGlobalCacheExecuted", ctypes.c_uint32),
        ("start", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("completed", ctypes.c_uint64),
        ("deviceId", ctypes.c_uint32),
        ("contextId", ctypes.c_uint32),
        ("streamId", ctypes.c_uint32),
        ("gridX", ctypes.c_int32),
        ("gridY", ctypes.c_int32),
        ("gridZ", ctypes.c_int32),
        ("blockX", ctypes.c_int32),
        ("blockY", ctypes.c_int32),
        ("blockZ", ctypes.c_int32),
        ("staticSharedMemory", ctypes.c_int32),
        ("dynamicSharedMemory", ctypes.c_int32),
        ("localMemoryPerThread", ctypes.c_uint32),
        ("localMemoryTotal", ctypes.c_uint32),
        ("correlationId", ctypes.c_uint32),
        ("gridId", ctypes.c_int64),
        ("name", ctypes.c_char_p),
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
class KernelRun:
    """One launch, by the name that the kernel has on the device."""

    name: str
    start: int
    end: int

    @property
    def seconds(self) -> float:
        return (self.end - self.start) * 1e-9


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
        block = record.blockX * record.blockY * record.blockZ
        grid = min(record.gridX, record.gridY, record.gridZ)
        name = record.name
        if not (0 < block <= _MOST_THREADS_OF_BLOCK and grid > 0 and name):
            raise _strange(f"a kernel {name!r} with {block} threads a block")
        if record.start == record.end == 0:
            self.untimed += 1
            return
        _require_span(f"kernel {name!r}", record.start, record.end)
        self.kernels.append(KernelRun(name.decode(errors="replace"), record.start, record.end))

    def _read_counter(self, record: CounterHead) -> None:
        kind, start, end = record.counterKind, record.start, record.end
        if kind in DIRECTIONS:
            _require_span("a migration", start, end)
            cause = _name(CAUSES, record.flags, "cause of a migration")
            if not record.value:
                raise _strange("a migration of no bytes")
            self.migrations.append(
                Migration(DIRECTIONS[kind], cause, record.address, record.value, start, end)
            )
        elif kind == GPU_FAULT:
            # One that ended with its process has no end.
            end = max(start, end)
            _require_span("a fault of the GPU", start, end)
            access = _name(ACCESSES, record.flags, "access that faulted")
            self.gpu_faults.append(GpuFault(record.value, access, record.address, start, end))
        elif kind == CPU_FAULT:
            # Its value is where the program was, and it has no end.
            self.cpu_faults.append(CpuFault(record.address, start))
        elif kind in (THRASHING, THROTTLING, REMOTE_MAP, BETWEEN_DEVICES):
            names = ("thrashing", "throttling", "remote map", "between devices")
            self.others.append(OtherEvent(names[kind - THRASHING], start))
        else:
            raise _strange(f"a counter of unified memory of kind {kind}")


def _name(names: tuple[str, ...], number: int, what: str) -> str:
    if number >= _MOST_NAMES:
        raise _strange(f"{number} as {what}")
    return names[number] if number < len(names) else f"number {number}"


def _require_span(what: str, start: int, end: int) -> None:
    if not 0 < start <= end < start + _LONGEST:
        raise _strange(f"{what} from {start} to {end} ns")


def _strange(what: str) -> CuptiError:
    return CuptiError(
        f"CUPTI's record shows {what}: it is not laid out as expected",
        "compare the structs of this CUPTI's cupti_activity.h with "
        "bench/page_migrations/records.py",
    )
