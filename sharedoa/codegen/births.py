"""Objects that threads make, end and ask about (``dispatch.births``)."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from dispatch import births
from dispatch.errors import ErrorCode
from dispatch.mode import Placement

from ..ir.core import Operation
from .emitter import FALSE, TRUE, FunctionEmitter, ProgramEmitter, emits, integer
from .report import emit_report
from .types import I8, I32


@emits("new")
def _new(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    """A reference, null without a place; the host has written the object's header."""
    program, builder = emitter.program, emitter.builder
    type_index, space = operation["cls"].type_index, program.target.constant_space
    place = births.place_function(program.module, *_memory(program))
    number = integer(operation["entry"], I32)
    address = builder.call(place, [number, emitter.value(operation.operands[0])], "born")
    origin = builder.add(address, integer(program.encoding.origin(0, type_index)))
    reference = program.encoding.emit_from_origin(builder, origin, space)
    is_full = builder.icmp_unsigned("==", address, integer(0))
    code, site = I32(ErrorCode.ROOM), program.site_number(operation.location)
    emitter.when(
        is_full, lambda: emit_report(program, builder, code, site, integer(type_index)), "full"
    )
    return builder.select(is_full, integer(0), reference)


@emits("is_alive")
def _is_alive(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    return _if_alive(emitter, operation, lambda byte: TRUE)


@emits("delete")
def _delete(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    def end(byte: ir.Value) -> ir.Value:
        # Of several threads that found it alive one is the first.
        return births.emit_end(emitter.builder, byte, emitter.program.target.object_space)

    if len(operation.operands) > 1:
        _, bytes, slot = emitter.values(operation.operands)
        return end(emitter.builder.add(emitter.builder.extract_value(bytes, 0), slot))
    return _if_alive(emitter, operation, end)


def _if_alive(
    emitter: FunctionEmitter, operation: Operation, then: Callable[[ir.Value], ir.Value]
) -> ir.Value:
    """i1: what ``then`` makes of the address of an object's byte, if that says that it lives."""
    program, builder = emitter.program, emitter.builder
    address = program.emit_address_or_null(builder, emitter.value(operation.operands[0]))
    live_byte = births.live_byte_function(program.module, *_memory(program))
    byte_address = builder.call(live_byte, [address])

    def look() -> ir.Value:
        pointer = builder.inttoptr(byte_address, program.object_pointer)
        byte = builder.load(pointer, align=1, typ=I8)
        lives = births.emit_lives(builder, byte)
        return emitter.choose(lives, lambda: then(byte_address), lambda: FALSE, "alive")

    is_there = builder.icmp_unsigned("!=", byte_address, integer(0))
    found: ir.Value = emitter.choose(is_there, look, lambda: FALSE, "there")
    return found


def _memory(program: ProgramEmitter) -> tuple[Placement, int, int]:
    """How objects are placed, and the address spaces that they and the state block are in."""
    return program.layout.placement, program.target.object_space, program.target.constant_space
