"""Functions that a module only declares: those of the CUDA runtime."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import Trap

if TYPE_CHECKING:
    from .machine import Machine


def _malloc(machine: Machine, size: int) -> int:
    return machine.allocate(max(size, 1), f"malloc({size})")


def _free(machine: Machine, address: int) -> int:
    if address:
        machine.free(address)
    return 0


def _vprintf(machine: Machine, format: int, arguments: int) -> int:
    """Arguments lie in memory, 8 bytes each."""
    given = iter(range(arguments, arguments + (1 << 20), 8))

    def text(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        block, offset = machine.memory.find("", next(given), 8, 8)
        (value,) = struct.unpack_from(_WORDS.get(match[2], "d"), block.data, offset)
        return f"%{match[1]}{match[2]}" % (_text_at(machine, value) if match[2] == "s" else value)

    sys.stdout.write(_CONVERSION.sub(text, _text_at(machine, format)))
    return 0


_CONVERSION = re.compile(r"%(?:%|([-+ 0]*\d*(?:\.\d+)?)(?:ll)?([sduefgEFG]))")
_WORDS = {"s": "Q", "u": "Q", "d": "q"}


def _text_at(machine: Machine, address: int) -> str:
    block, offset = machine.memory.find("", address, 1)
    return bytes(block.data[offset:]).partition(b"\0")[0].decode()


def _assertfail(machine: Machine, *arguments: Any) -> int:
    raise Trap("an assertion failed")


BUILTINS: dict[str, Callable[..., int]] = {
    "malloc": _malloc, "free": _free, "vprintf": _vprintf, "__assertfail": _assertfail,
}  # fmt: skip
