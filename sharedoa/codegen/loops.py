"""Loops: ``while`` and ``for`` over a range, with ``else``, ``break`` and ``continue``.

What a loop carries are phi nodes at its head.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from dispatch.dataclass import dataclass

from ..ir.core import Operation, Region, constant_of
from . import checks
from .emitter import FunctionEmitter, Join, Loop, emits, integer
from .loop_metadata import limit_copies, write_out
from .shared_loops import emit_shared
from .types import I64


@emits("while")
def _while(emitter: FunctionEmitter, operation: Operation) -> list[ir.Value]:
    test, body, otherwise = operation.regions
    head = _Head(emitter, "while.head", emitter.values(operation.operands))
    loop = Loop(Join(emitter, "while.next"), Join(emitter, "while.end"))
    emitter.bind_all(test.arguments, head.values)
    emitter.run(test)
    answer, *passed = emitter.values(test.terminator.operands)
    done, inner = emitter.new_block("while.done"), emitter.new_block("while.body")
    if constant_of(test.terminator.operands[0]):
        emitter.branch(inner)
    else:
        emitter.branch_on(answer, inner, done)
    emitter.start(inner)
    emitter.bind_all(body.arguments, passed)
    _run_body(emitter, loop, body)
    following = loop.next.start()
    if not emitter.is_dead:
        head.repeat(following)
    if constant_of(test.terminator.operands[0]):
        return loop.end.start()
    return _finish(emitter, loop, done, otherwise, passed)


@emits("condition")
def _condition(emitter: FunctionEmitter, operation: Operation) -> None:
    """What follows is up to the loop."""


@emits("break")
def _break(emitter: FunctionEmitter, operation: Operation) -> None:
    emitter.loops[-1].end.branch(emitter.values(operation.operands))


@emits("continue")
def _continue(emitter: FunctionEmitter, operation: Operation) -> None:
    emitter.loops[-1].next.branch(emitter.values(operation.operands))


class _Head:
    """Where each round begins, with what is carried."""

    def __init__(self, emitter: FunctionEmitter, name: str, first: Sequence[ir.Value]) -> None:
        self._emitter = emitter
        self.block = emitter.new_block(name)
        before = emitter.builder.block
        emitter.branch(self.block)
        emitter.start(self.block)
        self.values = [emitter.builder.phi(value.type) for value in first]
        for phi, value in zip(self.values, first, strict=True):
            phi.add_incoming(value, before)

    def repeat(self, following: Sequence[ir.Value]) -> None:
        """Begin the next round, with these values."""
        for phi, value in zip(self.values, following, strict=True):
            phi.add_incoming(value, self._emitter.builder.block)
        self._emitter.branch(self.block)


def _run_body(emitter: FunctionEmitter, loop: Loop, body: Region) -> None:
    emitter.loops.append(loop)
    emitter.run(body)
    emitter.loops.pop()


def _finish(
    emitter: FunctionEmitter,
    loop: Loop,
    done: ir.Block,
    otherwise: Region,
    carried: Sequence[ir.Value],
) -> list[ir.Value]:
    """``done`` is where the loop goes when it ends by itself: its ``else`` clause runs there. What
    the loop gives."""
    emitter.start(done)
    emitter.bind_all(otherwise.arguments, carried)
    emitter.arms.append(loop.end)
    emitter.run(otherwise)
    emitter.arms.pop()
    return loop.end.start()


# ---------------------------------------------------------------------- range


@dataclass(frozen=True)
class Bounds:
    """What a ``range`` begins and ends with, both i32 or both i64, and what it counts by."""

    start: ir.Value
    stop: ir.Value
    step: ir.Value

    @property
    def by_one(self) -> int | None:
        """1 or -1 if the numbers are that far apart."""
        is_one = isinstance(self.step, ir.Constant) and self.step.constant in (1, -1)
        return int(self.step.constant) if is_one else None


@emits("for")
def _for(emitter: FunctionEmitter, operation: Operation) -> list[ir.Value]:
    start, stop, step, *first = emitter.values(operation.operands)
    checks.check_step(emitter, step, operation.location)
    bounds = Bounds(start, stop, step)
    if "shared" not in operation.attributes:
        return _emit_alone(emitter, operation, bounds, first)
    return emit_shared(
        emitter,
        operation,
        start,
        stop,
        first,
        lambda: _emit_alone(emitter, operation, bounds, first),
    )


def _emit_alone(
    emitter: FunctionEmitter, operation: Operation, bounds: Bounds, first: Sequence[ir.Value]
) -> list[ir.Value]:
    """The loop as each thread runs it by itself."""
    builder, by_one = emitter.builder, bounds.by_one
    body, otherwise = operation.regions
    if by_one is None:
        # Counted beforehand, because the number after the last one may not fit 64 bits.
        left = _emit_length(builder, bounds.start, bounds.stop, bounds.step)
        head = _Head(emitter, "for.head", [bounds.start, left, *first])
        now, left, *carried = head.values
        has_more = builder.icmp_unsigned("!=", left, integer(0))
    else:
        head = _Head(emitter, "for.head", [bounds.start, *first])
        now, *carried = head.values
        has_more = builder.icmp_signed("<" if by_one > 0 else ">", now, bounds.stop)
    loop = Loop(Join(emitter, "for.next"), Join(emitter, "for.end"))
    inner, done = emitter.new_block("for.body"), emitter.new_block("for.done")
    emitter.branch_on(has_more, inner, done)
    emitter.start(inner)
    number = now if now.type == I64 else builder.sext(now, I64)
    emitter.bind_all(body.arguments, [number, *carried])
    _run_body(emitter, loop, body)
    following = loop.next.start()
    if not emitter.is_dead:
        if by_one is None:
            counted = [builder.add(now, bounds.step), builder.sub(left, integer(1))]
        else:
            # It lies before the stop, so one step further is still a number.
            counted = [builder.add(now, now.type(by_one), flags=("nsw",))]
        head.repeat([*counted, *following])
        copies = operation.attributes.get("copies")
        if copies is not None:
            limit_copies(builder.block.terminator, copies)
        elif operation.attributes.get("written_out"):
            write_out(builder.block.terminator)
    return _finish(emitter, loop, done, otherwise, carried)


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
