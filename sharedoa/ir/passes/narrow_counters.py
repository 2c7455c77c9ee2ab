"""Loops between numbers of 32 bits count with 32 bits, so that LLVM knows that what is counted,
given to a method as an i32, is the same number.

    %s: int = convert %a; for %s, %n, %one ...      ->      for %a, %m, %one ...
"""

from __future__ import annotations

from ...model.scalars import i32
from ..core import Operation, Program, Region, Value, constant_of
from ..rewrite import make


def narrow_counters(program: Program) -> None:
    """Give ``for`` operations that count by one bounds of type i32, where theirs come from such."""
    for function in program.functions.values():
        _narrow(function.body)


def _narrow(region: Region) -> None:
    following: list[Operation] = []
    for operation in region.operations:
        if operation.kind == "for" and constant_of(operation.operands[2]) in (1, -1):
            made: list[Operation] = []
            bounds = [_in_32_bits(bound, made) for bound in operation.operands[:2]]
            narrow = [bound for bound in bounds if bound is not None]
            if len(narrow) == len(bounds):
                following += made
                operation.operands[:2] = narrow
        following.append(operation)
        for inner in operation.regions:
            _narrow(inner)
    region.operations = following


def _in_32_bits(value: Value, made: list[Operation]) -> Value | None:
    """The same number as an i32, if it is one; a constant is added to ``made``."""
    source = value.source
    if source is None or value.type == i32:
        return value if value.type == i32 else None
    if source.kind == "constant":
        number = source["value"]
        if not -(1 << 31) <= number < 1 << 31:
            return None
        made.append(make("constant", [], source.location, [i32], value=number))
        return made[-1].result
    if source.kind == "convert" and source.operands[0].type == i32:
        return source.operands[0]
    return None
