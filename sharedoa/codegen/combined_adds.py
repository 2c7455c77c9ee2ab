"""Additions of the threads of a warp to places that are often the same: those of one place are
summed up first, and added once.

Who adds to the same place is asked when they run, so any threads may come here, with any places.
The sum among threads that are alike is that of Westphal ("Voting and Shuffling to Optimize Atomic
Operations", NVIDIA 2015): in each round every second one of those left takes the value of the next.
That the reverse of loads which threads share wants such sums: "Reverse-Mode Automatic
Differentiation and Optimization of GPU Kernels via Enzyme" (Moses et al., SC 2021).
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ..targets.warp import Warp
from .emitter import FunctionEmitter, Join
from .types import F32, F64, I32, I64


def emit_combined(
    emitter: FunctionEmitter,
    warp: Warp,
    pointer: ir.Value,
    value: ir.Value,
    add: Callable[[ir.Value], object],
) -> None:
    """Add a float to what lies at ``pointer``, where ``add`` adds one by itself."""
    builder = emitter.builder
    head, body, done, first = (
        emitter.new_block(f"combined.{name}") for name in ("head", "round", "done", "first")
    )
    end = Join(emitter, "combined.end")
    together = warp.active(builder)
    alike = warp.alike(builder, together, builder.ptrtoint(pointer, I64))
    lane, up_to_this = warp.lane(builder), warp.up_to_this(builder)
    before = builder.ctpop(builder.and_(alike, up_to_this))
    rank = builder.sub(before, I32(1))
    behind = builder.and_(alike, builder.not_(up_to_this))
    start = builder.block
    emitter.branch(head)
    emitter.start(head)
    given = value, behind, rank
    phis = [builder.phi(each.type) for each in given]
    for phi, each in zip(phis, given, strict=True):
        phi.add_incoming(each, start)
    total, left, number = phis
    has_next = builder.icmp_unsigned("!=", left, I32(0))
    anybody = builder.icmp_unsigned("!=", warp.ballot_of(builder, together, has_next), I32(0))
    emitter.branch_on(anybody, body, done)
    emitter.start(body)
    following = builder.select(has_next, builder.cttz(left, ir.Constant(ir.IntType(1), 0)), lane)
    other = _shuffled(builder, warp, together, total, following)
    summed = builder.select(has_next, builder.fadd(total, other), total)
    is_even = builder.icmp_unsigned("==", builder.and_(number, I32(1)), I32(0))
    stay = builder.and_(left, warp.ballot_of(builder, together, is_even))
    passed = summed, stay, builder.lshr(number, I32(1))
    for phi, each in zip(phis, passed, strict=True):
        phi.add_incoming(each, builder.block)
    emitter.branch(head)
    emitter.start(done)
    end.comes()
    emitter.branch_on(builder.icmp_unsigned("==", rank, I32(0)), first, end.block)
    emitter.start(first)
    add(total)
    end.branch()
    end.start()


def _shuffled(
    builder: ir.IRBuilder, warp: Warp, together: ir.Value, value: ir.Value, lane: ir.Value
) -> ir.Value:
    """The float that another thread has."""
    if value.type == F32:
        bits = builder.bitcast(value, I32)
        return builder.bitcast(warp.shuffle_of(builder, together, bits, lane), F32)
    bits = builder.bitcast(value, I64)
    halves = builder.trunc(bits, I32), builder.trunc(builder.lshr(bits, I64(32)), I32)
    low, high = (
        builder.zext(warp.shuffle_of(builder, together, half, lane), I64) for half in halves
    )
    return builder.bitcast(builder.or_(low, builder.shl(high, I64(32))), F64)
