"""From an address to a type index by comparing with bounds in constant memory.

"Judging a Type by Its Pointer", section 5, without a tree in memory: while the ranges of a few
classes follow one another in a known order, only where each begins changes. The order becomes code,
a binary search without loads from memory that objects share; the bounds are words of the state
block, which instructions take as operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from . import state

I32 = ir.IntType(32)
_NAME = "sharedoa_bounds"

Interval = tuple[int, int]
"""Number of the bound where it begins, type index of the objects in it."""


def bounds_function(
    module: ir.Module, constant_space: int, intervals: Sequence[Interval], key: ir.IntType
) -> ir.Function:
    """``i32 (key place)`` for places that lie in one of ``intervals``, which are in order; defined
    at its first use. Any other place is undefined behaviour. A place is an address, or whatever
    else of type ``key`` the bounds are."""
    merged = _merge(intervals)
    name = "_".join([_NAME, *(f"{number}.{type_index}" for number, type_index in merged)])
    found = module.globals.get(name)
    if found is not None:
        return found
    function = ir.Function(module, ir.FunctionType(I32, [key]), name)
    function.linkage = "internal"
    for attribute in ("alwaysinline", "nounwind", "readnone"):
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _search(builder, function.args[0], constant_space, merged)
    return function


def _search(
    builder: ir.IRBuilder, place: Any, constant_space: int, intervals: Sequence[Interval]
) -> None:
    if len(intervals) == 1:
        builder.ret(I32(intervals[0][1]))
        return
    middle = len(intervals) // 2
    bound = state.load(builder, constant_space, state.BOUNDS + intervals[middle][0])
    if bound.type != place.type:
        bound = builder.trunc(bound, place.type)
    below, above = (builder.append_basic_block(name) for name in ("below", "above"))
    builder.cbranch(builder.icmp_unsigned("<", place, bound), below, above)
    for block, half in ((below, intervals[:middle]), (above, intervals[middle:])):
        builder.position_at_end(block)
        _search(builder, place, constant_space, half)


def _merge(intervals: Sequence[Interval]) -> list[Interval]:
    """Neighbours of one type are one interval."""
    merged: list[Interval] = []
    for number, type_index in intervals:
        if not merged or merged[-1][1] != type_index:
            merged.append((number, type_index))
    return merged
