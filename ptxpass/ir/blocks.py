"""Surgery on blocks of llvmlite IR, which has no way to take code apart once it is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir


def successors(block: ir.Block) -> list[ir.Block]:
    """The blocks that ``block`` may branch to."""
    end = block.terminator
    if isinstance(end, ir.SwitchInstr):
        return [end.default, *(target for _, target in end.cases)]
    return [operand for operand in end.operands if isinstance(operand, ir.Block)]


def replace_call(call: ir.CallInstr, emit: Callable[[ir.IRBuilder], Any]) -> Any:
    """Put what ``emit`` builds in the place of ``call``; its result (uses are not replaced).

    ``emit`` may leave its builder in another block than it got: the rest of the block moves there,
    and phi nodes behind it are told.
    """
    block = call.parent
    position = block.instructions.index(call)
    following, end = block.instructions[position + 1 :], block.terminator
    behind = successors(block)
    del block.instructions[position:]
    block.terminator = None
    builder = ir.IRBuilder(block)
    result = emit(builder)
    last = builder.block
    for instruction in following:
        instruction.parent = last
    last.instructions += following
    last.terminator = end
    if last is not block:
        for after in behind:
            _rename_incoming(after, block, last)
    return result


def _rename_incoming(block: ir.Block, old: ir.Block, new: ir.Block) -> None:
    for instruction in block.instructions:
        if isinstance(instruction, ir.PhiInstr):
            instruction.incomings = [
                (value, new if before is old else before) for value, before in instruction.incomings
            ]


def delete(instructions: Iterable[ir.Instruction]) -> None:
    """Remove instructions that nothing uses any more."""
    for instruction in instructions:
        instruction.parent.instructions.remove(instruction)


def replace_uses(function: ir.Function, replacements: dict[Any, Any]) -> None:
    """Use ``replacements[value]`` instead of ``value`` everywhere in ``function``."""
    if replacements:
        for block in function.blocks:
            for instruction in block.instructions:
                _replace_operands(instruction, replacements)
    _forget_text(function)


def _replace_operands(instruction: ir.Instruction, replacements: dict[Any, Any]) -> None:
    def new(value: Any) -> Any:
        return replacements.get(value, value) if isinstance(value, ir.Instruction) else value

    # Lists stay lists: a call's callee is assigned in place.
    instruction.operands = [new(operand) for operand in instruction.operands]
    if isinstance(instruction, ir.PhiInstr):
        instruction.incomings = [(new(value), block) for value, block in instruction.incomings]
        return
    # Some instructions are printed from copies of their operands.
    if isinstance(instruction, ir.GEPInstr):
        instruction.pointer, *instruction.indices = instruction.operands
    elif isinstance(instruction, ir.InsertValue):
        instruction.aggregate, instruction.value = instruction.operands
    elif isinstance(instruction, ir.ExtractValue):
        (instruction.aggregate,) = instruction.operands


def _forget_text(function: ir.Function) -> None:
    """llvmlite keeps the text of what was printed once."""
    for block in function.blocks:
        block._clear_string_cache()
        for instruction in block.instructions:
            instruction._clear_string_cache()
