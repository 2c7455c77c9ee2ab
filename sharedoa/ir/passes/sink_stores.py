"""Stores wait until the loads of the operations that follow are under way.

On a GPU a load that stands behind a store waits for whatever the store waits for, as ptxas knows
nothing of what cannot be the same memory: copying an object field by field takes as many times as
long as memory answers as it has fields. So in a sequence of plain operations values are read first,
as many as a few registers hold, and then written, in the same order. An operation that may read or
write what a store before it changed (``roles`` tells; elements of an inline array with different
constant indices are different memory), calls, and everything else that has an effect end the wait.

    store %a, %x.f; %b = load %y.g; store %b, %x.g   ->   %b = load %y.g; store %a, %x.f; store ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...model.types import Type
from ..core import Operation, Program, Region, element_of
from ..job import Job
from ..operations import Effects, effects_of
from ..roles import Role, may_meet, role_of

_MOST_BYTES = 96
"""Of values that wait; a thread has registers for about twice as many."""


def sink_stores(program: Program, job: Job) -> None:
    for function in program.functions.values():
        _sink_in(function.body, lambda type: job.layout.dtype(type).itemsize)


def _sink_in(region: Region, size_of: Callable[[Type], int]) -> None:
    waiting: list[tuple[Operation, Role, int]] = []
    following: list[Operation] = []

    def settle() -> None:
        following.extend(store for store, _, _ in waiting)
        waiting.clear()

    for operation in region.operations:
        for inner in operation.regions:
            _sink_in(inner, size_of)
        if operation.kind == "store":
            lvalue = operation.operands[1]
            role, bytes = role_of(lvalue), size_of(element_of(lvalue))
            if bytes + sum(size for _, _, size in waiting) > _MOST_BYTES:
                settle()
            waiting.append((operation, role, bytes))
            continue
        if operation.kind == "load":
            if _meets(role_of(operation.operands[0]), waiting):
                settle()
        elif (
            effects_of(operation) & ~Effects.ASKS_THREAD
            or operation.regions
            or operation is region.terminator
        ):
            settle()
        following.append(operation)
    settle()
    region.operations = following


def _meets(role: Role, waiting: Sequence[tuple[Operation, Role, int]]) -> bool:
    """Whether the memory may be some that waits, or part of it, or the other way round."""
    return any(may_meet(role, other) for _, other, _ in waiting)
