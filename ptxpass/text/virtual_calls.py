"""Which indirect calls are virtual calls of C++, by data flow.

A call is virtual when its target was loaded from (a value loaded from an object's first word) + a
constant, and that object is the first argument. The way leads through moves, casts, predicated
instructions, spills to local memory, earlier blocks, and places where ways join, as long as
receiver and target join together.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatch.dataclass import dataclass

from .equality import equal
from .flow import parameter_access
from .syntax import (
    Call,
    Function,
    Instruction,
    Memory,
    Module,
    Name,
    Prototype,
    Shape,
    signature_shape,
    type_size,
)
from .values import FunctionValues, Guarded, Location, Merge, Result, SymbolAddress, Value
from .vtables import SLOT_BYTES, Vtables

_NOT_FROM_VTABLE = "not loaded from a vtable"


@dataclass(frozen=True, eq=False)
class IndirectCall:
    """A call through a register, at statement ``index`` of ``function``.

    ``refusal`` says why it is no virtual call that can be rewritten; it is empty for those that
    can, and then the rest is known: ``candidates`` are (vtable symbol, function symbol), ``loads``
    the statements that load vtable pointers and functions, ``argument`` the statement that passes
    the receiver.
    """

    function: Function
    index: int
    call: Call
    refusal: str = ""
    slot: int = -1
    receiver: Value | None = None
    argument: int = -1
    candidates: tuple[tuple[str, str], ...] = ()
    loads: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Match:
    """A target that is ``slot`` of the table of the object at ``receiver``."""

    slot: int
    loads: tuple[int, ...]


class _NoMatch(Exception):
    """Why a call is not virtual."""


def find_indirect_calls(
    module: Module, values: FunctionValues, vtables: Vtables
) -> Iterator[IndirectCall]:
    """Every call through a register in one function, in order."""
    flow = values.flow
    for index, instruction in flow.instructions():
        if not isinstance(instruction, Call) or flow.key(instruction.target.text, index) is None:
            continue
        finder = _Finder(values, index, instruction)
        try:
            yield finder.virtual_call(vtables)
        except _NoMatch as reason:
            yield IndirectCall(flow.function, index, instruction, str(reason))


class _Finder:
    def __init__(self, values: FunctionValues, index: int, call: Call) -> None:
        self._values = values
        self._flow = values.flow
        self._index = index
        self._call = call

    def virtual_call(self, vtables: Vtables) -> IndirectCall:
        if self._flow.block_of[self._index] not in self._flow.reachable:
            raise _NoMatch("never reached")
        target = self._values.register(self._call.target.text, self._index)
        argument, receiver = self._receiver()
        match = self._match(target, receiver, ())
        shape = self._shape()
        targets = vtables.targets(match.slot, shape)
        if targets.obstacle:
            raise _NoMatch(targets.obstacle)
        if not targets.candidates:
            raise _NoMatch(f"no class of this module has such a function in slot {match.slot}")
        return IndirectCall(
            self._flow.function,
            self._index,
            self._call,
            slot=match.slot,
            receiver=self._values.plain(receiver),
            argument=argument,
            candidates=targets.candidates,
            loads=match.loads,
        )

    def _receiver(self) -> tuple[int, Value]:
        """The statement that passes the first argument, and its value."""
        if not self._call.arguments:
            raise _NoMatch(f"{_NOT_FROM_VTABLE}: the call has no arguments")
        first = self._call.arguments[0]
        if not isinstance(first, Name):
            raise _NoMatch(f"{_NOT_FROM_VTABLE}: its first argument is no object")
        if self._flow.key(first.text, self._index) is not None:
            return self._index, self._values.register(first.text, self._index)
        block = self._flow.blocks[self._flow.block_of[self._index]]
        for index in range(self._index - 1, block.start - 1, -1):
            statement = self._flow.body[index]
            if parameter_access(statement, "st") == (first.text, 0):
                assert isinstance(statement, Instruction)
                if type_size(statement.modifiers[-1]) != SLOT_BYTES:
                    break
                return index, self._values.operand(statement.operands[1], index)
        raise _NoMatch(f"{_NOT_FROM_VTABLE}: its first argument is no object")

    def _shape(self) -> Shape:
        label = self._call.prototype
        at = self._flow.label_index(label, self._index) if label else None
        prototype = self._flow.body[at + 1] if at is not None else None
        if not isinstance(prototype, Prototype):
            raise _NoMatch("no prototype: its signature is not known")
        return signature_shape(prototype.results, prototype.parameters)

    def _match(self, target: Value, receiver: Value, above: tuple[Value, ...]) -> _Match:
        target, receiver = self._values.plain(target), self._values.plain(receiver)
        if target in above:
            raise _NoMatch(f"{_NOT_FROM_VTABLE}: the target goes round a loop")
        ways = self._ways(target, receiver)
        if ways is not None:
            matches = [self._match(t, r, (*above, target)) for t, r in ways]
            if len({match.slot for match in matches}) > 1:
                raise _NoMatch(f"{_NOT_FROM_VTABLE}: different slots come together")
            loads = tuple(dict.fromkeys(load for match in matches for load in match.loads))
            return _Match(matches[0].slot, loads)
        method = self._loaded(target)
        if method is None:
            raise _NoMatch(f"{_NOT_FROM_VTABLE}: the target is {_describe(target)}")
        tables = self._tables(method.base, receiver, ())
        if method.offset < 0 or method.offset % SLOT_BYTES:
            raise _NoMatch(f"{_NOT_FROM_VTABLE}: {method.offset} bytes into a table is no slot")
        return _Match(method.offset // SLOT_BYTES, (_index(target), *tables))

    def _tables(self, table: Value, receiver: Value, above: tuple[Value, ...]) -> tuple[int, ...]:
        """The statements that load the receiver's vtable pointer: one on each way here."""
        table, receiver = self._values.plain(table), self._values.plain(receiver)
        place = self._loaded(table)
        if place is not None:
            passed = self._values.location(receiver)
            if passed.offset != place.offset or not equal(self._values, passed.base, place.base):
                raise _NoMatch(f"{_NOT_FROM_VTABLE} of the first argument")
            return (_index(table),)
        ways = self._ways(table, receiver)
        if ways is None or table in above:
            raise _NoMatch(f"{_NOT_FROM_VTABLE}: it is read from {_describe(table)}")
        loads = [load for t, r in ways for load in self._tables(t, r, (*above, table))]
        return tuple(dict.fromkeys(loads))

    def _ways(self, target: Value, receiver: Value) -> list[tuple[Value, Value]] | None:
        """Pairs of target and receiver that come by the same way."""
        if isinstance(target, Merge):
            together = isinstance(receiver, Merge) and receiver.block == target.block
            other = receiver.incoming if isinstance(receiver, Merge) and together else None
            return [(v, other[i] if other else receiver) for i, v in enumerate(target.incoming)]
        if isinstance(target, Guarded):
            if isinstance(receiver, Guarded) and self._same_guard(target, receiver):
                return [(target.new, receiver.new), (target.old, receiver.old)]
            return [(target.new, receiver), (target.old, receiver)]
        return None

    def _same_guard(self, one: Guarded, other: Guarded) -> bool:
        return (
            self._values.plain(one.predicate) is self._values.plain(other.predicate)
            and one.negated == other.negated
        )

    def _loaded(self, value: Value) -> Location | None:
        """Where a 64-bit value was loaded from; None if it was not."""
        value = self._values.plain(value)
        if not isinstance(value, Result) or value.instruction.opcode not in ("ld", "ldu"):
            return None
        instruction = value.instruction
        if instruction.has("param", "shared", "volatile") or len(instruction.operands) != 2:
            return None
        memory = instruction.operands[1]
        if type_size(instruction.modifiers[-1]) != SLOT_BYTES or not isinstance(memory, Memory):
            return None
        if not isinstance(instruction.operands[0], Name):
            return None
        return self._values.address(memory, value.place.index)


def _index(value: Value) -> int:
    assert isinstance(value, Result)
    return value.place.index


def _describe(value: Value) -> str:
    if isinstance(value, SymbolAddress):
        return f"the address of {value.name}"
    if isinstance(value, Result):
        instruction = value.instruction
        if instruction.has("param"):
            return f"a parameter (line {instruction.line})"
        return f"the result of {instruction.opcode} (line {instruction.line})"
    return "not the same on all ways" if isinstance(value, Merge | Guarded) else "not known"
