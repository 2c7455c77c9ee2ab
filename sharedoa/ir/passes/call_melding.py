"""Calls of one function on ways that exclude one another become one call.

Methods of several classes, or the branches of an ``if``, often call the same function. Threads of a
warp that differ in the way they go would run it one group after the other. So the ways are cut at
their calls (``cut_at_calls``): threads first do what comes before, then those that are to call the
function do so together, then each goes on where it was. For every thread the sequence of operations
stays.

    %u = if %t {                              %code, %x, %c = if %t { A; yield 3, %a, (anything) }
      A; %b = call %a <symbol = "f">; B               else { C; yield 4, (anything), %c }
      yield %b                          ->    %now = opaque %code
    } else { C; yield %c }                    %b = if %now & 1 { call %x <symbol = "f"> }
                                              %u = switch %now { B; yield %b } { yield %c }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...model.scalars import boolean
from ...model.types import VOID
from ..core import Function, Operation, Program, Region, Value, operations_in
from ..operations import Effects, kind_of
from ..rewrite import make
from ..uniformity import is_of_launch
from .calls import called_by, callees, is_known
from .cut_at_calls import CODE, Cut, Plans
from .uncalled import drop_uncalled


def meld_calls(program: Program) -> None:
    """Functions with loops are called together. Others take less time than meeting."""
    if not all(map(is_known, operations_in(program))):
        return
    calls = _Calls(program)
    for symbol in calls.common():
        _Melding(program, program.functions[symbol], calls).run()
    drop_uncalled(program)


class _Melding:
    """Brings calls of one function together, in all that leads to it, callers first."""

    def __init__(self, program: Program, callee: Function, calls: _Calls) -> None:
        self._program, self._callee, self._calls = program, callee, calls
        self._plans = self._made_anew()

    def _made_anew(self) -> Plans:
        return Plans(self._program, self._callee.symbol, self._calls.is_recursive)

    def run(self) -> None:
        pending, seen = [self._program.kernel.symbol], {self._callee.symbol}
        while pending:
            symbol = pending.pop()
            if symbol not in seen and self._callee.symbol in self._calls.behind(symbol):
                seen.add(symbol)
                function = self._program.functions[symbol]
                self._in_region(function, function.body)
                pending += called_by(function)

    def _in_region(self, function: Function, region: Region) -> None:
        place = 0
        while place < len(region.operations):
            operation = region.operations[place]
            if self._part_here(function, operation, region.operations[place + 1 :]):
                self._meld(region, place)
                self._plans = self._made_anew()
            for inner in region.operations[place].regions:
                self._in_region(function, inner)
            place += 1

    def _part_here(
        self, function: Function, operation: Operation, rest: Sequence[Operation]
    ) -> bool:
        """Whether threads of a warp go different ways there, of which several lead to calls."""
        plan = self._plans.at(operation, rest)
        if plan is None or plan.calls < 2:
            return False
        if operation.regions:
            # About the thread's number warps mostly agree, as they do about which objects are
            # theirs (``runtime.stretches``).
            if is_of_launch(operation.operands[0], function, Effects.ASKS_THREAD):
                return False
            found, _ = self._plans.of_arms(operation, rest)
        else:
            found = [*map(self._plans.of_function, callees(operation))]
        return sum(way is not None and way.calls > 0 for way in found) > 1

    def _meld(self, region: Region, place: int) -> None:
        at = region.operations[place].location
        cut = Cut(self._program, self._callee, self._plans, region, place)
        made, (code, *passed) = cut.before()
        arguments = passed[: len(self._callee.parameters)]

        def add(kind: str, operands: Sequence[Value], **attributes: Any) -> Value:
            type = boolean if kind == "compare" else CODE
            made.append(make(kind, operands, at, [type], **attributes))
            return made[-1].result

        code = add("opaque", [code])
        one, zero = add("constant", [], value=1), add("constant", [], value=0)
        odd = add("binary", [code, one], operator="and")
        test = add("compare", [odd, zero], operator="ne")
        result = self._callee.result
        call = make("call", arguments, at, [result], symbol=self._callee.symbol)
        then, otherwise = [call], []
        types = [] if result == VOID else [result]
        if types:
            otherwise.append(make("anything", [], at, types))
        arms = [
            Region([], [*arm, make("yield", [arm[0].result] if types else [], at)])
            for arm in (then, otherwise)
        ]
        together = make("if", [test], at, types, arms)
        given = together.result if types else None
        behind = cut.behind(code, given, passed[len(arguments) :])
        region.operations[place : place + 1] = [*made, together, *behind]
        self._callee.melded = True


def _has_loop(function: Function) -> bool:
    return any((kind := kind_of(o)) is not None and kind.is_loop for o in operations_in(function))


class _Calls:
    """Which functions lead to which."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._behind: dict[str, frozenset[str]] = {}

    def common(self) -> list[str]:
        """The functions with loops, no recursive ones, that several ways lead to which exclude one
        another; those that call others of them before these."""
        functions = self._program.functions
        loops = {symbol for symbol, function in functions.items() if _has_loop(function)}
        found: set[str] = set()
        for function in functions.values() if loops else ():
            found |= loops & self.on_several_ways(function)
        ordered = [each for each in functions if each in found and not self.is_recursive(each)]
        return sorted(ordered, key=lambda each: len(self.behind(each) & found), reverse=True)

    def is_recursive(self, symbol: str) -> bool:
        return symbol in self.behind(symbol)

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
