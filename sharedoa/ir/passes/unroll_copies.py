"""Writes out short loops that do nothing but copy: they store a few times to what their counter
names. Their loads then stand before their stores (``sink_stores``).

    for 0, 3, 1 (%i) { store (load %a[%i]), %b[%i] }    ->    three loads and stores
"""

from __future__ import annotations

from ..core import Operation, Program, Region, Value, rounds_of
from ..operations import Effects, effects_of
from ..rewrite import copy_operations, make

_MOST_ROUNDS = 16
_COPIES = Effects.READS | Effects.WRITES


def unroll_copies(program: Program) -> None:
    for function in program.functions.values():
        _unroll_in(function.body)


def _unroll_in(region: Region) -> None:
    following: list[Operation] = []
    for operation in region.operations:
        for inner in operation.regions:
            _unroll_in(inner)
        rounds = rounds_of(operation) if operation.kind == "for" else None
        if rounds is None or not _is_little(rounds) or not _copies(operation):
            following.append(operation)
            continue
        body = operation.regions[0]
        for number in rounds:
            at = operation.location
            counter = make("constant", [], at, [body.arguments[0].type], value=number)
            following.append(counter)
            values: dict[Value, Value] = {body.arguments[0]: counter.result}
            following += copy_operations(body.operations[:-1], values)
    region.operations = following


def _is_little(rounds: range) -> bool:
    # len refuses numbers that need more than 63 bits.
    return 0 < len(rounds[: _MOST_ROUNDS + 1]) <= _MOST_ROUNDS


def _copies(loop: Operation) -> bool:
    """Whether the loop stores, loads and computes, in rounds that are all alike."""
    body, otherwise = loop.regions
    if loop.results or len(otherwise.operations) > 1:
        return False
    *within, end = body.operations
    stores = any(Effects.WRITES in effects_of(each) for each in within)
    return stores and end.kind == "continue" and all(map(_is_simple, within))


def _is_simple(operation: Operation) -> bool:
    return not operation.regions and not effects_of(operation) & ~_COPIES
