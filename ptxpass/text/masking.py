"""Tagged references: clear the upper bits wherever an address may be one.

With TypePointer the upper 15 bits of a reference are its class, and the processor does not ignore
them ("Judging a Type by Its Pointer", section 6.3). PTX does not tell a pointer to an object from
others, so the bits are cleared before every access through a register that may hold a reference,
and in what is passed to functions outside of the module. Where a compiler's assembler sees the
same register twice, one ``and`` remains.
"""

from __future__ import annotations

import re

from .code import REGISTER, Registers
from .emitter import ADDRESS_MASK
from .flow import FunctionFlow, parameter_access, plain_name
from .syntax import Call, Function, Instruction, Memory, Module, Name, Statement, type_size
from .values import FunctionValues, Result, SymbolAddress
from .vtables import SLOT_BYTES

#: State spaces that hold no objects.
_OTHER_SPACES = ("param", "const", "local", "shared", "shared::cta", "shared::cluster")
#: What reads an address without accessing memory, and needs the real one.
_READS_ADDRESS = ("isspacep", "cvta", "mapa", "getctarank")


def mask_addresses(module: Module) -> None:
    """In all functions of ``module``, in place."""
    outside = {name for name, function in module.functions.items() if function.body is None}
    for function in module.functions.values():
        if function.body is not None:
            _Masking(function, module.name, outside).run()


class _Masking:
    def __init__(self, function: Function, module_name: str, outside: set[str]) -> None:
        self._flow = FunctionFlow(function, module_name)
        self._values = FunctionValues(self._flow)
        self._outside = outside
        self._registers = Registers("masked_")
        self._masks: dict[int, list[str]] = {}

    def run(self) -> None:
        for index, instruction in self._flow.instructions():
            if isinstance(instruction, Call):
                if instruction.target.text in self._outside:
                    self._mask_arguments(index, instruction)
            elif not instruction.has(*_OTHER_SPACES) and instruction.opcode != "bra":
                self._mask_operands(index, instruction)
        body = self._flow.body
        for index in sorted(self._masks, reverse=True):
            lines = "\n\t".join(self._masks[index])
            body.insert(index, Statement(body[index].leading, lines, body[index].line))
            body[index + 1].leading = "\n\t"
        declarations = self._registers.declarations()
        if declarations:
            body.insert(0, Statement("", declarations, 0))

    def _mask_operands(self, index: int, instruction: Instruction) -> None:
        if instruction.opcode in _READS_ADDRESS:
            name = plain_name(instruction.operands[-1])
            casts = instruction.opcode != "cvta" or not instruction.has("global")
            if name is not None and casts and self._may_be_tagged(name, index):
                instruction.text = _replace_last(instruction.text, name, self._mask(name, index))
            return
        for operand in instruction.operands:
            if isinstance(operand, Memory) and isinstance(operand.base, Name):
                name = operand.base.text
                if self._may_be_tagged(name, index):
                    masked = self._mask(name, index)
                    pattern = rf"\[\s*{re.escape(name)}(?![\w$%.])"
                    instruction.text = re.sub(pattern, f"[{masked}", instruction.text)

    def _mask_arguments(self, index: int, call: Call) -> None:
        """Functions outside of the module (``free``, ``vprintf``) know nothing of tags."""
        names = {argument.text for argument in call.arguments if isinstance(argument, Name)}
        block = self._flow.blocks[self._flow.block_of[index]]
        for place in range(index - 1, block.start - 1, -1):
            statement = self._flow.body[place]
            if isinstance(statement, Call):
                break
            access = parameter_access(statement, "st")
            if access is None or access[0] not in names:
                continue
            assert isinstance(statement, Instruction)
            name = plain_name(statement.operands[1])
            wide = type_size(statement.modifiers[-1]) == SLOT_BYTES
            if name is not None and wide and self._may_be_tagged(name, place):
                statement.text = _replace_last(statement.text, name, self._mask(name, place))

    def _may_be_tagged(self, name: str, index: int) -> bool:
        """Whether a register may hold a reference: not if it holds the address of a variable."""
        if name.startswith(REGISTER) or self._flow.key(name, index) is None:
            return False
        base = self._values.location(self._values.register(name, index)).base
        if isinstance(base, SymbolAddress):
            return False
        return not (isinstance(base, Result) and base.instruction.opcode == "cvta")

    def _mask(self, name: str, index: int) -> str:
        masked = self._registers.new("b64")
        line = f"and.b64 {masked}, {name}, {ADDRESS_MASK};"
        self._masks.setdefault(index, []).append(line)
        return masked


def _replace_last(text: str, name: str, new: str) -> str:
    """``text`` with the last mention of ``name`` replaced."""
    found = list(re.finditer(rf"(?<![\w$%.]){re.escape(name)}(?![\w$%.])", text))
    last = found[-1]
    return text[: last.start()] + new + text[last.end() :]
