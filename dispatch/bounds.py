"""From an address to a type index by comparing with bounds in constant memory.

"Judging a Type by Its Pointer", section 5, without a tree in memory: while the ranges of a few
classes follow one another in a known order, only where each begins changes. The order becomes code,
a binary search without loads from memory that objects share; the bounds are words of the state
block. Each comparison is a branch and takes its bound as an operand; in warps, with more than a few
ranges, none is a branch, as threads would take them one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from . import state

I32 = ir.IntType(32)
_NAME = "sharedoa_bounds"

_MOST_BRANCHES = 3
"""Up to so many comparisons a warp branches; its branches lead to the bodies."""

Interval = tuple[int, int]
"""Number of the bound where it begins, type index of the objects in it."""


def bounds_function(
    module: ir.Module,
    constant_space: int,
    intervals: Sequence[Interval],
    key: ir.IntType,
    in_warps: bool,
) -> ir.Function:
    """``i32 (key place)`` for places that lie in one of ``intervals``, which are in order; defined
    at its first use. Any other place is undefined behaviour. A place is an address, or whatever
    else of type ``key`` the bounds are."""
    merged = _merge(intervals)
    name = "_".join([_NAME, *(f"{number}.{type_index}" for number, type_index in merged)])
    function, builder = type_function(module, name, key)
    if builder is None:
        return function
    if not in_warps or len(merged) - 1 <= _MOST_BRANCHES:
        _search(builder, function.args[0], constant_space, merged)
    else:
        _search_without_branches(builder, function.args[0], constant_space, intervals)
    return function


def type_function(
    module: ir.Module, name: str, key: ir.IntType
) -> tuple[ir.Function, ir.IRBuilder | None]:
    """``i32 (key)`` of that name, which tells a type by its argument alone; where its body is to be
    written, unless it has been."""
    found = module.globals.get(name)
    if found is not None:
        return found, None
    function = ir.Function(module, ir.FunctionType(I32, [key]), name)
    function.linkage = "internal"
    for attribute in ("alwaysinline", "nounwind", "readnone"):
        function.attributes.add(attribute)
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def load_bound(builder: ir.IRBuilder, constant_space: int, number: Any, key: ir.IntType) -> Any:
    """Bound ``number`` (i32) of the state block, as wide as ``key``."""
    place = builder.add(number, number.type(state.BOUNDS))
    bound = state.load(builder, constant_space, place)
    return bound if bound.type == key else builder.trunc(bound, key)


def _search(
    builder: ir.IRBuilder, place: Any, constant_space: int, intervals: Sequence[Interval]
) -> None:
    if len(intervals) == 1:
        builder.ret(I32(intervals[0][1]))
        return
    middle = len(intervals) // 2
    bound = load_bound(builder, constant_space, I32(intervals[middle][0]), place.type)
    below, above = (builder.append_basic_block(name) for name in ("below", "above"))
    builder.cbranch(builder.icmp_unsigned("<", place, bound), below, above)
    for block, half in ((below, intervals[:middle]), (above, intervals[middle:])):
        builder.position_at_end(block)
        _search(builder, place, constant_space, half)


def _search_without_branches(
    builder: ir.IRBuilder, place: Any, constant_space: int, intervals: Sequence[Interval]
) -> None:
    """Over all bounds from that of the first interval to that of the last, whosever they are. The
    switch that tells the type becomes one with the switch on the type that follows."""
    number: Any = I32(intervals[0][0])
    count = intervals[-1][0] - intervals[0][0] + 1
    while count > 1:
        half = count // 2
        middle = builder.add(number, I32(half))
        bound = load_bound(builder, constant_space, middle, place.type)
        number = builder.select(builder.icmp_unsigned("<", place, bound), number, middle)
        count -= half
    types = dict.fromkeys(type_index for _, type_index in intervals)
    blocks = {each: builder.append_basic_block(f"type_{each}") for each in types}
    *others, (_, last) = intervals
    switch = builder.switch(number, blocks[last])
    for which, type_index in others:
        switch.add_case(I32(which), blocks[type_index])
    for type_index, block in blocks.items():
        builder.position_at_end(block)
        builder.ret(I32(type_index))


def _merge(intervals: Sequence[Interval]) -> list[Interval]:
    """Neighbours of one type are one interval."""
    merged: list[Interval] = []
    for number, type_index in intervals:
        if not merged or merged[-1][1] != type_index:
            merged.append((number, type_index))
    return merged
