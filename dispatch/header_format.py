"""What precedes the fields of an object, by mode.

A vtable pointer is the address of a vtable record (``vtable_record``), never of code. So one
pointer serves CPU and GPU alike: the paper's SharedOA has one for each ("Judging a Type by Its
Pointer", section 4), its artifact one slot that is patched before and after launches.
"""

from __future__ import annotations

import struct

from dispatch.dataclass import dataclass


@dataclass(frozen=True)
class HeaderFormat:
    """``size`` bytes at the object's address, aligned to ``alignment``."""

    name: str
    size: int
    alignment: int

    def pack(self, type_index: int, vtable: int) -> bytes:
        """The header of an object: ``size`` bytes, little endian."""
        if self == TYPE_TAG:
            return struct.pack("<I", type_index)
        if self == VTABLE_POINTER:
            return struct.pack("<Q", vtable)
        return b""


NO_HEADER = HeaderFormat("none", 0, 1)
TYPE_TAG = HeaderFormat("type tag", 4, 4)
VTABLE_POINTER = HeaderFormat("vtable pointer", 8, 8)
