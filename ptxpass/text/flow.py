"""A function's statements as basic blocks, and what each instruction defines and uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from dispatch.dataclass import dataclass, field

from ..control_flow import ControlFlow
from .syntax import (
    Call,
    Declaration,
    Directive,
    Function,
    Instruction,
    Label,
    Memory,
    Name,
    Opaque,
    Operand,
    PtxError,
    Scope,
    Statement,
    names_in,
)

_ENDS = ("ret", "exit", "trap")
#: Instructions whose first operand is no result (besides those that begin with memory).
_WITHOUT_RESULT = frozenset((
    "bra", "brx", "ret", "exit", "trap", "brkpt", "bar", "barrier", "membar", "fence", "pmevent",
    "nanosleep", "griddepcontrol", "setmaxnreg", "stackrestore",
))  # fmt: skip
_NUMBERED = re.compile(r"(.*\D|)(\d{1,18})")


@dataclass(frozen=True)
class Place:
    """Statement ``index`` of the function's body, in ``block``."""

    block: int
    index: int


@dataclass(eq=False)
class _NameScope:
    """The names that a pair of braces declares; registers elsewhere may have the same."""

    number: int
    parent: _NameScope | None
    types: dict[str, str] = field(default_factory=dict)
    prefixes: dict[str, tuple[str, int]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)

    def type_of(self, name: str) -> str | None:
        """The type of a register that is declared here."""
        if name in self.types:
            return self.types[name]
        match = _NUMBERED.fullmatch(name)
        if match is None:
            return None
        type, count = self.prefixes.get(match[1], ("", 0))
        return type if int(match[2]) < count else None


class FunctionFlow:
    """``blocks``: the statements of each basic block, as a range of indices into ``body``.

    Raises PtxError for a branch to a label that does not exist.
    """

    def __init__(self, function: Function, module_name: str = "") -> None:
        assert function.body is not None
        self.function = function
        self.body = function.body
        self._module_name = module_name
        self._scope_of: list[_NameScope] = []
        self._read_scopes()
        self.blocks = self._cut()
        self.block_of = [0] * len(self.body)
        for number, block in enumerate(self.blocks):
            for index in block:
                self.block_of[index] = number
        self.graph = ControlFlow([self._successors(number) for number in range(len(self.blocks))])
        self.reachable = frozenset(self.graph.order)

    def key(self, name: str, index: int) -> str | None:
        """What tells a register of this name at statement ``index`` from its namesakes in other
        scopes; None if it is no register."""
        scope: _NameScope | None = self._scope_of[index]
        while scope is not None:
            if scope.type_of(name) is not None:
                return f"{name}@{scope.number}" if scope.number else name
            scope = scope.parent
        return None

    def register_type(self, name: str, index: int) -> str | None:
        """The declared type of a register, as statement ``index`` sees it; None if it is none."""
        scope: _NameScope | None = self._scope_of[index]
        while scope is not None:
            found = scope.type_of(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def label_index(self, name: str, index: int) -> int | None:
        """The statement that a label names, seen from statement ``index``."""
        scope: _NameScope | None = self._scope_of[index]
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None

    def starts_block(self, index: int) -> bool:
        return self.blocks[self.block_of[index]].start == index

    def place(self, index: int) -> Place:
        return Place(self.block_of[index], index)

    def instructions(self) -> Iterator[tuple[int, Instruction]]:
        for index, statement in enumerate(self.body):
            if isinstance(statement, Instruction):
                yield index, statement

    @cached_property
    def definitions(self) -> dict[str, list[int]]:
        """The statements that write each register, by key."""
        found: dict[str, list[int]] = {}
        for index, instruction in self.instructions():
            for name in results_of(instruction):
                key = self.key(name, index)
                if key is not None:
                    found.setdefault(key, []).append(index)
        return found

    @cached_property
    def uses(self) -> dict[str, list[int]]:
        """The statements that read each register, by key."""
        found: dict[str, list[int]] = {}
        for index, instruction in self.instructions():
            for name in set(uses_of(instruction)):
                key = self.key(name, index)
                if key is not None:
                    found.setdefault(key, []).append(index)
        return found

    def dominates(self, block: int, other: int) -> bool:
        above = self.graph.dominators
        while other != block and other in above:
            other = above[other]
        return other == block

    # ------------------------------------------------------------ building

    def _read_scopes(self) -> None:
        count = 0
        scope = _NameScope(0, None)
        for index, statement in enumerate(self.body):
            if isinstance(statement, Scope) and statement.kind == "open":
                count += 1
                scope = _NameScope(count, scope)
            self._scope_of.append(scope)
            if isinstance(statement, Scope) and statement.kind == "close":
                assert scope.parent is not None
                scope = scope.parent
            elif isinstance(statement, Label):
                scope.labels[statement.name] = index
            elif isinstance(statement, Declaration) and statement.space == "reg":
                for name, number in statement.names:
                    if number is None:
                        scope.types[name] = statement.type
                    else:
                        scope.prefixes[name] = statement.type, number

    def _cut(self) -> list[range]:
        starts = {0}
        targets = self._branch_targets()
        for index, statement in enumerate(self.body):
            # Debug information names places that nobody branches to.
            if isinstance(statement, Label) and statement.name in targets:
                starts.add(index)
            elif _ends_block(statement):
                starts.add(index + 1)
        bounds = sorted(start for start in starts if start < len(self.body)) or [0]
        ends = [*bounds[1:], len(self.body)]
        return [range(start, end) for start, end in zip(bounds, ends, strict=True)]

    def _branch_targets(self) -> set[str]:
        found: set[str] = set()
        for statement in self.body:
            if isinstance(statement, Instruction) and statement.opcode == "bra":
                found |= {name for operand in statement.operands for name in names_in(operand)}
            elif isinstance(statement, Directive) and statement.name == ".branchtargets":
                found |= set(statement.names)
        return found

    def _successors(self, number: int) -> list[int]:
        block = self.blocks[number]
        following = [number + 1] if number + 1 < len(self.blocks) else []
        if not block:
            return following
        last = self.body[block[-1]]
        if not isinstance(last, Instruction) or not _ends_block(last):
            return following
        passes = following if last.predicate is not None else []
        if last.opcode in _ENDS:
            return passes
        targets: Sequence[str] = [name for operand in last.operands for name in names_in(operand)]
        if last.opcode == "brx":
            targets = self._listed_targets(targets[-1] if targets else "", block[-1])
        blocks = [self.block_of[self._target(name, block[-1])] for name in targets]
        return [*blocks, *passes]

    def _listed_targets(self, name: str, index: int) -> Sequence[str]:
        at = self._target(name, index) + 1
        following = self.body[at] if at < len(self.body) else None
        if not isinstance(following, Directive) or following.name != ".branchtargets":
            raise PtxError(f"{name} lists no targets", self._module_name, self.body[index].line)
        return following.names

    def _target(self, name: str, index: int) -> int:
        found = self.label_index(name, index)
        if found is None:
            line = self.body[index].line
            raise PtxError(f"there is no label {name}", self._module_name, line)
        return found


def _ends_block(statement: object) -> bool:
    return isinstance(statement, Instruction) and statement.opcode in ("bra", "brx", *_ENDS)


def results_of(instruction: Instruction) -> list[str]:
    """The names of the registers that an instruction may write."""
    if isinstance(instruction, Call):
        return [name for operand in instruction.results for name in names_in(operand)]
    if not instruction.operands:
        return []
    if instruction.opcode in _WITHOUT_RESULT and not instruction.has("red"):
        return []
    first = instruction.operands[0]
    if isinstance(first, Memory | Opaque):
        return []
    return list(names_in(first))


def uses_of(instruction: Instruction) -> list[str]:
    """The names that an instruction reads: registers, symbols and labels."""
    found = [] if instruction.predicate is None else [instruction.predicate.text]
    operands: Sequence[Operand] = instruction.operands
    if isinstance(instruction, Call):
        return [*found, instruction.target.text, *argument_names(instruction)]
    elif results_of(instruction):
        operands = operands[1:]
    for operand in operands:
        found += names_in(operand)
    return found


def argument_names(call: Call) -> list[str]:
    return [name for operand in call.arguments for name in names_in(operand)]


def parameter_access(statement: Statement, opcode: str) -> tuple[str, int] | None:
    """The name and offset of parameter memory that a load or store (``opcode``: ld, st) touches;
    None for other statements."""
    if not isinstance(statement, Instruction) or statement.opcode != opcode:
        return None
    memory = statement.operands[0 if opcode == "st" else -1] if statement.operands else None
    if not statement.has("param") or not isinstance(memory, Memory):
        return None
    return (memory.base.text, memory.offset) if isinstance(memory.base, Name) else None


def plain_name(operand: Operand | None) -> str | None:
    """The name of an operand that is a register or symbol and nothing else."""
    if isinstance(operand, Name) and not operand.offset and not operand.negated:
        return operand.text
    return None
