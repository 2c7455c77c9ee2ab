"""Loops of a known number of rounds that go through lists by their counters.

An element of a list is a register where its index is known, which it is once the loop is written
out. LLVM and ptxas do that where the rounds are short; of others all lists that they use would be
memory. Loops that are to be written out get the attribute ``written_out``.
"""

from __future__ import annotations

from math import inf

from ..core import Function, Operation, Program, Region, Value, behind, operations_in, rounds_of
from ..operations import Effects, cost_of, effects_of
from .calls import callees

_MOST_ROUNDS, _MOST_INSTRUCTIONS = 64, 2048


def write_out_lists(program: Program) -> None:
    sizes = _Sizes(program)
    for loop in operations_in(program):
        if loop.kind != "for" or "shared" in loop.attributes or "copies" in loop.attributes:
            continue
        rounds = rounds_of(loop)
        # len refuses numbers that need more than 63 bits.
        count = len(rounds[: _MOST_ROUNDS + 1]) if rounds is not None else 0
        if not 0 < count <= _MOST_ROUNDS or not _goes_through_a_list(loop):
            continue
        if count * sizes.of(loop.regions[0]) <= _MOST_INSTRUCTIONS:
            loop.attributes["written_out"] = True


def _goes_through_a_list(loop: Operation) -> bool:
    body = loop.regions[0]
    return any(
        operation.kind == "list_element" and _follows(operation.operands[1], body.arguments[0])
        for operation in operations_in(body)
    )


def _follows(index: Value, counter: Value) -> bool:
    """Whether it is known as soon as the counter is."""
    found = set(behind(index, _computes))
    return counter in found and all(
        each is counter or (each.source is not None and _computes(each.source)) for each in found
    )


def _computes(operation: Operation) -> bool:
    has_reason = bool(operation.operands) or operation.kind == "constant"
    return has_reason and not operation.regions and effects_of(operation) == Effects.NOTHING


class _Sizes:
    """Instructions of parts of a program, with those of the functions that they call."""

    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._known: dict[str, float] = {}

    def of(self, part: Function | Region) -> float:
        size = 0.0
        for operation in operations_in(part):
            size += cost_of(operation) + sum(map(self._of_function, callees(operation)))
        return size

    def _of_function(self, symbol: str) -> float:
        if symbol not in self._known:
            self._known[symbol] = inf  # as long as it is not known: it calls itself
            self._known[symbol] = self.of(self._functions[symbol])
        return self._known[symbol]
