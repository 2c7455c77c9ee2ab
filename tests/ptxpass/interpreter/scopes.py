"""What names mean in a function: registers, parameters and local variables by scope, and labels.

A pair of braces may declare names again. A register is a place in the frame's list of bits; so is
a local variable, whose place holds its address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ptxpass.text.syntax import (
    Declaration,
    Directive,
    Function,
    Instruction,
    Label,
    Parameter,
    Prototype,
    Scope,
    type_size,
)

from .errors import PtxFault
from .numbers import Type, type_named

_NUMBERED = re.compile(r"(.*?)(\d+)")
_ARRAY = re.compile(r"([\w$%]+)\s*\[\s*(\w*)\s*\]")
_LISTS = (".branchtargets", ".calltargets")
_ALIGNMENT = re.compile(r"\.align\s+(\d+)")


@dataclass(frozen=True)
class Register:
    place: int
    type: Type


@dataclass(frozen=True)
class Buffer:
    """A parameter: ``place`` in the frame's list of buffers. ``address``: the place in the list of
    bits that holds its address."""

    place: int
    size: int
    address: int


@dataclass(frozen=True)
class Variable:
    """A ``.local`` or ``.shared`` variable of the function; ``place`` holds its address."""

    place: int
    space: str
    name: str
    size: int
    alignment: int


Meaning = Register | Buffer | Variable


@dataclass(eq=False)
class NameScope:
    parent: NameScope | None
    names: dict[str, Meaning] = field(default_factory=dict)
    #: First place and number of registers declared as ``%r<8>``.
    numbered: dict[str, tuple[int, int, Type]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    lists: dict[str, Prototype | tuple[str, ...]] = field(default_factory=dict)
    #: What ``find`` has found, once all is declared.
    _found: dict[str, Meaning | None] = field(default_factory=dict)

    def find(self, name: str) -> Meaning | None:
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> Meaning | None:
        match = _NUMBERED.fullmatch(name)
        scope: NameScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if match is not None and match[1] in scope.numbered:
                first, count, type = scope.numbered[match[1]]
                if int(match[2]) < count:
                    return Register(first + int(match[2]), type)
            scope = scope.parent
        return None

    def label(self, name: str) -> int:
        """The operation that a label names."""
        scope: NameScope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        raise PtxFault(f"there is no label {name}")

    def list_named(self, name: str) -> Prototype | tuple[str, ...]:
        """The prototype or the targets of branches behind a label."""
        scope: NameScope | None = self
        while scope is not None:
            if name in scope.lists:
                return scope.lists[name]
            scope = scope.parent
        raise PtxFault(f"there is no list {name}")


@dataclass(eq=False)
class Names:
    """``scope_of``: the scope of each statement. ``parameters``, ``results``: the places of the
    function's own."""

    scope_of: list[NameScope]
    registers: int
    buffers: list[Buffer]
    variables: list[Variable]
    parameters: list[Buffer]
    results: list[Buffer]


def read_names(function: Function) -> Names:
    """Raises PtxFault for a name that is declared twice in one scope."""
    return _Reader(function).read()


def is_operation(statement: object) -> bool:
    """Whether the machine does something there: a call's parameter is forgotten where it is
    declared."""
    return isinstance(statement, Instruction) or (
        isinstance(statement, Declaration) and statement.space == "param"
    )


class _Reader:
    def __init__(self, function: Function) -> None:
        self._function = function
        self._registers = 0
        self._buffers: list[Buffer] = []
        self._variables: list[Variable] = []

    def read(self) -> Names:
        outer = scope = NameScope(None)
        parameters = [self._parameter(outer, p) for p in self._function.parameters]
        results = [self._parameter(outer, p) for p in self._function.results]
        found: list[NameScope] = []
        operations = 0
        body = self._function.body or []
        for index, statement in enumerate(body):
            if isinstance(statement, Scope) and statement.kind == "open":
                scope = NameScope(scope)
            found.append(scope)
            if isinstance(statement, Scope) and statement.kind == "close":
                assert scope.parent is not None
                scope = scope.parent
            elif isinstance(statement, Label):
                self._label(scope, statement.name, body[index + 1 : index + 2], operations)
            elif isinstance(statement, Declaration):
                self._declare(scope, statement)
            operations += is_operation(statement)
        return Names(found, self._registers, self._buffers, self._variables, parameters, results)

    def _label(self, scope: NameScope, name: str, after: Sequence[object], operations: int) -> None:
        if name in scope.labels or name in scope.lists:
            raise PtxFault(f"two labels {name} in one scope")
        following = after[0] if after else None
        if isinstance(following, Prototype):
            scope.lists[name] = following
        elif isinstance(following, Directive) and following.name in _LISTS:
            scope.lists[name] = following.names
        else:
            scope.labels[name] = operations

    def _place(self, count: int = 1) -> int:
        self._registers += count
        return self._registers - count

    def _name(self, scope: NameScope, name: str, meaning: Meaning) -> None:
        if name in scope.names:
            raise PtxFault(f"{name} is declared twice in one scope")
        scope.names[name] = meaning

    def _parameter(self, scope: NameScope, parameter: Parameter) -> Buffer:
        buffer = Buffer(len(self._buffers), parameter.size, self._place())
        self._buffers.append(buffer)
        self._name(scope, parameter.name, buffer)
        return buffer

    def _declare(self, scope: NameScope, declaration: Declaration) -> None:
        if declaration.space == "reg":
            self._declare_registers(scope, declaration)
            return
        sizes = {
            name: int(str(count) or "0", 0) for name, count in _ARRAY.findall(declaration.text)
        }
        alignment = _ALIGNMENT.search(declaration.text)
        width = type_size(declaration.type)
        for name, _ in declaration.names:
            size = width * sizes.get(name, 1)
            aligned = int(alignment[1]) if alignment else width
            if declaration.space == "param":
                buffer = Buffer(len(self._buffers), size, self._place())
                self._buffers.append(buffer)
                self._name(scope, name, buffer)
            else:
                variable = Variable(self._place(), declaration.space, name, size, aligned)
                self._variables.append(variable)
                self._name(scope, name, variable)

    def _declare_registers(self, scope: NameScope, declaration: Declaration) -> None:
        type = type_named(declaration.type)
        for name, count in declaration.names:
            if count is None:
                self._name(scope, name, Register(self._place(), type))
            elif name in scope.numbered:
                raise PtxFault(f"{name}<{count}> is declared twice in one scope")
            else:
                scope.numbered[name] = self._place(count), count, type
