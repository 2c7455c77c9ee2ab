"""Calls and type tests. ``ptxpass.ir`` writes what the dispatch mode makes of the virtual ones."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from dispatch.errors import ErrorCode
from ptxpass.ir import Site, VirtualCall

from ..errors import InternalError
from ..ir.core import Candidate, Lane, Operation, type_of
from ..model.classes import ClassType, Family
from ..model.scalars import boolean
from ..model.types import ReferenceType
from . import checks
from .emitter import FALSE, FunctionEmitter, ProgramEmitter, emits, integer
from .lvalues import guarded
from .report import emit_report
from .types import I32, function_type

VtableAddress = Callable[[ir.IRBuilder, ir.Value], ir.Value]


@emits("call")
def _call(emitter: FunctionEmitter, operation: Operation) -> ir.Value | None:
    symbol = operation["symbol"]
    known = emitter.program.known.get(symbol, {})
    arguments = [
        emitter.members[each].first if isinstance(known.get(n), Lane) else emitter.value(each)
        for n, each in enumerate(operation.operands)
    ]
    result = emitter.builder.call(_callee(emitter.program, symbol), arguments)
    return None if isinstance(result.type, ir.VoidType) else result


@emits("call_virtual")
def _call_virtual(emitter: FunctionEmitter, operation: Operation) -> ir.Value | None:
    program, arguments = emitter.program, emitter.values(operation.operands)
    type = type_of(operation.operands[0])
    valid = checks.reference_is_valid(emitter, arguments[0], type, operation.location)
    return guarded(
        emitter,
        valid,
        type_of(operation.result),
        lambda: program.dispatch.call(emitter.builder, program.calls[operation], arguments),
    )


@emits("type_test")
def _type_test(emitter: FunctionEmitter, node: Operation) -> ir.Value:
    reference = emitter.value(node.operands[0])
    if not node["matching"]:
        return FALSE
    is_object = emitter.builder.icmp_unsigned("!=", reference, integer(0))
    return emitter.choose(
        is_object, lambda: _matches(emitter, node, reference), lambda: FALSE, "isinstance"
    )


def _matches(emitter: FunctionEmitter, node: Operation, reference: ir.Value) -> ir.Value:
    """i1: a reference that is not null names an object of one of the matching classes."""
    type, builder = node.operands[0].type, emitter.builder
    if not isinstance(type, ReferenceType):
        raise InternalError(f"isinstance of {type!r}")
    valid = checks.reference_is_valid(emitter, reference, type, node.location)
    candidates = tuple(Candidate(cls, "") for cls in node["candidates"])
    site = Site(*_of_receiver(emitter.program, type.cls), candidates, node["identify"])

    def test() -> ir.Value:
        found = emitter.program.dispatch.type_index(builder, site, reference)
        result, *others = [
            builder.icmp_unsigned("==", found, I32(cls.type_index)) for cls in node["matching"]
        ]
        for other in others:
            result = builder.or_(result, other)
        return result

    return guarded(emitter, valid, boolean, test)


def virtual_call(program: ProgramEmitter, operation: Operation) -> VirtualCall:
    """What ``ptxpass.ir`` is told of a call."""
    static: ClassType = operation["cls"]
    types = [type_of(operand) for operand in operation.operands[1:]]
    signature = function_type([ReferenceType(static), *types], type_of(operation.result))
    for candidate in operation["candidates"]:
        callee = _callee(program, candidate.symbol)
        if callee.function_type != signature:
            raise InternalError(
                f"{candidate.symbol} is {callee.function_type}, called as {signature}"
            )

    def report(builder: ir.IRBuilder, reference: ir.Value) -> None:
        site, address = program.site_number(operation.location), program.emit_address
        emit_report(program, builder, I32(ErrorCode.NO_METHOD), site, address(builder, reference))

    return VirtualCall(
        *_of_receiver(program, static),
        operation["candidates"],
        operation["identify"],
        operation["method"],
        operation["slot"],
        signature,
        report,
    )


def _of_receiver(program: ProgramEmitter, cls: ClassType) -> tuple[str, VtableAddress]:
    """Of a receiver of a static class: the name of its family; where its vtable pointer lies."""
    root = cls.family.root

    def emit_vtable_address(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
        return program.layout.emit_vtable_address(builder, address, root)

    return family_name(cls.family), emit_vtable_address


def family_name(family: Family) -> str:
    """Names a family in symbols: ASCII and different for every family of the process."""
    return f"{ascii(family.root.name)[1:-1]}_{family.root.type_index}".replace("\\", "_")


def _callee(program: ProgramEmitter, symbol: str) -> ir.Function:
    found = program.functions.get(symbol)
    if found is None:
        raise InternalError(f"{symbol} is called but is not part of the program")
    return found
