"""Whether two values are the same although they were computed twice, as unoptimised code does."""

from __future__ import annotations

from .syntax import Instruction, Memory, Name, Number
from .values import FunctionValues, Result, Value

_DEPTH = 16
#: Instructions that give one result for the same operands, and do nothing else.
_PURE = frozenset((
    "add", "sub", "mul", "mad", "mul24", "mad24", "fma", "div", "rem", "sad", "min", "max", "abs",
    "neg", "copysign", "sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh", "and", "or",
    "xor", "not", "lop3", "shl", "shr", "shf", "cvt", "cvta", "isspacep", "mov", "selp", "slct",
    "set", "setp", "testp", "bfe", "bfi", "bfind", "brev", "prmt", "lea", "popc", "clz",
))  # fmt: skip
#: Of loads that are for what other threads write.
_SHARED = ("volatile", "relaxed", "acquire", "mmio")


def equal(values: FunctionValues, one: Value, other: Value, depth: int = _DEPTH) -> bool:
    """True only if they are; a load equals another of the same address in the same block when
    nothing in between writes to memory."""
    one, other = values.plain(one), values.plain(other)
    if one is other:
        return True
    if not depth or not isinstance(one, Result) or not isinstance(other, Result):
        return False
    left, right = one.instruction, other.instruction
    if (left.opcode, left.modifiers, one.number) != (right.opcode, right.modifiers, other.number):
        return False
    if left.predicate is not None or right.predicate is not None:
        return False
    if left.opcode == "ld":
        if not _nothing_written_between(values, one, other):
            return False
    elif left.opcode not in _PURE:
        return False
    sources = list(zip(left.operands[1:], right.operands[1:], strict=False))
    if len(left.operands) != len(right.operands):
        return False
    first, second = one.place.index, other.place.index
    for a, b in sources:
        if isinstance(a, Memory) and isinstance(b, Memory):
            if a.offset != b.offset or a.others or b.others:
                return False
            a, b = a.base, b.base
        if isinstance(a, Number) and isinstance(b, Number):
            if a.text != b.text:
                return False
        elif isinstance(a, Name) and isinstance(b, Name):
            if (a.negated, a.offset) != (b.negated, b.offset):
                return False
            if not equal(
                values, values.register(a.text, first), values.register(b.text, second), depth - 1
            ):
                return False
        else:
            return False
    return True


def _nothing_written_between(values: FunctionValues, one: Result, other: Result) -> bool:
    if one.place.block != other.place.block or one.instruction.has(*_SHARED):
        return False
    first, last = sorted((one.place.index, other.place.index))
    # A store to a variable of the function's own changes nothing that others read.
    own = values.local_memory.stores
    return not any(
        _may_write(values.flow.body[index]) for index in range(first, last) if index not in own
    )


def _may_write(statement: object) -> bool:
    """Whether memory may be another one after it, whoever writes."""
    if not isinstance(statement, Instruction) or statement.opcode in _PURE:
        return False
    if statement.opcode == "ld":
        return statement.has(*_SHARED)
    return not statement.has("param")
