"""Which value a load of a local variable reads.

Code generators keep locals in stack slots. A slot that is only loaded and stored as a whole is a
*variable*; this finds, for each load of one, the stored value or the ``Merge`` (a phi node that
the module does not have) that reaches it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from ..control_flow import ControlFlow
from .blocks import successors


@dataclass(eq=False)
class Merge:
    """Where several values of a variable meet, at the start of ``block``."""

    block: int
    incoming: list[Any] = field(default_factory=list)


class FunctionValues:
    """A function's graph, its variables, and what their loads read.

    ``blocks[i]`` is block i of ``flow``; ``reads`` maps a load to a value, ``merges[i]`` lists the
    merges of block i. A variable that was never stored reads as None.
    """

    def __init__(self, function: ir.Function) -> None:
        self.blocks: list[ir.Block] = list(function.blocks)
        numbers = {block: number for number, block in enumerate(self.blocks)}
        self.flow = ControlFlow(
            [[numbers[after] for after in successors(block)] for block in self.blocks]
        )
        self.block_number = numbers
        self.variables = _variables(self.blocks)
        self.reads: dict[Any, Any] = {}
        self.merges: dict[int, list[Merge]] = {}
        self._ends: dict[int, dict[Any, Any]] = {}
        self._place()

    def _place(self) -> None:
        stored = [
            {i.operands[1] for i in block.instructions if isinstance(i, ir.StoreInstr)}
            & self.variables
            for block in self.blocks
        ]
        carried = {
            loop.header: set[Any]().union(*(stored[block] for block in loop.blocks))
            for loop in self.flow.loops
        }
        waiting: list[tuple[Merge, Any]] = []
        for block in self.flow.order:
            if block == self.flow.exit:
                continue
            current = self._start(block, carried.get(block, set()), waiting)
            self._run(block, current)
            self._ends[block] = current
        for merge, variable in waiting:
            merge.incoming = [
                self._ends[before].get(variable) for before in self.flow.predecessors[merge.block]
            ]

    def _start(
        self, block: int, carried: set[Any], waiting: list[tuple[Merge, Any]]
    ) -> dict[Any, Any]:
        """The values of the variables at the start of a block. Only at the header of a loop is a
        predecessor still unknown: what the loop stores merges there."""
        known = [self._ends[p] for p in self.flow.predecessors[block] if p in self._ends]
        if not known:
            return {}
        current = dict(known[0])
        for variable in {key for values in known for key in values} | carried:
            values = [end.get(variable) for end in known]
            if variable in carried or any(value is not values[0] for value in values):
                merge = Merge(block)
                self.merges.setdefault(block, []).append(merge)
                waiting.append((merge, variable))
                current[variable] = merge
        return current

    def _run(self, block: int, current: dict[Any, Any]) -> None:
        for instruction in self.blocks[block].instructions:
            if isinstance(instruction, ir.StoreInstr):
                if instruction.operands[1] in self.variables:
                    current[instruction.operands[1]] = instruction.operands[0]
            elif (
                isinstance(instruction, ir.LoadInstr) and instruction.operands[0] in self.variables
            ):
                self.reads[instruction] = current.get(instruction.operands[0])


def _variables(blocks: list[ir.Block]) -> set[Any]:
    """The stack slots whose address goes nowhere but into whole loads and stores."""
    slots: set[Any] = set()
    escaped: set[Any] = set()
    for block in blocks:
        for instruction in block.instructions:
            if isinstance(instruction, ir.AllocaInstr):
                slots.add(instruction)
            for operand in _addresses_used(instruction):
                if isinstance(operand, ir.AllocaInstr):
                    escaped.add(operand)
    return slots - escaped


def _addresses_used(instruction: ir.Instruction) -> list[Any]:
    """The operands that are not the address of a whole load or store."""
    operands = list(instruction.operands)
    if isinstance(instruction, (ir.LoadInstr, ir.StoreInstr)):
        *values, slot = operands
        moved = values[0].type if values else instruction.type
        return values if getattr(slot, "allocated_type", None) == moved else operands
    if isinstance(instruction, ir.PhiInstr):
        return [value for value, _ in instruction.incomings]
    return operands
