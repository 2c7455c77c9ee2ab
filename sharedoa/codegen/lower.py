"""Program in SSA form to LLVM module: every function, and the kernel's entry."""

from __future__ import annotations

import itertools
from collections import Counter
from graphlib import CycleError, TopologicalSorter

from llvmlite import ir

from dispatch.births import emit_turns
from dispatch.check import CHECK_REFERENCE, define_check_reference
from dispatch.dataclass import dataclass
from ptxpass.ir import Canonical, Environment, Lowering

from ..ir.core import Function, Lane, Program, operations_in, type_of
from ..ir.job import Job, owners_of_fields
from ..ir.passes.calls import called_by
from ..ir.regrouping import may_regroup
from ..ir.storing import threads_at_once
from ..location import Location
from ..targets.base import Asking
from ..targets.packed_threads import ASKED_AT_ONCE
from . import (
    adjoints,
    arithmetic,
    atomics,
    births,
    branches,
    calls,
    constant_tables,
    expressions,
    inline_arrays,
    lists,
    loops,
    lvalues,
    statements,
    tiles,
    warp_counts,
)
from .abi import Leaf, assemble, leaves
from .branches import tests_in
from .emitter import FunctionEmitter, ProgramEmitter
from .line_table import LineTable
from .neighbours import take_member
from .races import define_notes
from .roles import RoleMetadata
from .types import I64, function_type

#: Loaded for the emitters that they register.
EMITTERS = (
    adjoints, arithmetic, atomics, births, branches, calls, constant_tables, expressions,
    inline_arrays, lists, loops, lvalues, statements, tiles, warp_counts,
)  # fmt: skip
_THREAD_PARAMETERS = ("x", "y", "nx", "ny")


@dataclass(frozen=True)
class LoweredModule:
    """A program as LLVM IR."""

    module: ir.Module
    kernel_symbol: str
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
    #: ``KernelLaunch.at_once``.
    at_once: int


def lower(program: Program, job: Job, canonical: bool = False) -> LoweredModule:
    """Generate the module of ``program``, the job's after the passes. ``canonical``: with virtual
    calls in the form of ``ptxpass.ir.Canonical``, to be looked at.

    Raises CompileError for an operation that no target has, InternalError for a malformed program.
    """
    target, debug = job.target, job.debug
    families = {owner.family for owner in owners_of_fields(job.program)}
    for family in sorted(families, key=lambda each: each.root.type_index):
        job.facts.clusters(family)
    kernel = program.kernel
    module = target.new_module(kernel.symbol)
    roles = RoleMetadata(module, program)
    emitter = ProgramEmitter(target, job.layout, job.encoding, debug, module, roles, job.fastmath)
    if job.lines:
        emitter.lines = LineTable(module, target.is_device, kernel.location.file)
    loops_of = [o for o in operations_in(program) if o.kind == "for"]
    shared = [operation.location for operation in loops_of if "shared" in operation.attributes]
    emitter.is_convergent = bool(shared)
    questions = [each for each in program.functions.values() if each.kind == "question"]
    functions = [
        each for each in program.functions.values() if each.kind not in ("kernel", "question")
    ]
    for function in functions:
        emitter.functions[function.symbol] = _declare(emitter, function)
        emitter.known[function.symbol] = function.known
    emitter.calls = {
        operation: calls.virtual_call(emitter, operation)
        for operation in operations_in(program)
        if operation.kind == "call_virtual"
    }
    emitter.dispatch = (Canonical if canonical else Lowering)(
        module, job.mode, _environment(emitter, job), emitter.calls.values()
    )
    if job.works_in_warps and not questions and may_regroup(program):
        spaces = target.object_space, target.constant_space
        emitter.turns = lambda builder: emit_turns(builder, *spaces)
    emitter.notes_thread = bool(questions) and target.is_device
    body = _define_kernel_body(emitter, kernel, f"{kernel.symbol}.body")
    asking = None
    if questions:
        asked = [_define_kernel_body(emitter, each, each.symbol) for each in questions]
        every = [
            o["every"] for each in questions for o in operations_in(each) if o.kind == "prefetch"
        ]
        asking = Asking(*asked, *every)
    for function in functions:
        _define(emitter, function)
    define_notes(emitter)
    emitter.dispatch.complete()
    if CHECK_REFERENCE in module.globals and not canonical:
        spaces = target.object_space, target.constant_space
        # That of the heap: objects of any mode with the same header can be looked at.
        define_check_reference(module, job.layout.placement, *spaces)
    at_once = 1
    if target.is_device and not debug:
        at_once = ASKED_AT_ONCE if asking is not None else threads_at_once(program)
    target.emit_entry(
        module,
        kernel.symbol,
        body,
        [leaf.type for leaf in _leaves_of(kernel)],
        debug,
        emitter.uses_barrier,
        asking,
        job.facts.block() if target.is_device else None,
        at_once,
        emitter.turns,
    )
    if not target.is_device:
        _inline_what_is_called_once(module)
    if emitter.lines is not None:
        emitter.lines.describe(module.globals[kernel.symbol], kernel.name, kernel.location)
    return LoweredModule(
        module=module,
        kernel_symbol=kernel.symbol,
        leaves=_leaves_of(kernel),
        source_sites=emitter.source_sites,
        assertion_texts=emitter.assertion_texts,
        shared_loops=list(dict.fromkeys(shared)),
        loop_copies={o.location: o["copies"] for o in loops_of if "copies" in o.attributes},
        common_functions=list(dict.fromkeys(f.location for f in functions if f.melded)),
        uses_barrier=emitter.uses_barrier,
        recursive=_has_cycle({f.symbol: {*called_by(f)} for f in program.functions.values()}),
        at_once=at_once,
    )


def _environment(program: ProgramEmitter, job: Job) -> Environment:
    target = program.target
    return Environment(
        object_space=target.object_space,
        constant_space=target.constant_space,
        is_device=target.is_device,
        emit_address=program.emit_address,
        emit_order=job.encoding.emit_order,
        debug=job.debug,
        ranges=job.facts.ranges,
    )


def _declare(program: ProgramEmitter, function: Function) -> ir.Function:
    types = [type_of(parameter) for parameter in function.parameters]
    declared = ir.Function(program.module, function_type(types, function.result), function.symbol)
    declared.linkage = "internal"
    _describe(program, declared)
    return declared


def _describe(program: ProgramEmitter, function: ir.Function) -> None:
    function.attributes.add("nounwind")
    if program.is_convergent:
        # Threads of a warp meet in it, or in what it calls: LLVM must not move it into a branch.
        function.attributes.add("convergent")


def _define(program: ProgramEmitter, function: Function) -> None:
    llvm_function = program.functions[function.symbol]
    emitter = FunctionEmitter(program, function, llvm_function)
    emitter.tests = tests_in(function)
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


def _inline_what_is_called_once(module: ir.Module) -> None:
    """LLVM puts such functions into their callers by itself, after it has optimised them alone."""
    called = Counter(
        instruction.callee
        for function in module.functions
        for block in function.blocks
        for instruction in block.instructions
        if isinstance(instruction, ir.CallInstr)
    )
    for function, count in called.items():
        is_ours = isinstance(function, ir.Function) and function.linkage == "internal"
        if count == 1 and is_ours and "noinline" not in function.attributes:
            function.attributes.add("alwaysinline")


def _leaves_of(kernel: Function) -> list[Leaf]:
    return [leaf for value in kernel.parameters for leaf in leaves(type_of(value))]


def _define_kernel_body(program: ProgramEmitter, kernel: Function, symbol: str) -> ir.Function:
    """Define what a thread does, or is asked."""
    kernel_leaves = _leaves_of(kernel)
    types = [leaf.type for leaf in kernel_leaves] + [I64] * len(_THREAD_PARAMETERS)
    result = function_type([], kernel.result).return_type
    body = ir.Function(program.module, ir.FunctionType(result, types), symbol)
    body.linkage = "internal"
    body.attributes.add("alwaysinline")
    _describe(program, body)
    emitter = FunctionEmitter(program, kernel, body)
    emitter.tests = tests_in(kernel)
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


def take_apart(module: ir.Module) -> None:
    """Empty what nobody wants to see again. Its functions, blocks and instructions refer to one
    another: left whole, they would wait until Python looks for such cycles."""
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                vars(instruction).clear()
            vars(block).clear()
        for value in (*function.args, function):
            vars(value).clear()
    vars(module).clear()
