"""Functions that a module only declares: those of the CUDA runtime."""

from __future__ import annotations

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
    """Prints nothing, but its pointers must be good."""
    machine.memory.find("", format, 1)
    if arguments:
        machine.memory.find("", arguments, 1)
    return 0


def _assertfail(machine: Machine, *arguments: Any) -> int:
    raise Trap("an assertion failed")


BUILTINS: dict[str, Callable[..., int]] = {
    "malloc": _malloc, "free": _free, "vprintf": _vprintf, "__assertfail": _assertfail,
}  # fmt: skip
