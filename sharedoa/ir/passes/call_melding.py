"""Functions that threads of a warp should run together, though they come from different methods of
a call, or from different branches of an ``if``. They are marked here; ``targets.common_calls``
brings their calls together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..core import Function, Operation, Program, Region, Value, operations_in
from ..operations import Effects, kind_of
from ..uniformity import is_of_launch
from .calls import callees


def mark_common_functions(program: Program) -> None:
    """Mark functions with loops that ways of the program lead to which exclude one another. Other
    functions take less time than meeting."""
    if any(kind_of(operation) is None for operation in operations_in(program)):
        return
    calls = _Calls(program)
    loops = {symbol for symbol, function in program.functions.items() if _has_loop(function)}
    found: set[str] = set()
    for function in program.functions.values() if loops else ():
        found |= loops & calls.on_several_ways(function)
    for symbol in found:
        program.functions[symbol].melded = symbol not in calls.behind(symbol)


def _has_loop(function: Function) -> bool:
    return any((kind := kind_of(o)) is not None and kind.is_loop for o in operations_in(function))


class _Calls:
    """Which functions lead to which."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._behind: dict[str, frozenset[str]] = {}

    def on_several_ways(self, function: Function) -> set[str]:
        """What several methods of one call in ``function`` lead to, or several branches."""
        found: set[str] = set()
        for operation in operations_in(function):
            if operation.kind == "call_virtual":
                methods = callees(operation)
                found |= _several([self.behind(method) | {method} for method in methods])
        for test, *branches in _branches(function.body):
            common = _several([self._below(branch) for branch in branches])
            # About the thread's number warps mostly agree, as they do about which objects are
            # theirs (``runtime.stretches``).
            if common and not is_of_launch(test, function, Effects.ASKS_THREAD):
                found |= common
        return found

    def behind(self, symbol: str) -> frozenset[str]:
        """What a function calls, and what that calls."""
        if symbol not in self._behind:
            found: set[str] = set()
            pending = [symbol]
            while pending:
                new = self._called(self._program.functions[pending.pop()].body.operations) - found
                found |= new
                pending += new
            self._behind[symbol] = frozenset(found)
        return self._behind[symbol]

    def _below(self, operations: Sequence[Operation]) -> frozenset[str]:
        called = self._called(operations)
        return frozenset().union(called, *map(self.behind, called))

    def _called(self, operations: Iterable[Operation]) -> set[str]:
        found: set[str] = set()
        for operation in operations_in(Region([], [*operations])):
            found.update(callees(operation))
        return found


def _several(ways: Sequence[frozenset[str]]) -> set[str]:
    """What is in more than one of them."""
    counts = Counter(symbol for way in ways for symbol in way)
    return {symbol for symbol, count in counts.items() if count > 1}


def _branches(
    region: Region,
) -> Iterator[tuple[Value, Sequence[Operation], Sequence[Operation]]]:
    """Tests, and operations of which a thread runs the former or the latter; what follows a branch
    that returns is as good as the other one."""
    for place, operation in enumerate(region.operations):
        if operation.kind == "if":
            then, otherwise = operation.regions
            rest = region.operations[place + 1 :]
            returns = then.terminator.kind == "return"
            yield (
                operation.operands[0],
                then.operations,
                [*otherwise.operations, *(rest if returns else ())],
            )
        for inner in operation.regions:
            yield from _branches(inner)
