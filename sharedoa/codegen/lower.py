"""Typed tree to LLVM module: every function of a program, and the kernel's entry."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from llvmlite import ir

from dispatch.errors import ErrorCode
from ptxpass.ir import CallSite, TypeQuery

from ..frontend import tree
from ..frontend.common_functions import common_functions
from ..frontend.effects import assigned_by, assigned_variables
from ..frontend.field_use import families_used
from ..frontend.loop_copies import loop_copies
from ..frontend.shared_loops import shared_loops
from ..frontend.walk import nodes_of
from . import arithmetic, atomics, calls, expressions, loops, places, statements
from .abi import Leaf, assemble, leaves
from .emitter import FunctionEmitter, ProgramEmitter
from .job import Job
from .neighbours import Members, note_members
from .races import define_notes
from .report import emit_report
from .roles import RoleMetadata, stored_roles
from .runs import Runs
from .types import I32, I64, VOID, function_type, llvm_type, zero

#: Loaded for the emitters that they register.
EMITTERS = (arithmetic, atomics, calls, expressions, loops, places, statements)
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
    source_sites: list[tree.Location]
    #: What the assertions among them say, by the same number.
    assertion_texts: dict[int, str]
    #: Where the loops begin that threads of a warp share.
    shared_loops: list[tree.Location]
    #: How often loops are copied at most that lie in methods which run side by side.
    loop_copies: dict[tree.Location, int]
    #: Where the functions begin that threads on different ways run together.
    common_functions: list[tree.Location]
    uses_barrier: bool
    #: Whether some function may call itself, directly or through others.
    recursive: bool


def lower(job: Job) -> LoweredModule:
    """Generate the module of a job's program.

    Raises CompileError for an operation that no target has, InternalError for a malformed tree.
    """
    program, target, debug, facts = job.program, job.target, job.debug, job.facts
    kernel = program.kernel
    module = target.new_module(kernel.symbol)
    in_warps = job.mode.shares_loops and target.warp is not None and not debug
    populated = facts.populated() if target.is_device else None
    for family in sorted(families_used(program), key=lambda each: each.root.type_index):
        facts.clusters(family)
    emitter = ProgramEmitter(
        target,
        job.layout,
        job.encoding,
        job.mode,
        debug,
        module,
        RoleMetadata(module, stored_roles(program)),
        facts,
        assigned_variables(program),
        shared_loops(program) if in_warps else {},
        loop_copies(program, populated) if target.is_device else {},
        common_functions(program, populated) if in_warps else frozenset(),
        job.fastmath,
    )
    functions = [function for function in program.functions.values() if function is not kernel]
    for function in functions:
        emitter.functions[function.symbol] = _declare(emitter, function)
    kernel_leaves = [leaf for variable in kernel.parameters for leaf in leaves(variable.type)]
    forms = ((place, facts.run(place)) for place in range(len(kernel.parameters)))
    runs = {place: form for place, form in forms if form is not None}
    body = _define_kernel_body(emitter, kernel, kernel_leaves, runs)
    _define_what_is_called(emitter, program)
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
        shared_loops=[loop.location for loop in emitter.shared_loops],
        loop_copies={loop.location: n for loop, n in emitter.loop_copies.items()},
        common_functions=[program.functions[s].location for s in sorted(emitter.common_functions)],
        uses_barrier=emitter.uses_barrier,
        recursive=_has_cycle(emitter.calls),
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


def _declare(program: ProgramEmitter, function: tree.Function) -> ir.Function:
    types = [variable.type for variable in function.parameters]
    type = function_type(types, function.result)
    declared = ir.Function(program.module, type, function.symbol)
    declared.linkage = "internal"
    _describe(program, declared)
    if function.symbol in program.common_functions:
        declared.attributes.add("noinline")  # for now (``targets.common_calls``)
    return declared


def _describe(program: ProgramEmitter, function: ir.Function) -> None:
    function.attributes.add("nounwind")
    if program.shared_loops:
        # Threads of a warp meet in it, or in what it calls: LLVM must not move it into a branch.
        function.attributes.add("convergent")


def _define_what_is_called(program: ProgramEmitter, source: tree.Program) -> None:
    """The functions that the kernel calls, and those that these call; all others are dropped."""
    written = 0
    while called := list(program.variants.items())[written:]:
        for (symbol, runs, members), llvm_function in called:
            function = source.functions[symbol]
            _define(program, function, llvm_function, dict(runs), dict(members))
        written += len(called)
    for function in program.functions.values():
        if not function.blocks:
            del program.module.globals[function.name]


def _define(
    program: ProgramEmitter,
    function: tree.Function,
    llvm_function: ir.Function,
    runs: Runs,
    members: Members,
) -> None:
    emitter = FunctionEmitter(program, function, llvm_function)
    _note_runs(emitter, runs)
    parameters = zip(function.parameters, llvm_function.args, strict=True)
    for place, (variable, argument) in enumerate(parameters):
        argument.name = variable.name
        if place not in members:
            emitter.take(variable, argument)
    if members:
        note_members(emitter, members)
    _emit_body(emitter)


def _define_kernel_body(
    program: ProgramEmitter, kernel: tree.Function, kernel_leaves: list[Leaf], runs: Runs
) -> ir.Function:
    types = [leaf.type for leaf in kernel_leaves] + [I64] * len(_THREAD_PARAMETERS)
    body = ir.Function(program.module, ir.FunctionType(VOID, types), f"{kernel.symbol}.body")
    body.linkage = "internal"
    body.attributes.add("alwaysinline")
    _describe(program, body)
    emitter = FunctionEmitter(program, kernel, body)
    _note_runs(emitter, runs)
    emitter.thread = body.args[len(kernel_leaves) :]
    for argument, name in zip(emitter.thread, _THREAD_PARAMETERS, strict=True):
        argument.name = name
    values = iter(body.args)
    builder, encoding = emitter.builder, program.encoding
    for variable in kernel.parameters:
        parts = list(itertools.islice(values, len(leaves(variable.type))))
        for part in parts:
            part.name = variable.name
        emitter.take(variable, assemble(builder, variable.type, iter(parts), encoding))
    _emit_body(emitter)
    return body


def _note_runs(emitter: FunctionEmitter, runs: Runs) -> None:
    if runs:
        parameters, function = emitter.function.parameters, emitter.function
        changed = {variable for node in nodes_of(function) for variable in assigned_by(node)}
        known = {parameters[place]: form for place, form in runs.items()}
        emitter.runs = {v: form for v, form in known.items() if v not in changed}


def _emit_body(emitter: FunctionEmitter) -> None:
    emitter.run(emitter.function.body)
    if not emitter.is_dead:
        result = llvm_type(emitter.function.result)
        if isinstance(result, ir.VoidType):
            emitter.builder.ret_void()
        else:
            emitter.builder.ret(zero(result))
    emitter.finish()


def _has_cycle(calls: dict[str, set[str]]) -> bool:
    try:
        TopologicalSorter(calls).prepare()
    except CycleError:
        return True
    return False
