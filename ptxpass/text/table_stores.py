"""What functions do with the addresses of vtables: which they store, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

from dispatch.dataclass import dataclass

from .flow import FunctionFlow, argument_names, results_of, uses_of
from .syntax import (
    Call,
    Function,
    Group,
    Instruction,
    Memory,
    Module,
    Operand,
    SymbolValue,
    Variable,
    names_in,
    type_size,
)
from .values import (
    FunctionValues,
    Guarded,
    Merge,
    Result,
    SymbolAddress,
    Value,
)
from .vtables import SLOT_BYTES, is_vtable

#: What computes an address from another one.
_COPIES = ("mov", "cvta", "add", "sub", "selp")
#: What only chooses among addresses.
_CHOICES = ("mov", "selp")


@dataclass(frozen=True)
class TableStore:
    """At statement ``index`` one of ``tables`` (symbol, offset) may be written to ``address`` +
    ``offset``."""

    index: int
    tables: frozenset[tuple[str, int]]
    address: Value
    offset: int


class TableStores:
    """``all`` stores of table addresses; ``escapes``: whether such an address goes anywhere
    else (an argument, another variable), so that it is not known what is done with it."""

    def __init__(self, values: FunctionValues) -> None:
        self.values = values
        self._flow = values.flow
        holders = registers_with(self._flow, is_vtable, _COPIES)
        self.all: list[TableStore] = []
        self.escapes = False
        for index, instruction in self._flow.instructions():
            names = {n for o in instruction.operands for n in names_in(o)} - set(
                results_of(instruction)
            )
            if not any(is_vtable(n) or self._flow.key(n, index) in holders for n in names):
                continue
            stored = list(self._stored(index, instruction))
            self.all += stored
            self.escapes |= not stored and instruction.opcode not in _COPIES

    def _stored(self, index: int, store: Instruction) -> Iterator[TableStore]:
        if store.opcode != "st" or len(store.operands) != 2 or store.has("param"):
            return
        memory, source = store.operands
        if not isinstance(memory, Memory) or type_size(store.modifiers[-1]) != SLOT_BYTES:
            return
        address = self.values.operand(memory.base, index)
        parts: Sequence[Operand] = source.parts if isinstance(source, Group) else (source,)
        for place, part in enumerate(parts):
            tables = frozenset(self.tables(self.values.operand(part, index)))
            if tables:
                yield TableStore(index, tables, address, memory.offset + SLOT_BYTES * place)

    def tables(self, value: Value) -> set[tuple[str, int]]:
        """(symbol, offset) of the vtables that a value may point into."""
        found: set[tuple[str, int]] = set()
        seen: set[Value] = set()
        work = [(value, 0)]
        while work:
            value, offset = work.pop()
            at = self.values.location(value)
            base, offset = at.base, at.offset + offset
            if isinstance(base, SymbolAddress) and is_vtable(base.name):
                found.add((base.name, offset))
            elif base not in seen:
                seen.add(base)
                work += [(way, offset) for way in self._ways(base)]
        return found

    def _ways(self, base: Value) -> Sequence[Value]:
        if isinstance(base, Merge):
            return base.incoming
        if isinstance(base, Guarded):
            return base.new, base.old
        if isinstance(base, Result) and base.instruction.opcode == "selp":
            index = base.place.index
            return [self.values.operand(o, index) for o in base.instruction.operands[1:3]]
        return ()


class TableUses:
    """What the functions of a module do with the addresses of vtables."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._stores: dict[str, TableStores] = {}

    def stores(self, function: Function) -> TableStores:
        found = self._stores.get(function.name)
        if found is None:
            values = FunctionValues(FunctionFlow(function, self._module.name))
            found = self._stores[function.name] = TableStores(values)
        return found

    def functions_kept(self, function: Function, functions: Set[str]) -> Iterator[str]:
        """Those of ``functions`` whose addresses a function takes for more than calls."""
        taken = {
            name
            for statement in function.body or ()
            if isinstance(statement, Instruction) and not isinstance(statement, Call)
            for operand in statement.operands
            for name in names_in(operand)
            if name in functions
        }
        if not taken:
            return
        flow = FunctionFlow(function, self._module.name)
        for name in sorted(taken):
            holders = registers_with(flow, name.__eq__, _CHOICES)
            for index, instruction in flow.instructions():
                if instruction.opcode in _CHOICES:
                    continue
                if isinstance(instruction, Call):
                    used = argument_names(instruction)
                else:
                    used = uses_of(instruction)
                if any(n == name or flow.key(n, index) in holders for n in used):
                    yield name
                    break

    def address_points(self, table: str) -> set[int]:
        """The offsets of the table that become vtable pointers, as far as they are seen."""
        found: set[int] = set()
        for item in self._module.items:
            if isinstance(item, Function):
                if table in vtables_in(item):
                    stored = self.stores(item).all
                    found |= {o for s in stored for name, o in s.tables if name == table}
            elif isinstance(item, Variable):
                values = [v for v in item.initial or [] if isinstance(v, SymbolValue)]
                found |= {value.offset for value in values if value.name == table}
        return found


def registers_with(
    flow: FunctionFlow, is_wanted: Callable[[str], bool], copies: Sequence[str]
) -> set[str]:
    """The registers, by key, that may hold the address of a symbol, or one computed from it by
    the instructions ``copies``."""
    found: set[str] = set()
    work = [
        index
        for index, instruction in flow.instructions()
        if any(is_wanted(name) for o in instruction.operands for name in names_in(o))
    ]
    while work:
        index = work.pop()
        instruction = flow.body[index]
        assert isinstance(instruction, Instruction)
        if instruction.opcode not in copies:
            continue
        for name in results_of(instruction):
            key = flow.key(name, index)
            if key is not None and key not in found:
                found.add(key)
                work += flow.uses.get(key, ())
    return found


def vtables_in(function: Function) -> tuple[str, ...]:
    """The vtables whose address a function takes, each at its first use."""
    found: dict[str, None] = {}
    for statement in function.body or []:
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                found |= dict.fromkeys(n for n in names_in(operand) if is_vtable(n))
    return tuple(found)
