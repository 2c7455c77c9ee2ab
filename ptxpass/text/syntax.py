"""PTX text as a tree: modules, variables, functions, statements, operands.

Every node keeps the exact text it was read from, with the spaces and comments before it, so that
printing a tree that nobody changed gives the text back byte for byte. What the pass has no need
to understand is kept as text alone (``Raw``, ``Opaque``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dispatch.dataclass import dataclass, field

#: Of a variable whose initial bytes are asked for; those are descriptions of classes.
_MOST_BYTES = 1 << 24


class PtxError(ValueError):
    """Text that is no PTX, or PTX that cannot be rewritten: where, why, and what to do."""

    def __init__(self, message: str, name: str = "", line: int = 0, help: str = "") -> None:
        place = f"{name or '<ptx>'}:{line}: " if line else f"{name}: " if name else ""
        super().__init__(f"{place}{message}" + (f"\n  help: {help}" if help else ""))
        self.message = message
        self.name = name
        self.line = line
        self.help = help


# ---------------------------------------------------------------- operands


@dataclass(frozen=True)
class Name:
    """A register, symbol, label or special register (``%tid.x``). ``offset``: ``name+8``."""

    text: str
    offset: int = 0
    negated: bool = False


@dataclass(frozen=True)
class Number:
    """A literal. ``value`` is None for floats (``0f3F800000``)."""

    text: str
    value: int | None


@dataclass(frozen=True)
class Memory:
    """``[base+offset]``. ``others`` are further parts, of texture coordinates for instance."""

    base: Name | Number
    offset: int = 0
    others: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Group:
    """``{a, b}``, ``(a, b)`` or ``a|b``."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True)
class Opaque:
    """Something else; ``names`` are the identifiers in it."""

    text: str
    names: tuple[str, ...]


Operand = Name | Number | Memory | Group | Opaque


def names_in(operand: Operand | None) -> Iterator[str]:
    """Every identifier that an operand mentions."""
    if isinstance(operand, Name):
        yield operand.text
    elif isinstance(operand, Memory):
        yield from names_in(operand.base)
        for other in operand.others:
            yield from names_in(other)
    elif isinstance(operand, Group):
        for part in operand.parts:
            yield from names_in(part)
    elif isinstance(operand, Opaque):
        yield from operand.names


# ---------------------------------------------------------------- statements


@dataclass(eq=False)
class Statement:
    """``leading`` is what stands between the statement before and ``text``."""

    leading: str
    text: str
    line: int


@dataclass(eq=False)
class Instruction(Statement):
    """``@predicate opcode.modifiers operands;``"""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    predicate: Name | None = None

    def has(self, *modifiers: str) -> bool:
        return any(modifier in self.modifiers for modifier in modifiers)


@dataclass(eq=False)
class Call(Instruction):
    """``call (results), target, (arguments), prototype;`` The last is a label or None."""

    results: tuple[Operand, ...] = ()
    target: Name = field(default_factory=lambda: Name(""))
    arguments: tuple[Operand, ...] = ()
    prototype: str | None = None


@dataclass(eq=False)
class Label(Statement):
    name: str


@dataclass(eq=False)
class Scope(Statement):
    """An opening or closing brace."""

    kind: Literal["open", "close"]


@dataclass(eq=False)
class Parameter:
    """Of a function, entry or prototype. ``type`` without its dot; ``count`` of an array, else
    None."""

    name: str
    type: str
    alignment: int
    count: int | None

    @property
    def size(self) -> int:
        return type_size(self.type) * (1 if self.count is None else self.count)

    @property
    def shape(self) -> tuple[int, int, bool]:
        """What two signatures must agree in: bytes, alignment, whether it is an array."""
        return self.size, self.alignment or type_size(self.type), self.count is not None


@dataclass(eq=False)
class Declaration(Statement):
    """``.reg``, ``.param``, ``.local``, ``.shared``, ... inside a function: ``names`` with their
    counts (``%rd<5>`` is a prefix with 5, a plain name has None)."""

    space: str
    type: str
    names: tuple[tuple[str, int | None], ...]


@dataclass(eq=False)
class Prototype(Statement):
    """``.callprototype``; its label stands before it."""

    results: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]


@dataclass(eq=False)
class Directive(Statement):
    """``.loc``, ``.pragma``, ``.branchtargets``, ... ``names``: the identifiers in it."""

    name: str
    names: tuple[str, ...]


# ---------------------------------------------------------------- the module


@dataclass(eq=False)
class Raw(Statement):
    """Something at module level that only has to be kept: ``.file``, ``.section {...}``, ..."""

    name: str


@dataclass(frozen=True)
class SymbolValue:
    """A symbol in an initialiser. ``generic``: its generic address."""

    name: str
    offset: int = 0
    generic: bool = False


@dataclass(eq=False)
class Variable(Statement):
    """``initial``: one value an element, None where there is no initialiser or it is opaque."""

    name: str
    space: str
    type: str
    count: int | None
    linkage: str
    initial: list[int | SymbolValue] | None
    has_initialiser: bool

    def data(self) -> bytes:
        """The initial bytes, zeros where nothing is given. Raises PtxError for symbols in it."""
        width = type_size(self.type)
        length = width * (1 if self.count is None else self.count)
        if length > _MOST_BYTES:
            raise PtxError(f"{self.name} has {length} bytes")
        if self.has_initialiser and self.initial is None:
            raise PtxError(f"the initialiser of {self.name} is not a list of numbers")
        parts = []
        for value in self.initial or []:
            if isinstance(value, SymbolValue):
                raise PtxError(f"the initialiser of {self.name} refers to {value.name}")
            parts.append((value % (1 << 8 * width)).to_bytes(width, "little"))
        return b"".join(parts).ljust(length, b"\0")


@dataclass(eq=False)
class Function(Statement):
    """A function or entry. For a definition ``text`` is its head up to the opening brace,
    ``tail`` the closing brace with what stands before it; a declaration has no body."""

    name: str
    is_entry: bool
    linkage: str
    results: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    body: list[Statement] | None
    tail: str = ""

    @property
    def shape(self) -> tuple[tuple[tuple[int, int, bool], ...], ...]:
        return signature_shape(self.results, self.parameters)


Shape = tuple[tuple[tuple[int, int, bool], ...], ...]


def signature_shape(results: tuple[Parameter, ...], parameters: tuple[Parameter, ...]) -> Shape:
    """What a caller and a callee must agree in."""
    return tuple(p.shape for p in results), tuple(p.shape for p in parameters)


@dataclass(eq=False)
class Module:
    """``items`` in order; ``end`` is what follows the last one."""

    name: str
    version: tuple[int, int]
    target: str
    items: list[Statement]
    end: str

    @property
    def functions(self) -> dict[str, Function]:
        """By name; the definition where there is one."""
        found: dict[str, Function] = {}
        for item in self.items:
            if isinstance(item, Function) and (item.body is not None or item.name not in found):
                found[item.name] = item
        return found

    @property
    def variables(self) -> dict[str, Variable]:
        return {item.name: item for item in self.items if isinstance(item, Variable)}


def type_size(type: str) -> int:
    """Bytes of a fundamental type, by its name without the dot."""
    if type == "pred":
        return 1
    element, _, lanes = type.partition("x")
    digits = "".join(c for c in element if c.isdecimal())
    if not digits:
        return 8
    return int(digits) // 8 * (int(lanes) if lanes.isdecimal() else 1)
