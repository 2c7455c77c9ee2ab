"""Drops functions that nothing calls."""

from __future__ import annotations

from collections.abc import Iterator

from ..core import Function, Program, operations_in


def drop_uncalled(program: Program) -> None:
    """Keep the kernel and what it reaches."""
    kept = {program.kernel.symbol}
    pending = [program.kernel]
    while pending:
        for symbol in called_by(pending.pop()):
            if symbol not in kept:
                kept.add(symbol)
                pending.append(program.functions[symbol])
    for symbol in [*program.functions]:
        if symbol not in kept:
            del program.functions[symbol]


def called_by(function: Function) -> Iterator[str]:
    """The symbols of the functions that a function may call."""
    for operation in operations_in(function):
        if operation.kind == "call":
            yield operation["symbol"]
        elif operation.kind == "call_virtual":
            for candidate in operation["candidates"]:
                yield candidate.symbol
