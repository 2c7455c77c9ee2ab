"""What object code for this machine has in it: ELF files of 64 bits, little endian (System V ABI,
chapter 4)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from dispatch.dataclass import dataclass

_SYMBOL_TABLE, _FUNCTION = 2, 2
_HEADER = "<IIQQQQIIQQ"
#: Of a section's header: where its flags and its address are, and the flag of what is in memory.
_FLAGS, _ADDRESS, _IN_MEMORY = 8, 16, 2


@dataclass(frozen=True)
class Symbol:
    """A name that an object file defines: its section's number, where in that it begins, and its
    bytes."""

    name: str
    is_function: bool
    section: int
    offset: int
    size: int


def symbols(object_code: bytes) -> Iterator[Symbol]:
    """All that have a place."""
    found = [struct.unpack_from(_HEADER, object_code, at) for at in _headers(object_code)]
    for _, kind, _, _, begin, size, link, _, _, entry in found:
        if kind != _SYMBOL_TABLE:
            continue
        names = found[link][4]
        for place in range(begin, begin + size, entry):
            name, info, _, section, offset, length = struct.unpack_from(
                "<IBBHQQ", object_code, place
            )
            if 0 < section < len(found):
                end = object_code.index(b"\0", names + name)
                text = object_code[names + name : end].decode()
                yield Symbol(text, info & 0xF == _FUNCTION, section, offset, length)


def placed(object_code: bytes, addresses: Mapping[str, int]) -> bytes:
    """The file, saying where it was loaded: sections with one of these symbols have the address
    that follows. Of others it says that they are not in memory, as nobody knows where."""
    begins = {
        each.section: addresses[each.name] - each.offset
        for each in symbols(object_code)
        if each.name in addresses
    }
    made = bytearray(object_code)
    for number, at in enumerate(_headers(object_code)):
        if number in begins:
            struct.pack_into("<Q", made, at + _ADDRESS, begins[number])
        else:
            (flags,) = struct.unpack_from("<Q", made, at + _FLAGS)
            struct.pack_into("<Q", made, at + _FLAGS, flags & ~_IN_MEMORY)
    return bytes(made)


def _headers(object_code: bytes) -> range:
    """Where the headers of sections are."""
    (begin,) = struct.unpack_from("<Q", object_code, 0x28)
    step, count = struct.unpack_from("<HH", object_code, 0x3A)
    return range(begin, begin + step * count, step)
