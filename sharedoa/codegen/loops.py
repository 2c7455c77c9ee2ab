"""Loops: ``while`` and ``for`` over a range, with ``else``, ``break`` and ``continue``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ..frontend import tree
from . import checks
from .emitter import FunctionEmitter, Loop, integer, statement
from .loop_metadata import limit_copies
from .pending_stores import emit_copies, is_copied
from .shared_loops import Bounds, emit_shared
from .types import I32, I64


@statement(tree.While)
def _while(emitter: FunctionEmitter, node: tree.While) -> None:
    loop = Loop(emitter.new_block("while.next"), emitter.new_block("while.end"))
    body, done = emitter.new_block("while.body"), emitter.new_block("while.done")
    emitter.branch(loop.next)
    emitter.start(loop.next)
    if isinstance(node.test, tree.Constant) and node.test.value:
        emitter.branch(body)
    else:
        emitter.branch_on(emitter.evaluate(node.test), body, done)
    emitter.start(body)
    _run_body(emitter, loop, node.body)
    emitter.branch(loop.next)
    _finish(emitter, loop, done, node.otherwise)


@statement(tree.Break)
def _break(emitter: FunctionEmitter, node: tree.Break) -> None:
    emitter.branch(emitter.loops[-1].end)


@statement(tree.Continue)
def _continue(emitter: FunctionEmitter, node: tree.Continue) -> None:
    emitter.branch(emitter.loops[-1].next)


def _run_body(emitter: FunctionEmitter, loop: Loop, body: Sequence[tree.Statement]) -> None:
    emitter.loops.append(loop)
    emitter.run(body)
    emitter.loops.pop()


def _finish(
    emitter: FunctionEmitter,
    loop: Loop,
    done: ir.Block,
    otherwise: Sequence[tree.Statement],
) -> None:
    """``done`` is where the loop goes when it ends by itself: its ``else`` clause runs there."""
    emitter.join(done)
    emitter.run(otherwise)
    emitter.branch(loop.end)
    emitter.join(loop.end)


# ---------------------------------------------------------------------- range


@statement(tree.ForRange)
def _for_range(emitter: FunctionEmitter, node: tree.ForRange) -> None:
    if is_copied(emitter, node):
        emit_copies(emitter, node)
        return
    emit_loop(emitter, node, emit_bounds(emitter, node))


def emit_loop(emitter: FunctionEmitter, node: tree.ForRange, bounds: Bounds) -> None:
    if node in emitter.program.shared_loops:
        emit_shared(emitter, node, bounds, lambda: _emit_alone(emitter, node, bounds))
    else:
        _emit_alone(emitter, node, bounds)


def emit_bounds(emitter: FunctionEmitter, node: tree.ForRange) -> Bounds:
    """Evaluate where the loop begins, ends, and how far apart its numbers are."""
    start = emitter.evaluate(node.start)
    stop = emitter.evaluate(node.stop)
    step = emitter.evaluate(node.step)
    checks.check_step(emitter, step, node.location)
    bounds = Bounds(start, stop, step)
    if bounds.by_one is None:
        return bounds
    short = _in_32_bits(start), _in_32_bits(stop)
    return bounds if short[0] is None or short[1] is None else Bounds(short[0], short[1], step)


def _emit_alone(emitter: FunctionEmitter, node: tree.ForRange, bounds: Bounds) -> None:
    """The loop as each thread runs it by itself."""
    if bounds.by_one is not None:
        _count_by_one(emitter, node, bounds.start, bounds.stop, bounds.by_one)
    else:
        _count_iterations(emitter, node, bounds.start, bounds.stop, bounds.step)


def _count_by_one(
    emitter: FunctionEmitter, node: tree.ForRange, start: ir.Value, stop: ir.Value, step: int
) -> None:
    type = start.type
    counter = emitter.slot(type, f"{node.variable.name}.next")
    emitter.builder.store(start, counter)

    def has_more() -> ir.Value:
        now = emitter.builder.load(counter, typ=type)
        return emitter.builder.icmp_signed("<" if step > 0 else ">", now, stop)

    def advance() -> None:
        now = emitter.builder.load(counter, typ=type)
        # It lies before the stop, so one step further is still a number.
        following = emitter.builder.add(now, type(step), flags=("nsw",))
        emitter.builder.store(following, counter)

    def number() -> ir.Value:
        now = emitter.builder.load(counter, typ=type)
        return now if type == I64 else emitter.builder.sext(now, I64)

    _emit_range(emitter, node, number, has_more, advance)


def _in_32_bits(value: ir.Value) -> ir.Value | None:
    """An i64 as an i32, if it is known to be one. Loops between such numbers count with 32 bits, so
    that LLVM knows that what it counts, given to a method as an i32, is the same number."""
    if isinstance(value, ir.Constant):
        return I32(value.constant) if -(1 << 31) <= value.constant < 1 << 31 else None
    if isinstance(value, ir.CastInstr) and value.opname == "sext":
        narrow = value.operands[0]
        return narrow if narrow.type == I32 else None
    return None


def _count_iterations(
    emitter: FunctionEmitter,
    node: tree.ForRange,
    start: ir.Value,
    stop: ir.Value,
    step: ir.Value,
) -> None:
    # Counted beforehand, because the number after the last one may not fit 64 bits.
    counter = emitter.slot(I64, f"{node.variable.name}.next")
    left = emitter.slot(I64, f"{node.variable.name}.left")
    emitter.builder.store(start, counter)
    emitter.builder.store(_emit_length(emitter.builder, start, stop, step), left)

    def has_more() -> ir.Value:
        now = emitter.builder.load(left, typ=I64)
        return emitter.builder.icmp_unsigned("!=", now, integer(0))

    def advance() -> None:
        builder = emitter.builder
        builder.store(builder.sub(builder.load(left, typ=I64), integer(1)), left)
        builder.store(builder.add(builder.load(counter, typ=I64), step), counter)

    def number() -> ir.Value:
        return emitter.builder.load(counter, typ=I64)

    _emit_range(emitter, node, number, has_more, advance)


def _emit_length(
    builder: ir.IRBuilder, start: ir.Value, stop: ir.Value, step: ir.Value
) -> ir.Value:
    """``len(range(start, stop, step))`` as an unsigned i64; 0 for a step of 0."""
    zero, one = integer(0), integer(1)
    rises = builder.icmp_signed(">", step, zero)
    # Differences and negations wrap to the right unsigned number.
    distance = builder.select(rises, builder.sub(stop, start), builder.sub(start, stop))
    stride = builder.select(rises, step, builder.neg(step))
    is_still = builder.icmp_signed("==", step, zero)
    stride = builder.select(is_still, one, stride)
    length = builder.add(builder.udiv(builder.sub(distance, one), stride), one)
    goes_on = builder.select(
        rises, builder.icmp_signed("<", start, stop), builder.icmp_signed(">", start, stop)
    )
    is_empty = builder.or_(builder.not_(goes_on), is_still)
    return builder.select(is_empty, zero, length)


def _emit_range(
    emitter: FunctionEmitter,
    node: tree.ForRange,
    number: Callable[[], ir.Value],
    has_more: Callable[[], ir.Value],
    advance: Callable[[], None],
) -> None:
    loop = Loop(emitter.new_block("for.next"), emitter.new_block("for.end"))
    head, body = emitter.new_block("for.head"), emitter.new_block("for.body")
    done = emitter.new_block("for.done")
    emitter.branch(head)
    emitter.start(head)
    emitter.branch_on(has_more(), body, done)
    emitter.start(body)
    emitter.assign(node.variable, number())
    _run_body(emitter, loop, node.body)
    emitter.branch(loop.next)
    emitter.join(loop.next)
    if not emitter.is_dead:
        advance()
        emitter.branch(head)
        copies = emitter.program.loop_copies.get(node)
        if copies is not None:
            limit_copies(emitter.builder.block.terminator, copies)
    _finish(emitter, loop, done, node.otherwise)
