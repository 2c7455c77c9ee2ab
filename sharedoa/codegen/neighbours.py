"""Several neighbours in one thread, so that a field of all of them is one access of the device.

``NEIGHBOURS`` objects of a run in tiles that begin at a multiple of that many lanes are a *group*;
every row of the tile has them side by side. A parameter that is a *member* of a group is passed as
the group's first object, and functions that get one are written once more for each lane, so that
addresses in all of them are the same value plus a constant, in clusters too. That much LLVM needs
to see that the members do not overlap and to access them together; nothing is assumed of any other
reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llvmlite import ir

from ..frontend import tree
from ..model.tiles import WORD
from .emitter import FunctionEmitter, integer
from .runs import emit_reference, run_of

#: Which lane of a group each parameter is that is a member of one, by its place.
Members = Mapping[int, int]


@dataclass(frozen=True)
class Member:
    """An object as the reference (i64) of the first of its group, and how many lanes after it."""

    first: ir.Value
    lane: int


def member_of(emitter: FunctionEmitter, object: tree.Expression) -> Member | None:
    """``object`` as a member, if it is known to be one."""
    if isinstance(object, tree.Convert):
        return member_of(emitter, object.value)
    if isinstance(object, tree.Local):
        return emitter.members.get(object.variable)
    if isinstance(object, tree.Load) and isinstance(object.place, tree.ElementPlace):
        place = object.place
        form = run_of(emitter, place.array)
        if form is None or place.neighbour is None or not form.near:
            return None
        if emitter.program.debug or not emitter.program.layout.is_tiled(form.cls):
            return None
        first = emitter.builder.extract_value(emitter.evaluate(place.array), 0)
        position = emit_group_start(emitter, emitter.evaluate(place.index))
        return Member(emit_reference(emitter, form, first, position), place.neighbour)
    return None


def emit_group_start(emitter: FunctionEmitter, index: ir.Value) -> ir.Value:
    """``index``, a multiple of NEIGHBOURS: the mask changes nothing, but LLVM knows it then."""
    return emitter.builder.and_(index, integer(-tree.NEIGHBOURS))


def note_members(emitter: FunctionEmitter, members: Members) -> None:
    """Take parameters that are passed as the first of a group for the members that they are."""
    parameters = zip(emitter.function.parameters, emitter.llvm_function.args, strict=True)
    for place, (variable, first) in enumerate(parameters):
        lane = members.get(place)
        if lane is not None:
            emitter.assign(variable, emitter.builder.add(first, integer(lane * WORD)))
            if variable not in emitter.program.assigned:
                emitter.members[variable] = Member(first, lane)
