"""The entry of a kernel most of whose threads end at their first test, on a GPU: to start a thread
takes longer than what it does, and a warp is busy until the last of its threads is.

A thread of the GPU asks for several of the launch, a block's width apart, all loads of which are
under way together. Those of a block that go on are listed in the memory that it shares, and run
side by side in as few warps as they fill (stream compaction within a block; Billeter, Olsson and
Assarsson, HPG 2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from .base import I16, I32, I64, declare

if TYPE_CHECKING:
    from .gpu import GpuTarget

ASKED_AT_ONCE = 6
"""Threads of a launch that one thread asks for."""
MOST_BLOCK_THREADS = 256
"""Of a launch that asks for no block, as others are not packed. What more of the list takes the
first-level cache lacks."""
_NOTED = "sharedoa_threads"


def emit_packed(
    target: GpuTarget, entry: ir.Function, body: ir.Function, goes_on: ir.Function, at_once: int
) -> None:
    """Write ``entry``, ``kernel(leaves..., i32 nx, i32 ny)``, of a launch with one row of threads:
    those for which ``goes_on`` holds run ``body``. A block covers ``at_once`` times its threads."""
    warp = target.warp
    assert warp is not None
    type, name = ir.ArrayType(I16, MOST_BLOCK_THREADS * at_once), entry.name
    listed = _shared(target, entry.module, type, f"{name}_listed")
    count = _shared(target, entry.module, I32, f"{name}_count")
    *leaves, nx, ny = entry.args
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    number, width, thread = target.emit_position(builder, 0)
    first = builder.mul(number, builder.mul(width, I32(at_once)))
    sizes = [builder.zext(value, I64) for value in (nx, ny)]
    with builder.if_then(builder.icmp_unsigned("==", thread, I32(0))):
        builder.store(I32(0), count)
    target.emit_barrier(builder)

    # Whoever is beyond the last thread asks that one again, so that nobody branches.
    last = builder.sub(nx, I32(1))
    places = [builder.add(thread, builder.mul(width, I32(each))) for each in range(at_once)]
    answers = []
    for place in places:
        x = builder.add(first, place)
        is_inside = builder.icmp_unsigned("<", x, nx)
        asked = builder.zext(builder.select(is_inside, x, last), I64)
        answer = builder.call(goes_on, [*leaves, asked, I64(0), *sizes])
        answers.append(builder.and_(answer, is_inside))
    going = [warp.ballot(builder, answer) for answer in answers]
    counts = [_bits(builder, mask) for mask in going]
    total = counts[0]
    for each in counts[1:]:
        total = builder.add(total, each)

    # One of each warp takes the places of all.
    is_one = builder.icmp_unsigned("==", warp.lane(builder), I32(0))
    before = builder.block
    with builder.if_then(builder.and_(is_one, builder.icmp_unsigned("!=", total, I32(0)))):
        taken = builder.atomic_rmw("add", count, total, "monotonic")
        taking = builder.block
    begin = builder.phi(I32)
    begin.add_incoming(I32(0), before)
    begin.add_incoming(taken, taking)
    slot = warp.shuffle(builder, begin, I32(0))
    earlier = builder.lshr(warp.up_to_this(builder), I32(1))
    for place, answer, mask, own in zip(places, answers, going, counts, strict=True):
        with builder.if_then(answer):
            mine = builder.add(slot, _bits(builder, builder.and_(mask, earlier)))
            builder.store(builder.trunc(place, I16), builder.gep(listed, [I32(0), mine]))
        slot = builder.add(slot, own)
    target.emit_barrier(builder)

    every = builder.load(count)
    start = builder.block
    look, run, done = (entry.append_basic_block(name) for name in ("look", "run", "done"))
    builder.branch(look)
    builder.position_at_end(look)
    turn = builder.phi(I32)
    builder.cbranch(builder.icmp_unsigned("<", turn, every), run, done)
    builder.position_at_end(run)
    place = builder.zext(builder.load(builder.gep(listed, [I32(0), turn])), I32)
    x = builder.add(first, place)
    if _NOTED in entry.module.globals:
        builder.store(x, emit_noted(target, builder))
    builder.call(body, [*leaves, builder.zext(x, I64), I64(0), *sizes])
    turn.add_incoming(thread, start)
    turn.add_incoming(builder.add(turn, width), builder.block)
    builder.branch(look)
    builder.position_at_end(done)
    builder.ret_void()


def emit_noted(target: GpuTarget, builder: ir.IRBuilder) -> ir.Value:
    """Pointer to an i32, which thread of the launch this one of a block is now: functions have no
    memory that a thread keeps."""
    noted = builder.module.globals.get(_NOTED)
    if noted is None:
        noted = _shared(target, builder.module, ir.ArrayType(I32, MOST_BLOCK_THREADS), _NOTED)
    _, _, thread = target.emit_position(builder, 0)
    return builder.gep(noted, [I32(0), thread])


def _shared(target: GpuTarget, module: ir.Module, type: ir.Type, symbol: str) -> ir.GlobalVariable:
    """Memory that the threads of a block share."""
    made = ir.GlobalVariable(module, type, symbol, target.shared_space)
    made.linkage, made.initializer = "internal", ir.Constant(type, ir.Undefined)
    return made


def _bits(builder: ir.IRBuilder, word: ir.Value) -> ir.Value:
    """How many bits of it are set."""
    return builder.call(declare(builder.module, "llvm.ctpop.i32", I32, [I32]), [word])
