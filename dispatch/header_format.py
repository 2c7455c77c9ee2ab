"""What precedes the fields of an object, by mode.

A vtable pointer is the address of a vtable record (``vtable_record``), never of code. An object
that CPU and GPU share carries one for each, so that neither has to be patched before a launch
("Judging a Type by Its Pointer", section 4).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class HeaderFormat:
    """``size`` bytes at the object's address, aligned to ``alignment``.

    ``device_vtable_offset`` and ``host_vtable_offset`` count bytes from the object's address.
    """

    name: str
    size: int
    alignment: int
    host_vtable_offset: int = 0
    device_vtable_offset: int = 0

    def vtable_offset(self, on_device: bool) -> int:
        """Where code on the device, or on the host, finds its vtable pointer."""
        return self.device_vtable_offset if on_device else self.host_vtable_offset

    def pack(self, type_index: int, host_vtable: int, device_vtable: int, on_device: bool) -> bytes:
        """The header of an object: ``size`` bytes, little endian.

        With room for one vtable pointer only, it is the device's if ``on_device``.
        """
        if self == TYPE_TAG:
            return struct.pack("<I", type_index)
        if self == VTABLE_POINTER:
            return struct.pack("<Q", device_vtable if on_device else host_vtable)
        if self == TWO_VTABLE_POINTERS:
            return struct.pack("<QQ", host_vtable, device_vtable)
        return b""


NO_HEADER = HeaderFormat("none", 0, 1)
TYPE_TAG = HeaderFormat("type tag", 4, 4)
VTABLE_POINTER = HeaderFormat("vtable pointer", 8, 8)
TWO_VTABLE_POINTERS = HeaderFormat("host and device vtable pointers", 16, 8, 0, 8)
