"""Several neighbours in one thread, so that a field of all of them is one access of the device.

``NEIGHBOURS`` objects of a run in tiles that begin at a multiple of that many lanes are a *group*;
every row of the tile has them side by side. A parameter that is a *member* of a group is passed as
the group's first object, and functions that get one are written once more for each lane
(``ir.passes.runs``), so that addresses in all of them are the same value plus a constant, in
clusters too. That much LLVM needs to see that the members do not overlap and to access them
together; nothing is assumed of any other reference.
"""

from __future__ import annotations

from llvmlite import ir

from dispatch.dataclass import dataclass

from ..ir.core import NEIGHBOURS, Value
from ..model.tiles import WORD
from .emitter import FunctionEmitter, integer


@dataclass(frozen=True)
class Member:
    """An object as the reference (i64) of the first of its group, and how many lanes after it."""

    first: ir.Value
    lane: int


def emit_group_start(emitter: FunctionEmitter, index: ir.Value) -> ir.Value:
    """``index``, a multiple of NEIGHBOURS: the mask changes nothing, but LLVM knows it then."""
    return emitter.builder.and_(index, integer(-NEIGHBOURS))


def take_member(emitter: FunctionEmitter, parameter: Value, first: ir.Value, lane: int) -> None:
    """Take a parameter that is passed as the first of a group for the member that it is."""
    emitter.bind(parameter, emitter.builder.add(first, integer(lane * WORD)))
    emitter.members[parameter] = Member(first, lane)
