"""Common instructions as expressions of Python: an instruction is one function then, in which the
numbers of its registers and its constants are variables, instead of one function for each operand
and one that computes. Each says what the function of ``operation_of`` says, to which the rest goes:
``test_expressions.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

from ptxpass.text.syntax import Instruction

from .frames import Operation
from .numbers import Type, is_type, type_named

#: What an operand is: a register, of which its place is given; a constant; or what a function of
#: the registers' bits gives.
Kind = Literal["register", "constant", "function"]
_OPERANDS = {"register": "bits[{}]", "constant": "{}", "function": "{}(bits)"}
#: By what name a statement has a value.
Namer = Callable[[Any], str]
_BITWISE = {"and": "&", "or": "|", "xor": "^"}
_ORDERS = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
}  # fmt: skip


def expression_of(instruction: Instruction) -> str | None:
    """What an instruction computes of operands {0}, {1} and {2}; None if it is none of those that
    are written so. A register that nobody has written is None: what computes with it raises
    TypeError, as in the functions."""
    opcode = instruction.opcode
    types = [type_named(m) for m in instruction.modifiers if is_type(m)]
    if types and opcode == "mov":
        return "{0}"
    if types and opcode == "selp":
        return "{0} if {2} else {1} if {2} == 0 else function({0}, {1}, {2})"
    if not types or any(t.kind == "f" for t in types) or instruction.has("sat", "cc"):
        return None
    t = types[0]
    if opcode in _BITWISE:
        return f"{{0}} {_BITWISE[opcode]} {{1}}"
    if t.kind == "pred":
        return None
    if opcode == "setp":
        return _comparison(instruction, t) if len(types) == 1 else None
    if opcode == "cvt":
        return _conversion(*types) if len(types) == 2 else None
    if opcode == "cvta":
        return "{0}" if instruction.has("global") else None
    return _arithmetic(instruction, t)


def _arithmetic(instruction: Instruction, t: Type) -> str | None:
    part = next((m for m in instruction.modifiers if m in ("lo", "hi", "wide")), "lo")
    mask = (1 << 2 * t.bits) - 1 if part == "wide" else t.mask
    first, second = _number("{0}", t), _number("{1}", t)
    match instruction.opcode, part:
        case "add", _:
            return f"({{0}} + {{1}}) & {mask}"
        case "sub", _:
            return f"({{0}} - {{1}}) & {mask}"
        case "neg", _:
            return f"-{{0}} & {mask}"
        case "not", _:
            return f"{{0}} ^ {mask}"
        case "mul", "lo":
            return f"({{0}} * {{1}}) & {mask}"
        case "mad", "lo":
            return f"({{0}} * {{1}} + {{2}}) & {mask}"
        case "mul", "wide":
            return f"({first} * {second}) & {mask}"
        case "mad", "wide":
            return f"({first} * {second} + {{2}}) & {mask}"
        case "shl", _:
            return f"({{0}} << {{1}}) & {mask} if {{1}} < {t.bits} else {{0}} & 0"
        case "shr", _:
            return f"({first} >> {{1}}) & {mask}"
        case "min", _:
            return f"{{0}} if {first} <= {second} else {{1}}"
        case "max", _:
            return f"{{0}} if {first} >= {second} else {{1}}"
    return None


def _comparison(instruction: Instruction, t: Type) -> str | None:
    match [m for m in instruction.modifiers if not is_type(m)]:
        case ["eq"]:
            return "0 if {0} ^ {1} else 1"
        case ["ne"]:
            return "1 if {0} ^ {1} else 0"
        case [order] if order in _ORDERS:
            return f"1 if {_number('{0}', t)} {_ORDERS[order]} {_number('{1}', t)} else 0"
    return None


def _conversion(to: Type, source: Type) -> str:
    if source.kind == "s":
        return f"{_number(f'({{0}} & {source.mask})', source)} & {to.mask}"
    return f"{{0}} & {source.mask & to.mask}"


def _number(operand: str, t: Type) -> str:
    """The number that bits stand for."""
    sign = 1 << (t.bits - 1)
    return f"(({operand} ^ {sign}) - {sign})" if t.kind == "s" else operand


def writing(
    place: int,
    expression: str | None,
    function: Callable[..., Any],
    operands: Sequence[tuple[Kind, Any]],
) -> Operation:
    """What puts the value of an expression, or the function's, into the register ``place``."""
    if expression is None:
        expression = f"function({', '.join(f'{{{n}}}' for n in range(len(operands)))})"
    make = _maker(expression, tuple(kind for kind, _ in operands))
    operation = make(place, function, *(value for _, value in operands))

    def statement(name: Namer) -> str:
        texts = [operand_text(*each, name) for each in operands]
        written = expression.replace("function(", f"{name(function)}(").format(*texts)
        return f"bits[{place}] = {written}"

    return written_as(operation, statement)


def operand_text(kind: Kind, value: Any, name: Namer) -> str:
    return _OPERANDS[kind].format(name(value) if kind == "function" else value)


def written_as(operation: Operation, statement: Callable[[Namer], str]) -> Operation:
    """An operation of which a statement says the same (``fused.py``)."""
    operation.statement = statement  # type: ignore[attr-defined]
    return operation


@cache
def _maker(expression: str, kinds: tuple[Kind, ...]) -> Callable[..., Operation]:
    names = [f"operand_{number}" for number in range(len(kinds))]
    operands = [_OPERANDS[kind].format(name) for kind, name in zip(kinds, names, strict=True)]
    text = (
        f"def make(place, function, {', '.join(names)}):\n"
        "    def run(frame):\n"
        "        bits = frame.bits\n"
        f"        bits[place] = {expression.format(*operands)}\n"
        "    return run\n"
    )
    found: dict[str, Any] = {}
    exec(text, found)
    made: Callable[..., Operation] = found["make"]
    return made
