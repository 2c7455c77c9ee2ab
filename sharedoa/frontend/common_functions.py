"""Functions that threads of a warp should run together, though they come from different methods of
a call, or from different branches of an ``if``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from . import tree
from .effects import ASK_LAUNCH, COMPUTE, all_known
from .walk import methods_met, nodes_in, nodes_of, statements_in


def common_functions(
    program: tree.Program, populated: Collection[int] | None = None
) -> frozenset[str]:
    """The symbols of functions with loops that ways of the program lead to which exclude one
    another. Other functions take less time than meeting. ``populated``: type indices of the classes
    that receivers can have, None for all."""
    if not all_known(program):
        return frozenset()
    calls = _Calls(program, populated)
    loops = {
        symbol
        for symbol, function in program.functions.items()
        if function is not program.kernel and _has_loop(function)
    }
    found: set[str] = set()
    for function in program.functions.values() if loops else ():
        found |= loops & calls.on_several_ways(function)
    return frozenset(symbol for symbol in found if symbol not in calls.behind(symbol))


def _has_loop(function: tree.Function) -> bool:
    return any(isinstance(s, (tree.ForRange, tree.While)) for s in statements_in(function.body))


_OF_LAUNCH = COMPUTE | ASK_LAUNCH


class _Calls:
    """Which functions lead to which."""

    def __init__(self, program: tree.Program, populated: Collection[int] | None) -> None:
        self._program = program
        self._populated = populated
        self._behind: dict[str, frozenset[str]] = {}

    def on_several_ways(self, function: tree.Function) -> set[str]:
        """What several methods of one call in ``function`` lead to, or several branches."""
        found: set[str] = set()
        for node in nodes_of(function):
            if isinstance(node, tree.VirtualCall):
                methods = methods_met(node, self._populated)
                found |= _several([self.behind(method) | {method} for method in methods])
        for test, *branches in _branches(function.body):
            common = _several([self._below(branch) for branch in branches])
            if common and not _is_of_launch(test, function):
                found |= common
        return found

    def behind(self, symbol: str) -> frozenset[str]:
        """What a function calls, and what that calls."""
        if symbol not in self._behind:
            found: set[str] = set()
            pending = [symbol]
            while pending:
                new = self._called(self._program.functions[pending.pop()].body) - found
                found |= new
                pending += new
            self._behind[symbol] = frozenset(found)
        return self._behind[symbol]

    def _below(self, statements: Sequence[tree.Statement]) -> frozenset[str]:
        called = self._called(statements)
        return frozenset().union(called, *map(self.behind, called))

    def _called(self, part: Any) -> set[str]:
        found: set[str] = set()
        for node in nodes_in(list(part)):
            if isinstance(node, tree.DirectCall):
                found.add(node.symbol)
            elif isinstance(node, tree.VirtualCall):
                found.update(methods_met(node, self._populated))
        return found


def _several(ways: Sequence[frozenset[str]]) -> set[str]:
    """What is in more than one of them."""
    counts = Counter(symbol for way in ways for symbol in way)
    return {symbol for symbol, count in counts.items() if count > 1}


def _is_of_launch(test: tree.Expression, function: tree.Function) -> bool:
    """Whether a test depends on nothing but the thread's number and arguments of the launch: warps
    mostly agree then, as they do about which objects are theirs (``runtime.stretches``)."""
    if function.kind != "kernel":
        return False
    found: dict[tree.Variable, list[tree.Expression]] = {v: [] for v in function.parameters}
    for node in nodes_of(function):
        if isinstance(node, tree.Assign):
            found.setdefault(node.variable, []).append(node.value)
    seen: set[tree.Variable] = set()
    pending: list[Any] = [test]
    while pending:
        for node in nodes_in(pending.pop()):
            if node.__class__ not in _OF_LAUNCH:
                return False
            if isinstance(node, tree.Local) and node.variable not in seen:
                seen.add(node.variable)
                values = found.get(node.variable)
                if values is None:
                    return False  # a loop counts in it
                pending += values
    return True


def _branches(
    statements: Sequence[tree.Statement],
) -> Iterator[tuple[tree.Expression, Sequence[tree.Statement], Sequence[tree.Statement]]]:
    """Tests, and statements of which a thread runs the former or the latter; what follows a branch
    that returns is as good as the other one."""
    for place, node in enumerate(statements):
        if isinstance(node, tree.If):
            rest = statements[place + 1 :]
            returns = bool(node.then) and isinstance(node.then[-1], tree.Return)
            yield node.test, node.then, [*node.otherwise, *(rest if returns else ())]
            yield from _branches(node.then)
            yield from _branches(node.otherwise)
        elif isinstance(node, (tree.ForRange, tree.While)):
            yield from _branches(node.body)
            yield from _branches(node.otherwise)
