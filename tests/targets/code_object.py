"""What an object for AMD's GPUs says of its kernels: the note that the driver reads (LLVM's "User
Guide for AMDGPU Backend", "Code Object Metadata")."""

from __future__ import annotations

import struct
from typing import Any

_NOTES, _AMD, _METADATA = 7, b"AMDGPU\0", 32


def metadata(code: bytes) -> dict[str, Any]:
    """The metadata of an ELF file, as maps and lists."""
    sections, size, count = struct.unpack_from("<Q10xHH", code, 40)
    for number in range(count):
        _, kind, _, _, start, length = struct.unpack_from("<IIQQQQ", code, sections + number * size)
        if kind == _NOTES:
            names, described, type = struct.unpack_from("<III", code, start)
            name = code[start + 12 : start + 12 + names]
            if name == _AMD and type == _METADATA:
                found = start + 12 + -(-names // 4) * 4
                assert found + described <= start + length
                value, end = _decoded(code, found)
                assert end == found + described
                return value
    raise AssertionError("there is no metadata")


def _decoded(code: bytes, at: int) -> tuple[Any, int]:
    """A value of MessagePack of those kinds that LLVM writes, and where it ends."""
    tag, after = code[at], at + 1
    if tag < 0x80:
        return tag, after
    if tag < 0x90 or tag == 0xDE:
        count, after = (tag & 15, after) if tag < 0x90 else _number(code, after, 2)
        found = {}
        for _ in range(count):
            key, after = _decoded(code, after)
            found[key], after = _decoded(code, after)
        return found, after
    if tag < 0xA0 or tag == 0xDC:
        count, after = (tag & 15, after) if tag < 0xA0 else _number(code, after, 2)
        items = []
        for _ in range(count):
            item, after = _decoded(code, after)
            items.append(item)
        return items, after
    if tag < 0xC0 or tag in (0xD9, 0xDA):
        size, after = (tag & 31, after) if tag < 0xC0 else _number(code, after, 1 << (tag - 0xD9))
        return code[after : after + size].decode(), after + size
    if tag in (0xC2, 0xC3):
        return tag == 0xC3, after
    return _number(code, after, 1 << (tag - 0xCC))


def _number(code: bytes, at: int, size: int) -> tuple[int, int]:
    return int.from_bytes(code[at : at + size], "big"), at + size
