"""Records of CUPTI packed by hand, from what NVIDIA's headers of CUDA 13.0 say."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

from bench.page_migrations.records import Records

PAGE = 4096
#: Causes of migrations.
ASKED, FAULT, BESIDE = 1, 2, 3
#: Where memory lies.
BASE = 0x7F00_0000_0000

#: CUpti_ActivityUnifiedMemoryCounter3; its first 64 bytes are CUpti_ActivityUnifiedMemoryCounter2.
_COUNTER = struct.Struct("<II QQQQ IIIIII 5Q")
#: CUpti_ActivityKernel10 up to its name, and the rest.
_KERNEL = struct.Struct("<I BBH II QQQ III iii iii ii III q Q 104x")
assert (_COUNTER.size, _KERNEL.size) == (104, 216)


def counter(kind, value, start, end=None, address=BASE, flags=0):
    end = start if end is None else end
    identities = (0, 1, 0, 4711)
    return _COUNTER.pack(25, kind, value, start, end, address, *identities, flags, 0, *[0] * 5)


def to_device(size, cause, start, end, address=BASE):
    return counter(1, size, start, end, address, cause)


def to_host(size, cause, start, end, address=BASE):
    return counter(2, size, start, end, address, cause)


def cpu_fault(start, address=BASE):
    """Its value is where the program was, its end means nothing."""
    return counter(3, 0x55_5555_1234, start, 0, address)


def gpu_fault(groups, start, end, address=BASE, access=1):
    return counter(4, groups, start, end, address, access)


def kernel(name, start, end, grid=(9, 1, 1), block=(256, 1, 1)):
    """``name`` is an address, or a place in the names of pretend_cupti.c."""
    return _KERNEL.pack(
        10, 0, 0, 32, 0, 0, start, end, end, 0, 1, 7, *grid, *block, 0, 0, 0, 0, 99, 5, name
    )


def write(records, file: Path) -> Path:
    """The file that pretend_cupti.c reads."""
    file.write_bytes(b"".join(struct.pack("<Q", len(r)) + r for r in records))
    return file


def read(*records):
    """The records as if CUPTI had put them into memory."""
    found = Records()
    for record in records:
        memory = ctypes.create_string_buffer(record, len(record))
        found.read(ctypes.addressof(memory))
    return found


#: A run whose first step is from 5000 to 6000. Kernels by their place in pretend_cupti.c.
RUN = (
    to_device(2 << 20, ASKED, 1500, 1600),
    kernel(1, 5100, 5400),
    cpu_fault(5200),
    gpu_fault(2, 5200, 5300),
    kernel(2, 6100, 6200),
    to_host(PAGE, FAULT, 10**9, 10**9 + 10),
)
