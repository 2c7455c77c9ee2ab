"""From an address to a type index by a shift: windows of equal size, each of one class.

Where no block of 2**k bytes, counted from some address, holds objects of two classes, the number of
its block tells an object's class: a subtraction and a shift, no load and no search (where "Judging
a Type by Its Pointer", section 5, walks a tree). Which class each block belongs to is part of the
code; where the first begins is a word of the state block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from llvmlite import ir

from dispatch.dataclass import dataclass

from .bounds import load_bound, type_function

I32 = ir.IntType(32)
_NAME = "sharedoa_window"

MOST_WINDOWS = 1024
"""With more of them the code's table of places to branch to would be long."""
_MOST_EACH = 16
"""Windows a range at most: a large class beside small ones, or slabs far apart, make tables of
hundreds, in each call, which take seconds to compile. And how far apart slabs lie differs from
process to process, so such code would not be found again."""

Range = tuple[int, int, int]
"""First and last place of a range, and the type index of the objects in it."""


@dataclass(frozen=True)
class Windows:
    """Windows of ``2**shift`` places; ``types`` are their type indices, 0 for an empty one."""

    shift: int
    types: tuple[int, ...]

    @classmethod
    def of(cls, ranges: Sequence[Range], bits: int) -> tuple[Windows, int] | None:
        """The largest windows that hold ``ranges``, which are in order, and where the first begins,
        maybe below 0. None where there is nothing to tell apart, and where windows would be too
        many, in all or for so few ranges, or reach over more than 2**bits places."""
        apart = [(low[1], high[0]) for low, high in pairwise(ranges) if low[2] != high[2]]
        if not apart:
            return None
        # Where two classes lie closest a window must begin; the others follow, if sizes allow.
        _, boundary = min(apart, key=lambda gap: gap[1] - gap[0])
        span = (ranges[-1][1] - ranges[0][0]).bit_length()
        shift = min([span, *(_highest_difference(*gap, boundary) for gap in apart)])
        size = 1 << shift
        begin = ranges[0][0] - (ranges[0][0] - boundary) % size
        count = (ranges[-1][1] - begin) // size + 1
        most = min(MOST_WINDOWS, _MOST_EACH * len(ranges))
        if count > most or count << shift > 1 << bits:
            return None
        types = [0] * count
        for first, last, type_index in ranges:
            for number in range((first - begin) // size, (last - begin) // size + 1):
                types[number] = type_index
        return cls(shift, tuple(types)), begin


def _highest_difference(one: int, other: int, origin: int) -> int:
    """The exponent of the largest blocks, counted from ``origin``, that have the two apart."""
    # So that both distances are positive, which changes no boundary of a block.
    origin -= 1 << max(origin, other).bit_length()
    return (one - origin ^ other - origin).bit_length() - 1


def number_function(
    module: ir.Module, constant_space: int, shift: int, key: ir.IntType
) -> ir.Function:
    """``i32 (key place)``: the number of the window that a place lies in; defined at its first use.
    The first bound of the state block is where the first window begins."""
    function, builder = type_function(module, f"{_NAME}_number_{shift}", key)
    if builder is not None:
        begin = load_bound(builder, constant_space, I32(0), key)
        number = builder.lshr(builder.sub(function.args[0], begin), key(shift))
        builder.ret(number if key == I32 else builder.trunc(number, I32))
    return function


def window_function(module: ir.Module, windows: Windows, met: frozenset[int]) -> ir.Function:
    """``i32 (i32)``: the type of a window by its number, as ``types_by_number`` has it; defined at
    its first use. Any other number is undefined behaviour."""
    types = types_by_number(windows, met)
    name = "_".join([_NAME, *map(str, types)])
    function, builder = type_function(module, name, I32)
    if builder is None:
        return function
    nowhere = builder.append_basic_block("nowhere")
    switch = builder.switch(function.args[0], nowhere)
    builder.position_at_end(nowhere)
    builder.unreachable()
    blocks = {each: function.append_basic_block(f"type_{each}") for each in dict.fromkeys(types)}
    for which, type_index in enumerate(types):
        switch.add_case(I32(which), blocks[type_index])
    for type_index, block in blocks.items():
        builder.position_at_end(block)
        builder.ret(I32(type_index))
    return function


def types_by_number(windows: Windows, met: frozenset[int]) -> list[int]:
    """The type of each window, where only types in ``met`` can be met. Windows that hold none of
    them have the type of a neighbour: LLVM makes a table of places to branch to only if at least
    40 % of the numbers are cases."""
    types = [each if each in met else 0 for each in windows.types]
    filled: list[int] = []
    for each in types:
        filled.append(each or (filled[-1] if filled else next(filter(None, types), 0)))
    return filled
