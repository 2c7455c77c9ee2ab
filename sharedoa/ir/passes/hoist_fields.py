"""Fields of an object that a launch is given are loaded before a loop, not in each round.

``land.at(x, y)`` asks the land how wide it is, how high, and where its cells are. All that stays as
it is while a launch lasts, but it stands behind tests, and neither LLVM nor ptxas loads what may be
none. An argument of a launch may be asked before the loop unless it is None, and launches that are
given that have code of their own (``Facts.is_object``), whose threads may ask it nothing.

    for ... (%x) {
      if %t {
        %w = load (field %land <name = "width">)  ->  %w = load (field %land <name = "width">)
        ...                                           for ... (%x) { if %t { ...

Functions that are small stand where loops call them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.types import ArrayType, ReferenceType
from ..before_loop import BeforeLoop
from ..core import (
    Function,
    Lane,
    Operation,
    Program,
    Region,
    Value,
    operations_in,
    rounds_of,
    unconverted,
)
from ..job import Facts, Job
from ..operations import kind_of
from ..rewrite import replace_uses
from ..roles import Role, stored_roles
from ..small_functions import put_in_place
from .calls import callees, is_known

MOST_FIELDS = 6
"""Loaded before one loop: each takes a register or two for as long as that lasts."""
MOST_ROUNDS = 8
"""Of loops that are written out."""
_TEXT = "loaded once before this loop: "


def hoist_fields(program: Program, job: Job) -> None:
    """Load what rounds ask of the launch's objects before loops."""
    if not all(map(is_known, operations_in(program))):
        return
    given, stored = given_by_launch(program, ReferenceType), stored_roles(program)
    for symbol, function in program.functions.items():
        if given.get(symbol) and not _has_lanes(function):
            _Hoisting(program, job.facts, function, given[symbol], stored).region(function.body)


def _has_lanes(function: Function) -> bool:
    return any(isinstance(fact, Lane) for fact in function.known.values())


Given = dict[Value, set[int]]
"""Parameters of a function that are references, or arrays, which the launch was given, by all
calls, and which of the kernel's parameters each may be."""


def given_by_launch(
    program: Program, kind: type[ReferenceType] | type[ArrayType]
) -> Mapping[str, Given]:
    """Of each function, by symbol. Every one counts as that until a call shows otherwise."""
    found: dict[str, Given] = {
        symbol: {v: set() for v in function.parameters if isinstance(v.type, kind)}
        for symbol, function in program.functions.items()
    }
    for number, parameter in enumerate(program.kernel.parameters):
        if parameter in found[program.kernel.symbol]:
            found[program.kernel.symbol][parameter].add(number)
    while True:
        has_changed = False
        for symbol, function in program.functions.items():
            for operation in operations_in(function):
                for callee in callees(operation):
                    parameters = program.functions[callee].parameters
                    for parameter, operand in zip(parameters, operation.operands, strict=True):
                        known = found[callee].get(parameter)
                        if known is None:
                            continue
                        numbers = found[symbol].get(unconverted(operand))
                        if numbers is None:
                            del found[callee][parameter]
                            has_changed = True
                        elif not numbers <= known:
                            known |= numbers
                            has_changed = True
        if not has_changed:
            return found


class _Hoisting:
    """In one function."""

    def __init__(
        self,
        program: Program,
        facts: Facts,
        function: Function,
        objects: Given,
        stored: frozenset[Role],
    ) -> None:
        self._program, self._facts, self._function = program, facts, function
        self._objects, self._stored = objects, stored

    def region(self, region: Region) -> None:
        """Look for loops that no others are around."""
        for operation in [*region.operations]:
            if _is_loop(operation):
                if "shared" not in operation.attributes:
                    self._loop(region, operation)
                continue
            for inner in operation.regions:
                self.region(inner)

    def _loop(self, region: Region, loop: Operation) -> None:
        for inner in loop.regions:
            put_in_place(self._program, self._function, inner, self._is_given)
        once = BeforeLoop(self._stored, loop, self._is_there)
        loads = [(*each, once.loaded(each[1])) for each in self._loads(loop)]
        if not 0 < len(once.names) <= MOST_FIELDS:
            return
        for inner, load, value in loads:
            if value is not None:
                inner.operations.remove(load)
                replace_uses(self._function, {load.result: value})
        at = region.operations.index(loop)
        region.operations[at:at] = once.made
        self._write_out(loop)
        self._program.remarks.append(once.remark(_TEXT, loop))

    def _write_out(self, loop: Operation) -> None:
        """Loops without others in them that are short are written out: what each round is left with
        is little, and LLVM thinks that it does not matter."""
        inside = [each for inner in loop.regions for each in operations_in(inner)]
        for each in [*filter(_is_loop, inside)] or [loop]:
            rounds = rounds_of(each) if each.kind == "for" else None
            is_innermost = not any(map(_is_loop, operations_in(each.regions[0])))
            if rounds and is_innermost and len(rounds[: MOST_ROUNDS + 1]) <= MOST_ROUNDS:
                each.attributes["written_out"] = True

    def _is_given(self, call: Operation) -> bool:
        """Whether it is given such an object."""
        if call.kind != "call" or self._program.functions[call["symbol"]].known:
            return False
        return any(unconverted(operand) in self._objects for operand in call.operands)

    def _loads(self, loop: Operation) -> Iterator[tuple[Region, Operation]]:
        """What rounds load, and the regions it stands in."""
        pending = [*loop.regions]
        while pending:
            region = pending.pop()
            for operation in region.operations:
                if operation.kind == "load":
                    yield region, operation
                elif "shared" not in operation.attributes:
                    pending += operation.regions

    def _is_there(self, object: Value) -> bool:
        """Whether the launch was given it."""
        numbers = self._objects.get(object)
        return numbers is not None and all(map(self._facts.is_object, sorted(numbers)))


def _is_loop(operation: Operation) -> bool:
    kind = kind_of(operation)
    return kind is not None and kind.is_loop
