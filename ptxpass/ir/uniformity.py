"""Which receivers are the same object for every thread of a warp.

COAL leaves a call alone whose receiver is uniform: its header is then one load for the whole warp,
cheaper than a search ("Judging a Type by Its Pointer", section 5). This decides speed only, never
correctness.

*Uniform* means equal for all threads of the warp that run the code together. Thread indices are
divergent, and so is what is computed from them; kernel arguments, constants and loads from uniform
addresses are not. A variable that is assigned between a divergent branch and the place where its
ways join is divergent from the join on. In a loop that some threads leave earlier than others the
loop's variables stay uniform inside, among the threads still there, but not behind it.

Functions are followed from the kernel through direct calls and to every candidate of virtual ones;
a parameter is uniform if it is at all calls. Everything counts as uniform until shown otherwise,
so recursion needs no care.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir

from .sites import CallSite, RewriteError, TypeQuery
from .ssa import FunctionValues

BODY_SUFFIX = ".body"
_THREAD_INDICES = (-4, -3)
"""Places of x and y among the parameters of a kernel's body."""

#: Declared functions that answer each thread differently.
_PER_THREAD = ("llvm.nvvm.read.ptx.sreg.", "llvm.amdgcn.workitem.id", "malloc")
_ATOMIC = (ir.AtomicRMW, ir.CmpXchg)


def uniform_receivers(
    module: ir.Module, sites: Sequence[CallSite], queries: Sequence[TypeQuery], kernel: str
) -> frozenset[ir.CallInstr]:
    """The calls, of ``sites`` and ``queries``, whose receiver is uniform when ``kernel`` runs.

    Raises RewriteError if the module has no such kernel.
    """
    body = module.globals.get(kernel + BODY_SUFFIX)
    if not isinstance(body, ir.Function):
        raise RewriteError(f"the module has no function {kernel}{BODY_SUFFIX}")
    program = _Program(module, sites)
    program.analyse(body, {body.args[place] for place in _THREAD_INDICES})
    found: list[CallSite | TypeQuery] = [*sites, *queries]
    return frozenset(at.call for at in found if program.is_uniform(at.receiver, at.call))


class _Program:
    """All functions that the kernel reaches, and a list of those to look at again."""

    def __init__(self, module: ir.Module, sites: Iterable[CallSite]) -> None:
        self._module = module
        self._sites = {site.call: site for site in sites}
        self._functions: dict[ir.Function, _Function] = {}
        self._work: list[_Function] = []

    def analyse(self, kernel_body: ir.Function, divergent: set[Any]) -> None:
        self.enter(kernel_body, divergent, None)
        while self._work:
            self._work.pop().analyse()

    def is_uniform(self, receiver: Any, call: ir.CallInstr) -> bool:
        function = self._functions.get(call.function)
        if function is None:
            return False
        return not function.is_divergent(receiver, function.number_of(call.parent))

    def enter(
        self, function: ir.Function, divergent: set[Any], caller: _Function | None
    ) -> _Function:
        """Note a call of ``function`` with these parameters divergent."""
        known = self._functions.get(function)
        if known is None:
            known = self._functions[function] = _Function(self, function)
            self._work.append(known)
        if caller is not None:
            known.callers.add(caller)
        if not divergent <= known.divergent:
            known.divergent |= divergent
            self.look_again(known)
        return known

    def look_again(self, function: _Function) -> None:
        if function not in self._work:
            self._work.append(function)

    def targets(self, call: ir.CallInstr) -> list[ir.Function] | None:
        """The functions that a call may run; None if they are not in the module."""
        site = self._sites.get(call)
        if site is not None:
            return [self._module.globals[candidate.symbol] for candidate in site.candidates]
        callee = call.callee
        if isinstance(callee, ir.Function) and callee.blocks:
            return [callee]
        return None

    def is_virtual(self, call: ir.CallInstr) -> bool:
        return call in self._sites


class _Function:
    """One function: ``divergent`` holds the parameters, instructions and merges found so."""

    def __init__(self, program: _Program, function: ir.Function) -> None:
        self._program = program
        self._values = FunctionValues(function)
        self._flow = self._values.flow
        self.divergent: set[Any] = set()
        self.returns_divergent = False
        self.callers: set[_Function] = set()
        self._defined_in: dict[Any, int] = {}
        for number, block in enumerate(self._values.blocks):
            self._defined_in.update((instruction, number) for instruction in block.instructions)
        for number, merges in self._values.merges.items():
            self._defined_in.update((merge, number) for merge in merges)
        self._branches: set[int] = set()
        self._joins: set[int] = set()
        #: Loops that some threads leave before others.
        self._uneven_loops: list[frozenset[int]] = []

    def number_of(self, block: ir.Block) -> int:
        return self._values.block_number[block]

    def is_divergent(self, value: Any, where: int) -> bool:
        """Whether ``value`` differs between the threads that run block ``where`` together."""
        if isinstance(value, ir.Constant):
            return False
        if value in self.divergent:
            return True
        defined = self._defined_in.get(value) if self._uneven_loops else None
        if defined is None:
            return False
        return any(defined in loop and where not in loop for loop in self._uneven_loops)

    def analyse(self) -> None:
        changed = True
        while changed:
            changed = False
            for number in self._flow.order:
                if number != self._flow.exit:
                    changed |= self._pass_block(number)
        if not self.returns_divergent and self._return_diverges():
            self.returns_divergent = True
            for caller in self.callers:
                self._program.look_again(caller)

    def _pass_block(self, number: int) -> bool:
        found = False
        for merge in self._values.merges.get(number, ()):
            found |= self._mark(merge, self._merge_diverges(merge.incoming, number))
        for instruction in self._values.blocks[number].instructions:
            # A call is looked at even so: its arguments concern the function that it calls.
            if instruction not in self.divergent or isinstance(instruction, ir.CallInstr):
                found |= self._mark(instruction, self._diverges(instruction, number))
        return self._pass_branch(number) or found

    def _mark(self, value: Any, diverges: bool) -> bool:
        if not diverges or value in self.divergent:
            return False
        self.divergent.add(value)
        return True

    def _diverges(self, instruction: ir.Instruction, where: int) -> bool:
        if isinstance(instruction, ir.CallInstr):
            return self._call_diverges(instruction, where)
        if isinstance(instruction, ir.PhiInstr):
            return self._merge_diverges([v for v, _ in instruction.incomings], where)
        if isinstance(instruction, _ATOMIC):
            return True
        if isinstance(instruction, ir.AllocaInstr):
            # What lies at the address is the thread's own.
            return instruction not in self._values.variables
        if instruction in self._values.reads:
            return self.is_divergent(self._values.reads[instruction], where)
        return any(self.is_divergent(operand, where) for operand in instruction.operands)

    def _merge_diverges(self, incoming: Sequence[Any], where: int) -> bool:
        if any(self.is_divergent(value, where) for value in incoming):
            return True
        return where in self._joins and any(not _same(value, incoming[0]) for value in incoming)

    def _call_diverges(self, call: ir.CallInstr, where: int) -> bool:
        divergent = [self.is_divergent(argument, where) for argument in call.args]
        targets = self._program.targets(call)
        if targets is None:
            name = getattr(call.callee, "name", "")
            return any(divergent) or name.startswith(_PER_THREAD)
        returns = False
        for target in targets:
            parameters = {p for p, is_so in zip(target.args, divergent, strict=True) if is_so}
            returns |= self._program.enter(target, parameters, self).returns_divergent
        # Another object may have another method.
        return returns or (self._program.is_virtual(call) and divergent[0] and len(targets) > 1)

    def _pass_branch(self, number: int) -> bool:
        """Note that threads part at the end of a block, the first time they do."""
        end = self._values.blocks[number].terminator
        if number in self._branches or not isinstance(end, (ir.ConditionalBranch, ir.SwitchInstr)):
            return False
        if not self.is_divergent(end.operands[0], number):
            return False
        self._branches.add(number)
        self._joins |= self._flow.joins(number)
        meeting = self._flow.reconvergence(number)
        for loop in self._flow.loops:
            if number in loop.blocks and meeting not in loop.blocks:
                self._uneven_loops.append(loop.blocks)
        return True

    def _return_diverges(self) -> bool:
        ends = [block.terminator for block in self._values.blocks]
        returned = [end.return_value for end in ends if isinstance(end, ir.Ret)]
        values = [value for value in returned if value is not None]
        return bool(values) and self._merge_diverges(values, self._flow.exit)


def _same(one: Any, other: Any) -> bool:
    """Whether two values that meet are one; equal constants are."""
    if isinstance(one, ir.Constant) and isinstance(other, ir.Constant):
        return bool(one.type == other.type and one.constant == other.constant)
    return one is other
