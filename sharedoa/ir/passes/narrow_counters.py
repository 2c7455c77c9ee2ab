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
            bounds = [_in_32_bits(bound) for bound in operation.operands[:2]]
            if None not in bounds:
                for number, bound in enumerate(bounds):
                    assert bound is not None
                    source = bound.source
                    is_new = bound is not operation.operands[number]
                    if is_new and source is not None and source.kind == "constant":
                        following.append(source)
                    operation.operands[number] = bound
        following.append(operation)
        for inner in operation.regions:
            _narrow(inner)
    region.operations = following


def _in_32_bits(value: Value) -> Value | None:
    source = value.source
    if source is None or value.type == i32:
        return value if value.type == i32 else None
    if source.kind == "constant":
        number = source["value"]
        if not -(1 << 31) <= number < 1 << 31:
            return None
        return make("constant", [], source.location, [i32], value=number).result
    if source.kind == "convert" and source.operands[0].type == i32:
        return source.operands[0]
    return None
