"""Loops over the threads of a row, on the host.

Where threads may end at their first test (``ir.passes.idle_threads``), a group of them is asked
before any is run, without branches: so few instructions that the loads of many threads are under
way at once. If nobody of the group goes on, it is done; else a longer stretch is run thread by
thread, so that little is asked twice where many go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from .base import I1, I64, Asking

GROUP, STRETCH = 16, 64
"""Threads that are asked at once, and how many are run if one of them goes on."""
_AHEAD = 512
"""How many threads ahead memory is prefetched: fields lie farther apart than elements of arrays,
and hardware prefetches too little of them."""


def emit_threads(
    builder: ir.IRBuilder, start: ir.Value, stop: ir.Value, run: Callable[[ir.Value], None]
) -> None:
    """Run threads from ``start`` to ``stop``, of which there is one at least."""
    before = builder.block
    thread, done = (builder.append_basic_block(name) for name in ("thread", "threads.done"))
    builder.branch(thread)
    builder.position_at_end(thread)
    x = builder.phi(I64)
    run(x)
    following = builder.add(x, I64(1))
    builder.cbranch(builder.icmp_unsigned("<", following, stop), thread, done)
    x.add_incoming(start, before)
    x.add_incoming(following, thread)
    builder.position_at_end(done)


def emit_groups(
    builder: ir.IRBuilder,
    start: ir.Value,
    stop: ir.Value,
    asking: Asking,
    arguments: Callable[[ir.Value], Sequence[ir.Value]],
    run: Callable[[ir.Value], None],
) -> None:
    """The same, but for threads that do not go on. ``arguments``: those of thread x."""
    before = builder.block
    ask, group, passed, stretch, done = (
        builder.append_basic_block(f"idle.{name}")
        for name in ("ask", "group", "pass", "stretch", "done")
    )
    builder.branch(ask)
    builder.position_at_end(ask)
    first = builder.phi(I64)
    is_whole = builder.icmp_signed(">=", builder.sub(stop, first), I64(GROUP))
    builder.cbranch(is_whole, group, stretch)

    builder.position_at_end(group)
    assert asking.fetch is not None
    for member in range(0, GROUP, min(asking.every, GROUP)):
        builder.call(asking.fetch, arguments(builder.add(first, I64(_AHEAD + member))))
    someone: ir.Value = I1(0)
    for member in range(GROUP):
        answer = builder.call(asking.goes_on, arguments(builder.add(first, I64(member))))
        someone = builder.or_(someone, answer)
    builder.cbranch(someone, stretch, passed)

    builder.position_at_end(passed)
    next_group = builder.add(first, I64(GROUP))
    builder.cbranch(builder.icmp_unsigned("<", next_group, stop), ask, done)

    builder.position_at_end(stretch)
    ahead = builder.add(first, I64(STRETCH))
    end = builder.select(builder.icmp_unsigned("<", ahead, stop), ahead, stop)
    emit_threads(builder, first, end, run)
    builder.cbranch(builder.icmp_unsigned("<", end, stop), ask, done)
    for value, block in ((start, before), (next_group, passed), (end, builder.block)):
        first.add_incoming(value, block)
    builder.position_at_end(done)
