"""CUPTI's activity records of kernels: how they begin, and what they say.

Newer versions of CUPTI append fields to a record and never move one: what is declared here is the
part that CUpti_ActivityKernel4 to 13 (CUDA 9 to 13.5) have in common. The library itself steps from
record to record, so their whole sizes need not be known.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from .library import DECLARATIONS, CuptiError

#: CUpti_ActivityKind: kernels that may run beside each other, which this kind leaves to do so.
KERNEL = 10

_MOST_THREADS_OF_BLOCK = 1024
_LONGEST = 3600 * 10**9
"""Nanoseconds that nothing takes."""


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
class KernelRun:
    """One launch, by the name that the kernel has on the device."""

    name: str
    start: int
    end: int

    @property
    def seconds(self) -> float:
        return (self.end - self.start) * 1e-9


def read_kernel(record: KernelHead) -> KernelRun | None:
    """What a record says; None for a kernel that CUPTI could not time.

    Raises CuptiError for one that cannot be what it should be by our layout.
    """
    block = record.blockX * record.blockY * record.blockZ
    grid = min(record.gridX, record.gridY, record.gridZ)
    name = record.name
    if not (0 < block <= _MOST_THREADS_OF_BLOCK and grid > 0 and name):
        raise strange_record(f"a kernel {name!r} with {block} threads a block")
    if record.start == record.end == 0:
        return None
    require_span(f"kernel {name!r}", record.start, record.end)
    return KernelRun(name.decode(errors="replace"), record.start, record.end)


def require_span(what: str, start: int, end: int) -> None:
    """Raises CuptiError unless something can last from ``start`` to ``end`` nanoseconds."""
    if not 0 < start <= end < start + _LONGEST:
        raise strange_record(f"{what} from {start} to {end} ns")


def strange_record(what: str) -> CuptiError:
    """The error for a record that cannot be."""
    return CuptiError(
        f"CUPTI's record shows {what}: it is not laid out as expected",
        f"compare the structs of this CUPTI's cupti_activity.h with {DECLARATIONS}",
    )
