"""Calls: direct ones, virtual ones in canonical form, and type tests.

The canonical form is what a C++ compiler emits: load the vtable pointer out of the object's header
(A), load the slot (B), call through the module's table of function addresses (C). It is recorded
as a ``CallSite``, with its instructions, for the pass to replace by what the dispatch mode says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir

from ptxpass.ir import CallSite, SiteCandidate, TypeQuery, function_table

from ..errors import InternalError
from ..frontend import tree
from ..model.classes import ClassType, Family
from ..model.run_form import RunForm
from ..model.types import ReferenceType
from ..targets.base import declare
from . import checks
from .emitter import FALSE, FunctionEmitter, ProgramEmitter, expression, integer
from .memory import offset_address, pointer_to
from .neighbours import Members, member_of
from .places import guarded
from .runs import exact_class, runs_passed
from .types import I32, I64, function_type

TYPE_INDEX = "sharedoa_type_index"
_VTABLE_ENTRY_BYTES = 4
_NO_RUNS: Mapping[int, RunForm] = {}
_NO_MEMBERS: Members = {}


@expression(tree.DirectCall)
def _direct_call(emitter: FunctionEmitter, node: tree.DirectCall) -> ir.Value | None:
    members: dict[int, int] = {}
    arguments = []
    for place, argument in enumerate(node.arguments):
        member = member_of(emitter, argument)
        if member is not None:
            members[place] = member.lane
        arguments.append(emitter.evaluate(argument) if member is None else member.first)
    _note_call(emitter, node.symbol)
    callee = _callee(emitter.program, node.symbol, runs_passed(emitter, node.arguments), members)
    result = emitter.builder.call(callee, arguments)
    return None if isinstance(result.type, ir.VoidType) else result


@expression(tree.VirtualCall)
def _virtual_call(emitter: FunctionEmitter, node: tree.VirtualCall) -> ir.Value | None:
    receiver = emitter.evaluate(node.receiver)
    arguments = [emitter.evaluate(argument) for argument in node.arguments]
    valid = checks.reference_is_valid(emitter, receiver, node.receiver.type, node.location)
    return guarded(
        emitter, valid, node.type, lambda: _emit_canonical_call(emitter, node, receiver, arguments)
    )


def _emit_canonical_call(
    emitter: FunctionEmitter,
    node: tree.VirtualCall,
    receiver: ir.Value,
    arguments: Sequence[ir.Value],
) -> ir.Value | None:
    program, builder = emitter.program, emitter.builder
    family = _note_family(program, node.static_class)
    signature = function_type([ReferenceType(node.static_class), *node.parameter_types], node.type)
    candidates = _site_candidates(emitter, node, signature)
    first = len(builder.block.instructions)
    address = program.emit_address(builder, receiver)
    address = program.layout.emit_vtable_address(builder, address, node.static_class)
    vtable = builder.load(pointer_to(emitter, address), "vtable", align=8, typ=I64)
    slot = offset_address(emitter, vtable, node.slot * _VTABLE_ENTRY_BYTES)
    entry = builder.load(pointer_to(emitter, slot), "entry", align=_VTABLE_ENTRY_BYTES, typ=I32)
    # Diverged loads from constant memory serialise, so the table lies where objects do.
    table = function_table(program.module, family, program.target.object_space)
    place = builder.gep(table, [builder.zext(entry, I64)], source_etype=ir.PointerType())
    function = builder.load(place, "method", align=8, typ=ir.PointerType(signature))
    chain = list(builder.block.instructions[first:])
    call = builder.call(function, [receiver, *arguments])
    program.sites.append(
        CallSite(
            number=len(program.sites),
            method=node.method,
            static_class=node.static_class.name,
            family=family,
            slot=node.slot,
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


@expression(tree.TypeTest)
def _type_test(emitter: FunctionEmitter, node: tree.TypeTest) -> ir.Value:
    reference = emitter.evaluate(node.value)
    if not node.matching:
        return FALSE
    is_object = emitter.builder.icmp_unsigned("!=", reference, integer(0))
    return emitter.choose(
        is_object, lambda: _matches(emitter, node, reference), lambda: FALSE, "isinstance"
    )


def _matches(emitter: FunctionEmitter, node: tree.TypeTest, reference: ir.Value) -> ir.Value:
    """i1: a reference that is not null names an object of one of the matching classes."""
    type = node.value.type
    if not isinstance(type, ReferenceType):
        raise InternalError(f"isinstance of {type!r}")
    static = type.cls
    valid = checks.reference_is_valid(emitter, reference, type, node.location)

    def test() -> ir.Value:
        found = _emit_type_query(emitter, node, static, reference)
        tests = [
            emitter.builder.icmp_unsigned("==", found, I32(cls.type_index)) for cls in node.matching
        ]
        result = tests[0]
        for other in tests[1:]:
            result = emitter.builder.or_(result, other)
        return result

    return guarded(emitter, valid, node.type, test)


def _emit_type_query(
    emitter: FunctionEmitter, node: tree.TypeTest, static: ClassType, reference: ir.Value
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


def describe(location: tree.Location) -> str:
    return f"{location.file}:{location.line}"


def _site_candidates(
    emitter: FunctionEmitter, node: tree.VirtualCall, signature: ir.FunctionType
) -> tuple[SiteCandidate, ...]:
    found = []
    exact = exact_class(emitter, node.receiver)
    for candidate in node.candidates:
        if exact is not None and candidate.cls is not exact:
            continue
        callee = _callee(emitter.program, candidate.symbol)
        if callee.function_type != signature:
            raise InternalError(
                f"{candidate.symbol} is {callee.function_type}, called as {signature}"
            )
        _note_call(emitter, candidate.symbol)
        entry = candidate.cls.entry_base + node.slot
        found.append(
            SiteCandidate(candidate.cls.name, candidate.cls.type_index, entry, candidate.symbol)
        )
    return tuple(found)


def _callee(
    program: ProgramEmitter,
    symbol: str,
    runs: Mapping[int, RunForm] = _NO_RUNS,
    members: Members = _NO_MEMBERS,
) -> ir.Function:
    if symbol not in program.functions:
        raise InternalError(f"{symbol} is called but is not part of the program")
    return program.variant(symbol, runs, members)


def _note_call(emitter: FunctionEmitter, symbol: str) -> None:
    emitter.program.calls.setdefault(emitter.function.symbol, set()).add(symbol)
