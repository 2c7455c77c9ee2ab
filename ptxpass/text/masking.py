"""Tagged references: clear the upper bits wherever an address may be one.

With TypePointer the upper 15 bits of a reference are its class, and the processor does not ignore
them ("Judging a Type by Its Pointer", section 6.3). PTX does not tell a pointer to an object from
others, so the bits are cleared before every access through a register that may hold a reference,
and in what is passed to functions outside of the module. Where a compiler's assembler sees the
same register twice, one ``and`` remains. A module in which it is not known whether something reads
an address is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .code import REGISTER, Registers
from .emitter import ADDRESS_MASK
from .flow import FunctionFlow, argument_names, parameter_access, plain_name, uses_of
from .syntax import (
    Call,
    Function,
    Instruction,
    Memory,
    Module,
    Name,
    Opaque,
    PtxError,
    Statement,
    names_in,
    type_size,
)
from .values import FunctionValues, Result, SymbolAddress
from .vtables import SLOT_BYTES

#: State spaces that hold no objects.
_OTHER_SPACES = (
    "param", "param::entry", "param::func", "const", "local", "shared", "shared::cta",
    "shared::cluster",
)  # fmt: skip
#: What reads an address without accessing memory, and needs the real one.
_READS_ADDRESS = ("isspacep", "cvta", "mapa", "getctarank")
#: What has addresses in brackets alone; other registers are data, sizes and policies.
_ACCESSES = frozenset((
    "ld", "ldu", "st", "atom", "red", "cp", "prefetch", "prefetchu", "applypriority", "discard",
    "createpolicy", "multimem", "mbarrier", "fence", "membar", "ldmatrix", "stmatrix", "wmma",
    "clusterlaunchcontrol", "tcgen05",
))  # fmt: skip
#: What has handles of textures and surfaces in brackets.
_HANDLES = ("tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep")
#: What accesses no memory: registers in, registers out.
_PLAIN = frozenset((
    "abs", "activemask", "add", "addc", "alloca", "and", "bar", "barrier", "bfe", "bfi", "bfind",
    "bmsk", "bra", "brev", "brkpt", "brx", "clz", "cnot", "copysign", "cos", "cvt", "div", "dp2a",
    "dp4a", "elect", "ex2", "exit", "fma", "fns", "griddepcontrol", "lg2", "lop3", "mad", "mad24",
    "madc", "match", "max", "min", "mma", "mov", "movmatrix", "mul", "mul24", "nanosleep", "neg",
    "not", "or", "pmevent", "popc", "prmt", "rcp", "redux", "rem", "ret", "rsqrt", "sad", "selp",
    "set", "setmaxnreg", "setp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt", "stackrestore",
    "stacksave", "sub", "subc", "szext", "tanh", "testp", "trap", "vabsdiff", "vabsdiff2",
    "vabsdiff4", "vadd", "vadd2", "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2", "vmax4",
    "vmin", "vmin2", "vmin4", "vote", "vset", "vset2", "vset4", "vshl", "vshr", "vsub", "vsub2",
    "vsub4", "wgmma", "xor",
))  # fmt: skip


def mask_addresses(module: Module) -> None:
    """In all functions of ``module``, in place.

    Raises PtxError, with the line, for an instruction or call of which it is not known whether it
    reads an address.
    """
    outside = {name for name, function in module.functions.items() if function.body is None}
    for function in module.functions.values():
        if function.body is not None:
            _Masking(function, module.name, outside).run()


class _Masking:
    def __init__(self, function: Function, module_name: str, outside: set[str]) -> None:
        self._module_name = module_name
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
            elif instruction.opcode in _READS_ADDRESS:
                self._mask_source(index, instruction)
            elif instruction.opcode in _ACCESSES:
                # What copies between spaces names both.
                if instruction.has("global") or not instruction.has(*_OTHER_SPACES):
                    self._mask_operands(index, instruction)
            elif instruction.opcode not in _PLAIN and instruction.opcode not in _HANDLES:
                self._refuse_tagged(index, instruction, uses_of(instruction))
        body = self._flow.body
        for index in sorted(self._masks, reverse=True):
            lines = "\n\t".join(self._masks[index])
            body.insert(index, Statement(body[index].leading, lines, body[index].line))
            body[index + 1].leading = "\n\t"
        declarations = self._registers.declarations()
        if declarations:
            body.insert(0, Statement("", declarations, 0))

    def _mask_source(self, index: int, instruction: Instruction) -> None:
        # A cast from or to global memory keeps the bits.
        if instruction.opcode == "cvta" and instruction.has("global", *_OTHER_SPACES):
            return
        name = plain_name(instruction.operands[1]) if len(instruction.operands) > 1 else None
        if name is not None and self._may_be_tagged(name, index):
            instruction.text = _replace_last(instruction.text, name, self._mask(name, index))

    def _mask_operands(self, index: int, instruction: Instruction) -> None:
        for operand in instruction.operands:
            if isinstance(operand, Opaque):
                self._refuse_tagged(index, instruction, operand.names)
            if not isinstance(operand, Memory):
                continue
            others = [name for other in operand.others for name in names_in(other)]
            self._refuse_tagged(index, instruction, others)
            name = plain_name(operand.base) if isinstance(operand.base, Name) else None
            if name is not None and self._may_be_tagged(name, index):
                masked = self._mask(name, index)
                pattern = rf"\[\s*{re.escape(name)}(?![\w$%.])"
                instruction.text = re.sub(pattern, f"[{masked}", instruction.text)

    def _mask_arguments(self, index: int, call: Call) -> None:
        """Functions outside of the module (``free``, ``vprintf``) know nothing of tags."""
        names = set(argument_names(call))
        self._refuse_tagged(index, call, names)
        block = self._flow.blocks[self._flow.block_of[index]]
        for place in range(index - 1, block.start - 1, -1):
            statement = self._flow.body[place]
            if isinstance(statement, Call):
                break
            access = parameter_access(statement, "st")
            if access is None or access[0] not in names:
                continue
            assert isinstance(statement, Instruction)
            if type_size(statement.modifiers[-1]) != SLOT_BYTES:
                continue
            for name in names_in(statement.operands[1]):
                if self._may_be_tagged(name, place):
                    statement.text = _replace_last(statement.text, name, self._mask(name, place))

    def _refuse_tagged(self, index: int, instruction: Instruction, names: Iterable[str]) -> None:
        for name in names:
            if self._may_be_tagged(name, index):
                what = " ".join(instruction.text.split())
                raise PtxError(
                    f"modes with tagged references cannot be used: it is not known whether "
                    f"{what!r} reads {name} as an address",
                    self._module_name,
                    instruction.line,
                    "choose a mode that does not begin with bits, and not typepointer",
                )

    def _may_be_tagged(self, name: str, index: int) -> bool:
        """Whether a register may hold a reference: not if it holds the address of a variable."""
        type = self._flow.register_type(name, index)
        if name.startswith(REGISTER) or type in (None, "pred") or type_size(type) != SLOT_BYTES:
            return False
        base = self._values.location(self._values.register(name, index)).base
        if isinstance(base, SymbolAddress):
            return False
        return not (isinstance(base, Result) and base.instruction.opcode == "cvta")

    def _mask(self, name: str, index: int) -> str:
        masked = self._registers.new("b64")
        line = f"and.b64 {masked}, {name}, {ADDRESS_MASK};"
        reader = self._flow.body[index]
        assert isinstance(reader, Instruction)
        predicate = reader.predicate
        if predicate is not None:  # else the register may not be written yet
            line = f"@{'!' * predicate.negated}{predicate.text} {line}"
        self._masks.setdefault(index, []).append(line)
        return masked


def _replace_last(text: str, name: str, new: str) -> str:
    """``text`` with the last mention of ``name`` replaced."""
    found = list(re.finditer(rf"(?<![\w$%.]){re.escape(name)}(?![\w$%.])", text))
    last = found[-1]
    return text[: last.start()] + new + text[last.end() :]
