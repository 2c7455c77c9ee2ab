"""Which values are the same for all threads of a warp, one function of PTX at a time.

Kernel parameters, constants, block indices and loads from uniform addresses are uniform; thread
indices, results of calls and atomics, a thread's own local memory and parameters of functions are
divergent, and so is what is computed from them or merged where divergent ways join. It decides
speed only: COAL leaves calls alone whose receiver is uniform ("Judging a Type by Its Pointer",
section 5).
"""

from __future__ import annotations

from collections.abc import Sequence

from .flow import results_of, uses_of
from .syntax import Call, Instruction
from .values import FunctionValues, Guarded, Merge, Result, Special, Value

_PER_THREAD = ("%tid", "%laneid", "%lanemask", "%clock", "%globaltimer")
_DIVERGENT_RESULTS = ("atom", "shfl", "match", "activemask", "elect")


class Uniformity:
    def __init__(self, values: FunctionValues) -> None:
        self._values = values
        self._flow = values.flow
        self._graph = values.flow.graph
        self._divergent: set[Value] = set()
        self._joins: set[int] = set()
        self._branches: set[int] = set()
        self._uneven_loops: list[frozenset[int]] = []
        while self._pass():
            pass

    def is_uniform(self, value: Value, index: int) -> bool:
        """Whether the threads that run statement ``index`` together agree on ``value``."""
        return not self._diverges(value, self._flow.block_of[index])

    def _pass(self) -> bool:
        before = len(self._divergent), len(self._branches)
        for block in self._graph.order:
            if block == self._graph.exit:
                continue
            for index in self._flow.blocks[block]:
                statement = self._flow.body[index]
                if isinstance(statement, Instruction):
                    self._visit(statement, index, block)
        for merge in self._values.merges():
            if self._merge_diverges(merge):
                self._divergent.add(merge)
        return before != (len(self._divergent), len(self._branches))

    def _visit(self, instruction: Instruction, index: int, block: int) -> None:
        results = results_of(instruction)
        if instruction.opcode in ("bra", "brx", "ret", "exit"):
            self._visit_branch(instruction, index, block)
        elif results and self._results_diverge(instruction, index, block):
            for number in range(len(results)):
                self._divergent.add(self._values.result(instruction, index, number))

    def _results_diverge(self, instruction: Instruction, index: int, block: int) -> bool:
        if isinstance(instruction, Call) or instruction.opcode in _DIVERGENT_RESULTS:
            return True
        if instruction.opcode == "ld":
            slot = self._values.local_memory.reads.get(index)
            if slot is not None:
                return self._diverges(self._values.before(slot, index), block)
            if instruction.has("local"):
                return True
            if instruction.has("param"):
                # Else it is a parameter of a function, or the result of a call.
                return not (self._flow.function.is_entry and self._values.is_parameter(instruction))
        return any(
            self._diverges(self._values.register(name, index), block)
            for name in uses_of(instruction)
        )

    def _diverges(self, value: Value, where: int) -> bool:
        if value in self._divergent:
            return True
        if isinstance(value, Special):
            return value.name.startswith(_PER_THREAD)
        if isinstance(value, Guarded):
            parts = (value.new, value.old, value.predicate)
            return any(self._diverges(part, where) for part in parts)
        defined = self._defined_in(value) if self._uneven_loops else None
        if defined is None:
            return False
        return any(defined in loop and where not in loop for loop in self._uneven_loops)

    def _defined_in(self, value: Value) -> int | None:
        if isinstance(value, Result):
            return value.place.block
        return value.block if isinstance(value, Merge) else None

    def _merge_diverges(self, merge: Merge) -> bool:
        incoming: Sequence[Value] = merge.incoming
        if any(self._diverges(value, merge.block) for value in incoming):
            return True
        if merge.block not in self._joins:
            return False
        return len({self._values.plain(value) for value in incoming}) > 1

    def _visit_branch(self, branch: Instruction, index: int, block: int) -> None:
        names = uses_of(branch)
        if block in self._branches or not any(
            self._diverges(self._values.register(name, index), block)
            for name in names
            if self._flow.key(name, index) is not None
        ):
            return
        self._branches.add(block)
        self._joins |= self._graph.joins(block)
        meeting = self._graph.reconvergence(block)
        for loop in self._graph.loops:
            if block in loop.blocks and meeting not in loop.blocks:
                self._uneven_loops.append(loop.blocks)
