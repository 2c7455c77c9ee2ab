"""From an instruction to the function that it computes, with the types of its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxpass.text.syntax import Instruction

from . import floats, integers
from .errors import PtxFault, UnsupportedInstruction
from .memory import from_generic, in_window, to_generic
from .numbers import Type, from_float, is_type, signed, type_named

PREDICATE = Type("pred", 1)
_U32 = Type("u", 32)
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: bool(a) != bool(b),
}  # fmt: skip
_COMPARISONS = (
    *integers.COMPARISONS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
)  # fmt: skip
_UNARY: dict[str, Callable[[Type], integers.Operation]] = {
    "neg": integers.negate, "abs": integers.absolute, "not": integers.invert,
    "popc": integers.count_ones, "clz": integers.leading_zeros, "brev": integers.reverse,
    "bfind": integers.first_bit,
}  # fmt: skip
_BINARY: dict[str, Callable[[Type], integers.Operation]] = {
    "add": integers.add, "sub": integers.subtract, "div": integers.divide,
    "rem": integers.remainder, "min": integers.smallest, "max": integers.largest,
    "and": integers.bitwise("and"), "or": integers.bitwise("or"), "xor": integers.bitwise("xor"),
}  # fmt: skip
_SPACES = ("global", "shared", "local", "const", "param")

Found = tuple[Callable[..., Any], list[Type], Type]


def operation_of(instruction: Instruction) -> Found:
    """(function, types of the sources, type of the result)."""
    opcode = instruction.opcode
    if opcode in ("setp", "set"):
        return _comparison(instruction)
    if opcode == "cvt":
        return _conversion(instruction)
    if opcode == "isspacep":
        return _cast(instruction), [Type("u", 64)], PREDICATE
    types = [type_named(m) for m in instruction.modifiers if is_type(m)]
    if not types:
        raise UnsupportedInstruction("an instruction without type")
    t = types[0]
    if opcode == "mov":
        return _same, [t], t
    if opcode == "cvta":
        return _cast(instruction), [t], t
    if opcode == "selp":
        return _select, [t, t, PREDICATE], t
    if opcode == "slct":
        return _select_by_sign(types[1]), [t, t, types[1]], t
    if t.kind == "pred":
        return _logic(opcode)
    if t.kind == "f":
        function = floats.operation(opcode, t, instruction.modifiers)
        if function is None:
            raise UnsupportedInstruction(f"{opcode} of .f{t.bits}")
        count = 3 if opcode in ("fma", "mad") else 2 if opcode in floats.BINARY else 1
        return function, [t] * count, t
    return _integer(instruction, t)


def _integer(instruction: Instruction, t: Type) -> Found:
    opcode = instruction.opcode
    if instruction.has("sat", "cc"):
        raise UnsupportedInstruction("saturation and carries")
    if opcode in _UNARY:
        result = _U32 if opcode in ("popc", "clz", "bfind") else t
        return _UNARY[opcode](t), [t], result
    if opcode in _BINARY:
        return _BINARY[opcode](t), [t, t], t
    part = next((m for m in instruction.modifiers if m in ("lo", "hi", "wide")), "lo")
    wide = Type(t.kind, 2 * t.bits) if part == "wide" else t
    if opcode == "mul":
        return integers.multiply(t, part), [t, t], wide
    if opcode == "mad":
        return integers.multiply_add(t, part), [t, t, wide], wide
    if opcode == "shl":
        return integers.shift_left(t), [t, _U32], t
    if opcode == "shr":
        return integers.shift_right(t), [t, _U32], t
    if opcode == "shf":
        function = integers.funnel_shift(instruction.has("l"), instruction.has("wrap"))
        return function, [t, t, _U32], t
    if opcode == "bfe":
        return integers.extract(t), [t, _U32, _U32], t
    if opcode == "bfi":
        return integers.insert(t), [t, t, _U32, _U32], t
    if opcode == "prmt" and instruction.modifiers == ("b32",):
        return integers.permute, [t, t, t], t
    if opcode == "lop3":
        return integers.logic3, [t, t, t, t], t
    raise UnsupportedInstruction(opcode)


def _logic(opcode: str) -> Found:
    if opcode == "not":
        return (lambda a: 1 - a), [PREDICATE], PREDICATE
    if opcode in ("and", "or", "xor"):
        return integers.bitwise(opcode)(PREDICATE), [PREDICATE] * 2, PREDICATE
    raise UnsupportedInstruction(f"{opcode}.pred")


def _same(value: Any) -> Any:
    # A register that nobody has written may be copied, as compilers do.
    return value


def _select(one: Any, other: Any, choice: int) -> Any:
    if choice is None:
        raise PtxFault("a choice by a predicate that was never written")
    return one if choice else other


def _select_by_sign(t: Type) -> Callable[..., Any]:
    if t.kind == "f":
        return lambda a, b, c: a if floats.compare("ge", t)(c, 0) else b
    return lambda a, b, c: a if signed(c, t.bits) >= 0 else b


def _comparison(instruction: Instruction) -> Found:
    modifiers = [m for m in instruction.modifiers if m != "ftz"]
    name = next(m for m in modifiers if m in _COMPARISONS)
    combine = next((_COMBINE[m] for m in modifiers if m in _COMBINE), None)
    t = type_named(modifiers[-1])
    test = floats.compare(name, t) if t.kind == "f" else integers.compare(name, t)
    result, yes = PREDICATE, 1
    if instruction.opcode == "set":
        result = type_named(modifiers[-2])
        yes = from_float(1.0, 32) if result.kind == "f" else result.mask
    if combine is None:
        return (lambda a, b: yes if test(a, b) else 0), [t, t], result
    join = combine
    return (lambda a, b, c: yes if join(test(a, b), c) else 0), [t, t, PREDICATE], result


def _conversion(instruction: Instruction) -> Found:
    to, source = (type_named(m) for m in instruction.modifiers if is_type(m))
    if to.kind == "f" or source.kind == "f":
        return floats.convert(to, source, instruction.modifiers), [source], to
    inside, mask = source.mask, to.mask
    if instruction.has("sat"):
        raise UnsupportedInstruction("a saturating conversion of integers")
    if source.kind == "s":
        return (lambda a: signed(a & inside, source.bits) & mask), [source], to
    return (lambda a: a & inside & mask), [source], to


def _cast(instruction: Instruction) -> Callable[[int], int]:
    space = next(m for m in instruction.modifiers if m in _SPACES)
    if instruction.opcode == "isspacep":
        return lambda a: int(in_window(space, a))
    if instruction.has("to"):
        return lambda a: from_generic(space, a)
    return lambda a: to_generic(space, a)
