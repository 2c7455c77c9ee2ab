"""Which functions a program's calls may run, for passes that look through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from ..core import Function, Operation, Program, operations_in
from ..operations import kind_of

_CALLING = ("call", "call_virtual")


def is_known(operation: Operation) -> bool:
    """Whether it is known what an operation does, and which functions it calls."""
    kind = kind_of(operation)
    if kind is None or kind.is_unknown:
        return False
    return not kind.calls or operation.kind in _CALLING


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


class Inside:
    """Whether something is so of an operation, or of one within it or in what it calls."""

    def __init__(self, program: Program, holds: Callable[[Operation], bool]) -> None:
        self._program, self._holds = program, holds

    def of(self, operation: Operation) -> bool:
        regions = operation.regions
        within = (each for region in regions for each in region.operations)
        return (
            self._holds(operation)
            or not self._functions.isdisjoint(callees(operation))
            or any(map(self.of, within))
        )

    @cached_property
    def _functions(self) -> set[str]:
        """The functions of which it is so; those that call each other are alike."""
        callers: dict[str, list[str]] = {}
        found: set[str] = set()
        for symbol, function in self._program.functions.items():
            if any(map(self._holds, operations_in(function))):
                found.add(symbol)
            for called in called_by(function):
                callers.setdefault(called, []).append(symbol)
        pending = [*found]
        while pending:
            new = [each for each in callers.get(pending.pop(), ()) if each not in found]
            found.update(new)
            pending += new
        return found
