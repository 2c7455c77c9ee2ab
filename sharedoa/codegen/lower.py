"""Program in SSA form to LLVM module: every function, and the kernel's entry."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from llvmlite import ir

from dispatch.errors import ErrorCode
from ptxpass.ir import CallSite, TypeQuery

from ..ir.core import Function, Lane, Location, Program, operations_in, type_of
from ..ir.job import Job, owners_of_fields
from ..ir.passes.uncalled import called_by
from ..ir.roles import stored_roles
from . import arithmetic, atomics, calls, expressions, loops, lvalues, statements
from .abi import Leaf, assemble, leaves
from .emitter import FunctionEmitter, ProgramEmitter
from .neighbours import take_member
from .races import define_notes
from .report import emit_report
from .roles import RoleMetadata
from .types import I32, I64, VOID, function_type

#: Loaded for the emitters that they register.
EMITTERS = (arithmetic, atomics, calls, expressions, loops, lvalues, statements)
OnNoType = Callable[[ir.IRBuilder, CallSite, Any], None]
VtableAddress = Callable[[ir.IRBuilder, Any, str], Any]
_THREAD_PARAMETERS = ("x", "y", "nx", "ny")


@dataclass(frozen=True)
class LoweredModule:
    """A program as LLVM IR with its virtual calls in canonical form."""

    module: ir.Module
    kernel_symbol: str
    body_symbol: str
    sites: list[CallSite]
    queries: list[TypeQuery]
    #: For ``ptxpass.ir.Environment``: reports a receiver of a class that a site does not know.
    on_no_type: OnNoType | None
    #: For ``ptxpass.ir.Environment``: the address of the object that a reference names.
    emit_address: Callable[[ir.IRBuilder, Any], Any]
    #: For ``ptxpass.ir.Environment``: where an object of a family has its vtable pointer.
    emit_vtable_address: VtableAddress
    #: What the kernel's arguments are cut into, in order.
    leaves: list[Leaf]
    #: Places in the source, by the ``site`` of an error record.
    source_sites: list[Location]
    #: What the assertions among them say, by the same number.
    assertion_texts: dict[int, str]
    #: Where the loops begin that threads of a warp share.
    shared_loops: list[Location]
    #: How often loops are copied at most that lie in methods which run side by side.
    loop_copies: dict[Location, int]
    #: Where the functions begin that threads on different ways run together.
    common_functions: list[Location]
    uses_barrier: bool
    #: Whether some function may call itself, directly or through others.
    recursive: bool


def lower(program: Program, job: Job) -> LoweredModule:
    """Generate the module of ``program``, the job's after the passes.

    Raises CompileError for an operation that no target has, InternalError for a malformed program.
    """
    target, debug = job.target, job.debug
    families = {owner.family for owner in owners_of_fields(job.program)}
    for family in sorted(families, key=lambda each: each.root.type_index):
        job.facts.clusters(family)
    kernel = program.kernel
    module = target.new_module(kernel.symbol)
    roles = RoleMetadata(module, stored_roles(program))
    emitter = ProgramEmitter(
        target, job.layout, job.encoding, job.mode, debug, module, roles, job.fastmath
    )
    loops_of = [o for o in operations_in(program) if o.kind == "for"]
    shared = [operation.location for operation in loops_of if "shared" in operation.attributes]
    emitter.is_convergent = bool(shared)
    functions = [function for function in program.functions.values() if function is not kernel]
    for function in functions:
        emitter.functions[function.symbol] = _declare(emitter, function)
        emitter.known[function.symbol] = function.known
    kernel_leaves = [leaf for value in kernel.parameters for leaf in leaves(type_of(value))]
    body = _define_kernel_body(emitter, kernel, kernel_leaves)
    for function in functions:
        _define(emitter, function)
    define_notes(emitter)
    target.emit_entry(
        module,
        kernel.symbol,
        body,
        [leaf.type for leaf in kernel_leaves],
        debug,
        emitter.uses_barrier,
    )
    return LoweredModule(
        module=module,
        kernel_symbol=kernel.symbol,
        body_symbol=body.name,
        sites=emitter.sites,
        queries=emitter.queries,
        on_no_type=_report_no_method(emitter) if debug else None,
        emit_address=emitter.emit_address,
        emit_vtable_address=_vtable_address(emitter),
        leaves=kernel_leaves,
        source_sites=emitter.source_sites,
        assertion_texts=emitter.assertion_texts,
        shared_loops=list(dict.fromkeys(shared)),
        loop_copies={o.location: o["copies"] for o in loops_of if "copies" in o.attributes},
        common_functions=list(dict.fromkeys(f.location for f in functions if f.melded)),
        uses_barrier=emitter.uses_barrier,
        recursive=_has_cycle({f.symbol: {*called_by(f)} for f in program.functions.values()}),
    )


def _report_no_method(program: ProgramEmitter) -> OnNoType:
    def report(builder: ir.IRBuilder, site: CallSite, reference: ir.Value) -> None:
        place = program.call_sites[site.number]
        address = program.emit_address(builder, reference)
        emit_report(program, builder, I32(ErrorCode.NO_METHOD), place, address)

    return report


def _vtable_address(program: ProgramEmitter) -> VtableAddress:
    def emit(builder: ir.IRBuilder, object_address: Any, family: str) -> Any:
        root = program.families[family].root
        return program.layout.emit_vtable_address(builder, object_address, root)

    return emit


def _declare(program: ProgramEmitter, function: Function) -> ir.Function:
    types = [type_of(parameter) for parameter in function.parameters]
    declared = ir.Function(program.module, function_type(types, function.result), function.symbol)
    declared.linkage = "internal"
    _describe(program, declared)
    if function.melded:
        declared.attributes.add("noinline")  # for now (``targets.common_calls``)
    return declared


def _describe(program: ProgramEmitter, function: ir.Function) -> None:
    function.attributes.add("nounwind")
    if program.is_convergent:
        # Threads of a warp meet in it, or in what it calls: LLVM must not move it into a branch.
        function.attributes.add("convergent")


def _define(program: ProgramEmitter, function: Function) -> None:
    llvm_function = program.functions[function.symbol]
    emitter = FunctionEmitter(program, function, llvm_function)
    for number, parameter in enumerate(function.parameters):
        argument = llvm_function.args[number]
        argument.name = parameter.name
        fact = function.known.get(number)
        if isinstance(fact, Lane):
            take_member(emitter, parameter, argument, fact.number)
        else:
            emitter.bind(parameter, argument)
    emitter.run(function.body)
    emitter.finish()


def _define_kernel_body(
    program: ProgramEmitter, kernel: Function, kernel_leaves: list[Leaf]
) -> ir.Function:
    types = [leaf.type for leaf in kernel_leaves] + [I64] * len(_THREAD_PARAMETERS)
    body = ir.Function(program.module, ir.FunctionType(VOID, types), f"{kernel.symbol}.body")
    body.linkage = "internal"
    body.attributes.add("alwaysinline")
    _describe(program, body)
    emitter = FunctionEmitter(program, kernel, body)
    emitter.thread = body.args[len(kernel_leaves) :]
    for argument, name in zip(emitter.thread, _THREAD_PARAMETERS, strict=True):
        argument.name = name
    values = iter(body.args)
    builder, encoding = emitter.builder, program.encoding
    for parameter in kernel.parameters:
        type = type_of(parameter)
        parts = list(itertools.islice(values, len(leaves(type))))
        for part in parts:
            part.name = parameter.name
        emitter.bind(parameter, assemble(builder, type, iter(parts), encoding))
    emitter.run(kernel.body)
    emitter.finish()
    return body


def _has_cycle(calls: dict[str, set[str]]) -> bool:
    try:
        TopologicalSorter(calls).prepare()
    except CycleError:
        return True
    return False
