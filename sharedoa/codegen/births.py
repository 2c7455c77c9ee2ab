"""Objects that threads make, end and ask about (``dispatch.births``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llvmlite import ir

from dispatch import births
from dispatch.errors import ErrorCode
from dispatch.mode import Placement

from ..ir.core import Location, Operation
from ..model.classes import ClassType
from .emitter import FALSE, TRUE, FunctionEmitter, ProgramEmitter, emits, integer
from .report import emit_report
from .types import I8, I32, I64


@emits("new")
def _new(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    thread, entry = operation.operands[0], operation["entry"]
    ways = {entry: (operation["cls"], operation.location)}
    return _born(emitter, integer(entry, I32), emitter.value(thread), ways)


@emits("new_of")
def _new_of(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    thread, entry = map(emitter.value, operation.operands)
    ways = {entry: (cls, Location(*at)) for entry, (cls, *at) in operation["ways"].items()}
    return _born(emitter, entry, thread, ways)


def _born(
    emitter: FunctionEmitter,
    entry: ir.Value,
    thread: ir.Value,
    ways: Mapping[int, tuple[ClassType, Location]],
) -> ir.Value:
    """A reference to an object of the class with an entry of the birth table, null without a place;
    the host has written its header."""
    program, builder = emitter.program, emitter.builder
    space = program.target.constant_space

    def of_entry(values: Mapping[int, int], type: ir.IntType) -> ir.Value:
        (_, first), *others = values.items()
        found: ir.Value = type(first)
        for number, value in others:
            if len({*values.values()}) > 1:
                is_that = builder.icmp_unsigned("==", entry, I32(number))
                found = builder.select(is_that, type(value), found)
        return found

    place = births.place_function(program.module, *_memory(program))
    address = builder.call(place, [entry, thread], "born")
    origins = {n: program.encoding.origin(0, cls.type_index) for n, (cls, _) in ways.items()}
    origin = builder.add(address, of_entry(origins, I64))
    reference = program.encoding.emit_from_origin(builder, origin, space)
    is_full = builder.icmp_unsigned("==", address, integer(0))

    def report() -> None:
        sites = of_entry({n: program.site_number(at) for n, (_, at) in ways.items()}, I64)
        types = of_entry({n: cls.type_index for n, (cls, _) in ways.items()}, I64)
        emit_report(program, builder, I32(ErrorCode.ROOM), sites, types)

    emitter.when(is_full, report, "full")
    return builder.select(is_full, integer(0), reference)


@emits("is_alive")
def _is_alive(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    return _if_alive(emitter, operation, lambda byte: TRUE)


@emits("delete")
def _delete(emitter: FunctionEmitter, operation: Operation) -> ir.Value:
    def end(byte: ir.Value) -> ir.Value:
        # Of several threads that found it alive one is the first.
        return births.emit_end(emitter.builder, byte, emitter.program.target.object_space)

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
