"""Which kernels have threads that only store, so that starting them takes most of the time."""

from __future__ import annotations

from .core import Program, operations_in
from .operations import Effects, effects_of

AT_ONCE = 4
"""Threads of such a launch that one thread of a GPU is."""
_LITTLE = 32
"""Operations of a thread: more take longer than starting one."""
_STORING = Effects.WRITES | Effects.ASKS_THREAD | Effects.RETURNS


def threads_at_once(program: Program) -> int:
    """How many threads of a launch one of a GPU had better be: ``AT_ONCE`` where each computes and
    stores, and waits for nothing, else one."""
    operations = [*operations_in(program.kernel)]
    is_storing = len(operations) <= _LITTLE and not any(
        each.regions or effects_of(each) & ~_STORING or "neighbour" in each.attributes
        for each in operations
    )
    return AT_ONCE if is_storing else 1
