"""Threads of a launch that one thread of a GPU runs.

Where threads may end at their first test (``ir.passes.idle_threads``), most of a large launch may
do nothing else: they are started, wait for one load, and end, so a launch lasts as long as starting
them does. So a thread of the GPU takes up to ``MOST_ITEMS`` threads of such a launch, as far apart
as its block has threads. It asks all of them first, whose loads are under way together then, and
runs those that go on, one after another.

How many it takes follows from the grid that the kernel finds itself in: as many blocks as the
threads need, or a half or a quarter of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from .base import I1, I32, I64

MOST_ITEMS = 4
_LEAST_WAVES = 1.5
"""Times as many threads as the device has room for are left: else some of it would be idle."""

Run = Callable[[ir.Value], ir.Value]


def items_for(threads: int, resident: int) -> int:
    """How many threads of a launch of so many one of the GPU's takes, which has room for
    ``resident`` at once."""
    items = MOST_ITEMS
    while items > 1 and threads < items * _LEAST_WAVES * resident:
        items //= 2
    return items


def emit_items(
    builder: ir.IRBuilder,
    x: tuple[ir.Value, ir.Value, ir.Value],
    there_are: ir.Value,
    count: ir.Value,
    asks: Run,
    runs: Run,
) -> None:
    """Run the threads that this one stands for. ``x``: i32 along the row, its block, how many
    threads blocks have and which of them it is; ``there_are``: how many all blocks of the row have;
    ``count``: how many threads the row of the launch has. ``asks`` gives whether thread x (i64)
    goes on, ``runs`` runs it; both for threads of the row alone."""
    block, width, own = x
    several = builder.icmp_unsigned("<", there_are, count)
    all_of_them = builder.icmp_unsigned("<", builder.shl(there_are, I32(1)), count)
    shift = builder.add(builder.zext(several, I32), builder.zext(all_of_them, I32))
    first = builder.add(builder.mul(builder.shl(block, shift), width), own)
    begins, asked, go, item, done = (
        builder.append_basic_block(f"items.{name}")
        for name in ("begin", "asked", "go", "run", "done")
    )
    builder.cbranch(builder.icmp_unsigned("<", first, count), begins, done)

    builder.position_at_end(begins)
    ways = {items: builder.append_basic_block(f"items.{items}") for items in (1, 2, MOST_ITEMS)}
    choice = builder.switch(shift, ways[1])
    choice.add_case(I32(1), ways[2])
    choice.add_case(I32(2), ways[MOST_ITEMS])
    answers: list[tuple[ir.Value, ir.Block]] = [(I32(1), ways[1])]
    builder.position_at_end(ways[1])
    builder.branch(asked)
    for items in (2, MOST_ITEMS):
        builder.position_at_end(ways[items])
        answer = _ask(builder, [_at(builder, first, width, n) for n in range(items)], count, asks)
        answers.append((answer, builder.block))
        builder.branch(asked)

    builder.position_at_end(asked)
    going = builder.phi(I32, "going")
    for answer, source in answers:
        going.add_incoming(answer, source)
    builder.cbranch(builder.icmp_unsigned("!=", going, I32(0)), go, done)

    builder.position_at_end(go)
    left, at = builder.phi(I32, "left"), builder.phi(I32, "x")
    following = builder.append_basic_block("items.next")
    goes = builder.trunc(left, I1)
    builder.cbranch(goes, item, following)
    builder.position_at_end(item)
    runs(builder.zext(at, I64))
    builder.branch(following)
    builder.position_at_end(following)
    rest, next = builder.lshr(left, I32(1)), builder.add(at, width)
    for phi, start, step in ((left, going, rest), (at, first, next)):
        phi.add_incoming(start, asked)
        phi.add_incoming(step, following)
    builder.cbranch(builder.icmp_unsigned("!=", rest, I32(0)), go, done)
    builder.position_at_end(done)


def _at(builder: ir.IRBuilder, first: ir.Value, width: ir.Value, number: int) -> ir.Value:
    return builder.add(first, builder.mul(width, I32(number))) if number else first


def _ask(
    builder: ir.IRBuilder, threads: Sequence[ir.Value], count: ir.Value, asks: Run
) -> ir.Value:
    """A bit for each of the threads: whether it goes on. Of those beyond the row the last one is
    asked, and does not."""
    last = builder.sub(count, I32(1))
    found: ir.Value = I32(0)
    for number, thread in enumerate(threads):
        is_there = builder.icmp_unsigned("<", thread, count)
        answer = asks(builder.zext(builder.select(is_there, thread, last), I64))
        bit = builder.zext(builder.and_(answer, is_there), I32)
        found = builder.or_(found, builder.shl(bit, I32(number)))
    return found
