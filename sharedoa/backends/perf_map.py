"""Tells ``perf`` of Linux which addresses are functions of kernels: ``/tmp/perf-<pid>.map``.

The format is that of tools/perf/Documentation/jit-interface.txt in Linux: a line a function, its
address and size in hexadecimal digits, and its name.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConfigurationError

_SYMBOL_TABLE, _FUNCTION = 2, 2
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@dataclass(frozen=True)
class Function:
    """A function of an object file: its section's number, where in that it begins, its bytes."""

    name: str
    section: int
    offset: int
    size: int


def functions(object_code: bytes) -> Iterator[Function]:
    """Those that an ELF file of 64 bits, little endian, defines (System V ABI, chapter 4)."""
    (headers,) = struct.unpack_from("<Q", object_code, 0x28)
    step, count = struct.unpack_from("<HH", object_code, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", object_code, headers + number * step)
        for number in range(count)
    ]
    for _, kind, _, _, begin, size, link, _, _, entry in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for place in range(begin, begin + size, entry):
            name, info, _, section, offset, length = struct.unpack_from(
                "<IBBHQQ", object_code, place
            )
            if info & 0xF == _FUNCTION and section:
                end = object_code.index(b"\0", names + name)
                yield Function(object_code[names + name : end].decode(), section, offset, length)


class PerfMap:
    """The map of this process."""

    def __init__(self) -> None:
        """Raises ConfigurationError where there is no ``perf``, or its file cannot be written."""
        if sys.platform != "linux":
            raise ConfigurationError("perf maps are for Linux", "leave out --perf-map")
        self.file = Path(f"/tmp/perf-{os.getpid()}.map")
        try:
            # Python writes to it, too, if it is asked to; else it is of a process that has ended.
            if not getattr(sys, "is_stack_trampoline_active", lambda: False)():
                self.file.unlink(missing_ok=True)
            self._write("")
        except OSError as error:
            raise ConfigurationError(
                f"--perf-map: {self.file} cannot be written: {error.strerror}", "remove it"
            ) from error

    def add(self, object_code: bytes, symbol: str, address: int) -> None:
        """``object_code`` was loaded, and its function ``symbol`` lies at ``address``."""
        found = [*functions(object_code)]
        known = next(each for each in found if each.name == symbol)
        self._write(
            "".join(
                f"{address + each.offset - known.offset:x} {each.size:x} {each.name}\n"
                for each in found
                # Others lie somewhere else.
                if each.section == known.section
            )
        )

    def _write(self, text: str) -> None:
        opened = os.open(self.file, _FLAGS | os.O_NOFOLLOW, 0o600)
        try:
            os.write(opened, text.encode())
        finally:
            os.close(opened)
