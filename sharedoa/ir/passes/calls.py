"""Which functions a program's calls may run, for passes that look through them."""

from __future__ import annotations

from collections.abc import Iterator

from ..core import Function, Operation, operations_in


def callees(operation: Operation) -> list[str]:
    """The symbols of what an operation may call."""
    if operation.kind == "call":
        return [operation["symbol"]]
    if operation.kind != "call_virtual":
        return []
    return list(dict.fromkeys(candidate.symbol for candidate in operation["candidates"]))


def called_by(function: Function) -> Iterator[str]:
    """The symbols of the functions that a function may call."""
    for operation in operations_in(function):
        yield from callees(operation)
