"""Call sequences: the statements that pass arguments, call, and fetch results.

Compilers put a pair of braces around them. To branch to several callees, a sequence is repeated
once for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatch.dataclass import dataclass

from .flow import FunctionFlow, argument_names, parameter_access
from .syntax import (
    Call,
    Declaration,
    Directive,
    Instruction,
    Label,
    Prototype,
    Scope,
    Statement,
    names_in,
)

_BRANCHES = ("bra", "brx", "ret", "exit", "trap")


@dataclass(frozen=True)
class CallSequence:
    """Statements ``start`` to ``end`` - 1 of a body; the call is one of them."""

    body: Sequence[Statement]
    start: int
    end: int
    call: Call

    @property
    def statements(self) -> Sequence[Statement]:
        return self.body[self.start : self.end]

    def with_target(self, register: str) -> str:
        """The sequence, calling through another register."""
        return self._print(_call_text(self.call, register, self.call.prototype), keep=True)

    def with_function(self, symbol: str) -> str:
        """The sequence, calling a function directly."""
        return self._print(_call_text(self.call, symbol, None), keep=False)

    def _print(self, call_text: str, keep: bool) -> str:
        # Labels of debug information cannot stand twice; they come before.
        parts: list[str] = []
        for statement in self.statements:
            is_prototype = isinstance(statement, Prototype) or _labels_prototype(
                statement, self.call
            )
            if isinstance(statement, Label) and not is_prototype:
                continue
            if is_prototype and not keep:
                continue
            text = call_text if statement is self.call else statement.text
            parts += ("" if not parts else statement.leading), text
        text = "".join(parts)
        return text if isinstance(self.statements[0], Scope) else f"{{\n\t{text}\n\t}}"

    def debug_labels(self) -> list[str]:
        """The labels inside that only debug information names."""
        return [
            statement.text
            for statement in self.statements
            if isinstance(statement, Label) and not _labels_prototype(statement, self.call)
        ]


def _labels_prototype(statement: Statement, call: Call) -> bool:
    return isinstance(statement, Label) and statement.name == call.prototype


def call_sequence(flow: FunctionFlow, index: int) -> CallSequence | None:
    """The sequence of the call at statement ``index``; None if other code is mixed with it."""
    call = flow.body[index]
    assert isinstance(call, Call)
    bounds = _braces(flow, index) or _bare(flow, index, call)
    return CallSequence(flow.body, *bounds, call) if bounds else None


def _braces(flow: FunctionFlow, index: int) -> tuple[int, int] | None:
    """The innermost braces around a call, if only its sequence is in them."""
    body = flow.body
    start = index - 1
    while start >= 0 and not isinstance(body[start], Scope):
        start -= 1
    end = index + 1
    while end < len(body) and not isinstance(body[end], Scope):
        end += 1
    if start < 0 or end == len(body):
        return None
    first, last = body[start], body[end]
    assert isinstance(first, Scope) and isinstance(last, Scope)
    if first.kind != "open" or last.kind != "close":
        return None
    inside = body[start + 1 : end]
    calls = sum(isinstance(statement, Call) for statement in inside)
    plain = all(_is_plain(statement) for statement in inside) and not any(
        isinstance(statement, Label) and flow.starts_block(place)
        for place, statement in enumerate(inside, start + 1)
    )
    return (start, end + 1) if calls == 1 and plain else None


def _is_plain(statement: Statement) -> bool:
    if isinstance(statement, Instruction):
        return statement.opcode not in _BRANCHES
    return isinstance(statement, Declaration | Prototype | Directive | Label)


def _bare(flow: FunctionFlow, index: int, call: Call) -> tuple[int, int] | None:
    """From the first argument passed to the last result fetched, within the call's block."""
    block = flow.blocks[flow.block_of[index]]
    passed = set(argument_names(call))
    fetched = {name for operand in call.results for name in names_in(operand)}
    start, end = index, index + 1
    for place in range(index - 1, block.start - 1, -1):
        if isinstance(flow.body[place], Call):
            break
        if _touches_parameter(flow.body[place], passed, "st"):
            start = place
    while end < block.stop and _touches_parameter(flow.body[end], fetched, "ld"):
        end += 1
    inside = range(start, end)
    calls = sum(isinstance(flow.body[place], Call) for place in inside)
    if calls != 1 or not all(_is_plain(flow.body[place]) for place in inside):
        return None
    return start, end


def _touches_parameter(statement: Statement, names: set[str], opcode: str) -> bool:
    access = parameter_access(statement, opcode)
    return access is not None and access[0] in names


def _call_text(call: Call, target: str, prototype: str | None) -> str:
    words = "".join(f".{modifier}" for modifier in call.modifiers)
    parts = []
    if call.results:
        parts.append(f"({', '.join(_name(result) for result in call.results)})")
    parts.append(target)
    if call.arguments:
        parts.append(f"({', '.join(_name(argument) for argument in call.arguments)})")
    if prototype is not None:
        parts.append(prototype)
    return f"call{words} {', '.join(parts)};"


def _name(operand: object) -> str:
    return operand.text if hasattr(operand, "text") else str(operand)
