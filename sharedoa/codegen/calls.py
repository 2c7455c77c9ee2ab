"""Calls: direct ones, virtual ones in canonical form, and type tests.

The canonical form is what a C++ compiler emits: load the vtable pointer out of the object's header
(A), load the slot (B), call through the module's table of function addresses (C). It is recorded
as a ``CallSite``, with its instructions, for the pass to replace by what the dispatch mode says.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ptxpass.ir import CallSite, SiteCandidate, TypeQuery, function_table

from ..errors import InternalError
from ..ir.core import Lane, Location, Operation, type_of
from ..model.classes import ClassType, Family
from ..model.scalars import boolean
from ..model.types import ReferenceType
from ..targets.base import declare
from . import checks
from .emitter import FALSE, FunctionEmitter, ProgramEmitter, emits, integer
from .lvalues import guarded
from .memory import offset_address, pointer_to
from .types import I32, I64, function_type

TYPE_INDEX = "sharedoa_type_index"
_VTABLE_ENTRY_BYTES = 4


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
    receiver, *arguments = emitter.values(operation.operands)
    type = type_of(operation.operands[0])
    valid = checks.reference_is_valid(emitter, receiver, type, operation.location)
    return guarded(
        emitter,
        valid,
        type_of(operation.result),
        lambda: _emit_canonical_call(emitter, operation, receiver, arguments),
    )


def _emit_canonical_call(
    emitter: FunctionEmitter,
    node: Operation,
    receiver: ir.Value,
    arguments: Sequence[ir.Value],
) -> ir.Value | None:
    program, builder = emitter.program, emitter.builder
    static, slot = node["cls"], node["slot"]
    family = _note_family(program, static)
    types = [type_of(operand) for operand in node.operands[1:]]
    signature = function_type([ReferenceType(static), *types], type_of(node.result))
    candidates = _site_candidates(emitter, node, signature)
    first = len(builder.block.instructions)
    address = program.emit_address(builder, receiver)
    address = program.layout.emit_vtable_address(builder, address, static)
    vtable = builder.load(pointer_to(emitter, address), "vtable", align=8, typ=I64)
    place = offset_address(emitter, vtable, slot * _VTABLE_ENTRY_BYTES)
    entry = builder.load(pointer_to(emitter, place), "entry", align=_VTABLE_ENTRY_BYTES, typ=I32)
    # Diverged loads from constant memory serialise, so the table lies where objects do.
    table = function_table(program.module, family, program.target.object_space)
    cell = builder.gep(table, [builder.zext(entry, I64)], source_etype=ir.PointerType())
    function = builder.load(cell, "method", align=8, typ=ir.PointerType(signature))
    chain = list(builder.block.instructions[first:])
    call = builder.call(function, [receiver, *arguments])
    program.sites.append(
        CallSite(
            number=len(program.sites),
            method=node["method"],
            static_class=static.name,
            family=family,
            slot=slot,
            candidates=candidates,
            location=describe(node.location),
            function=emitter.llvm_function.name,
            receiver=receiver,
            call=call,
            chain=chain,
        )
    )
    program.call_sites.append(program.site_number(node.location))
    return None if isinstance(call.type, ir.VoidType) else call


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
    type = node.operands[0].type
    if not isinstance(type, ReferenceType):
        raise InternalError(f"isinstance of {type!r}")
    static = type.cls
    valid = checks.reference_is_valid(emitter, reference, type, node.location)

    def test() -> ir.Value:
        found = _emit_type_query(emitter, node, static, reference)
        tests = [
            emitter.builder.icmp_unsigned("==", found, I32(cls.type_index))
            for cls in node["matching"]
        ]
        result = tests[0]
        for other in tests[1:]:
            result = emitter.builder.or_(result, other)
        return result

    return guarded(emitter, valid, boolean, test)


def _emit_type_query(
    emitter: FunctionEmitter, node: Operation, static: ClassType, reference: ir.Value
) -> ir.Value:
    program = emitter.program
    query = declare(program.module, TYPE_INDEX, I32, [I64])
    call = emitter.builder.call(query, [reference], "type_index")
    program.queries.append(
        TypeQuery(
            number=len(program.queries),
            family=_note_family(program, static),
            candidates=tuple((cls.type_index, cls.name) for cls in static.concrete()),
            location=describe(node.location),
            function=emitter.llvm_function.name,
            receiver=reference,
            call=call,
        )
    )
    return call


def family_name(family: Family) -> str:
    """Names a family in symbols: ASCII and different for every family of the process."""
    return f"{ascii(family.root.name)[1:-1]}_{family.root.type_index}".replace("\\", "_")


def _note_family(program: ProgramEmitter, cls: ClassType) -> str:
    """The name of the family of ``cls``, which the pass can then ask the layout about."""
    name = family_name(cls.family)
    program.families[name] = cls.family
    return name


def describe(location: Location) -> str:
    return f"{location.file}:{location.line}"


def _site_candidates(
    emitter: FunctionEmitter, node: Operation, signature: ir.FunctionType
) -> tuple[SiteCandidate, ...]:
    found = []
    for candidate in node["candidates"]:
        callee = _callee(emitter.program, candidate.symbol)
        if callee.function_type != signature:
            raise InternalError(
                f"{candidate.symbol} is {callee.function_type}, called as {signature}"
            )
        entry = candidate.cls.entry_base + node["slot"]
        found.append(
            SiteCandidate(candidate.cls.name, candidate.cls.type_index, entry, candidate.symbol)
        )
    return tuple(found)


def _callee(program: ProgramEmitter, symbol: str) -> ir.Function:
    found = program.functions.get(symbol)
    if found is None:
        raise InternalError(f"{symbol} is called but is not part of the program")
    return found
