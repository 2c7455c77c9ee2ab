"""Which functions a program's calls may run, for passes that look through them."""

from __future__ import annotations

from collections.abc import Collection

from ..core import Operation


def callees(operation: Operation, populated: Collection[int] | None) -> list[str]:
    """The symbols of what an operation may call, where receivers can have the classes whose type
    indices are ``populated``; None: all."""
    if operation.kind == "call":
        return [operation["symbol"]]
    if operation.kind != "call_virtual":
        return []
    met = (
        candidate.symbol
        for candidate in operation["candidates"]
        if populated is None or candidate.cls.type_index in populated
    )
    return list(dict.fromkeys(met))
