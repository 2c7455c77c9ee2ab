"""What a register holds: static single assignment over PTX's mutable registers.

Registers are written as often as a compiler likes (the ways into a join each write it), and local
memory serves as more registers. ``FunctionValues`` gives the value of a register before any
statement: an instruction's result, a merge of values where ways join, a constant, a symbol's
address or a special register. Two reads of one ``Value`` give the same bits, in one thread and in
one turn of every loop around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from dispatch.dataclass import dataclass, field

from ..control_flow import ControlFlow
from .flow import FunctionFlow, Place, parameter_access, results_of
from .local_memory import LocalMemory, Slot
from .syntax import Instruction, Memory, Name, Number, Operand, type_size

_MASK = (1 << 64) - 1
#: Merges of merges that are looked through.
_LONGEST_CHAIN = 100


@dataclass(eq=False)
class Value:
    """Unknown as such: a register that nobody has written."""


@dataclass(eq=False)
class Constant(Value):
    value: int


@dataclass(eq=False)
class SymbolAddress(Value):
    """The address of a variable, parameter or function, in its own state space."""

    name: str
    offset: int = 0


@dataclass(eq=False)
class Special(Value):
    """``%tid.x`` and the like."""

    name: str


@dataclass(eq=False)
class Result(Value):
    """What ``instruction`` writes to its result number ``number``."""

    instruction: Instruction
    place: Place
    number: int


@dataclass(eq=False)
class Guarded(Value):
    """The result of an instruction under a predicate: ``new`` where it holds, else ``old``."""

    place: Place
    predicate: Value
    negated: bool
    new: Value
    old: Value


@dataclass(eq=False)
class Merge(Value):
    """Where ways join in ``block``; ``incoming`` is in the order of its predecessors."""

    block: int
    incoming: list[Value] = field(default_factory=list)


@dataclass(frozen=True)
class Location:
    """``base + offset``."""

    base: Value
    offset: int


Key = str | Slot


class FunctionValues:
    def __init__(self, flow: FunctionFlow) -> None:
        self.flow = flow
        self._graph = flow.graph
        self._constants: dict[int, Constant] = {}
        self._symbols: dict[tuple[str, int], SymbolAddress] = {}
        self._specials: dict[str, Special] = {}
        self._parameters: dict[tuple[str, int, int], Value] = {}
        self._results: dict[tuple[int, int], Result] = {}
        self._guarded: dict[tuple[int, Key], Guarded] = {}
        self._merges: dict[tuple[int, Key], Merge] = {}
        self._merge_blocks: dict[Key, frozenset[int]] = {}
        self._unknown: dict[Key, Value] = {}
        self._at_start: dict[tuple[int, Key], Value] = {}
        self._writes: dict[Key, dict[int, list[int]]] = {}
        self._replaced: dict[Merge, Value] = {}
        self._depth = 0

    # ------------------------------------------------------------ registers

    def before(self, key: Key, index: int) -> Value:
        """The value of a register or slot before statement ``index``."""
        block = self.flow.block_of[index]
        writes = self._writes_of(key).get(block, ())
        for write in reversed(writes):
            if write < index:
                return self._written(key, write)
        return self._start(key, block)

    def register(self, name: str, index: int) -> Value:
        """The value of a name that statement ``index`` reads."""
        key = self.flow.key(name, index)
        if key is not None:
            return self.before(key, index)
        if name.startswith("%"):
            return self._specials.setdefault(name, Special(name))
        return self._symbol(name, 0)

    def operand(self, operand: Operand, index: int) -> Value:
        """The value of an operand that is a register, symbol or literal; else unknown."""
        if isinstance(operand, Number):
            return self.constant(operand.value) if operand.value is not None else Value()
        if isinstance(operand, Name) and not operand.negated:
            if operand.offset:
                return self._symbol(operand.text, operand.offset)
            return self.register(operand.text, index)
        return Value()

    def constant(self, value: int) -> Constant:
        return self._constants.setdefault(value & _MASK, Constant(value & _MASK))

    def _symbol(self, name: str, offset: int) -> SymbolAddress:
        return self._symbols.setdefault((name, offset), SymbolAddress(name, offset))

    def _writes_of(self, key: Key) -> dict[int, list[int]]:
        found = self._writes.get(key)
        if found is None:
            if isinstance(key, Slot):
                indices: Iterable[int] = self.local_memory.writes[key]
            else:
                indices = self.flow.definitions.get(key, ())
            found = self._writes[key] = {}
            for index in indices:
                found.setdefault(self.flow.block_of[index], []).append(index)
        return found

    def _written(self, key: Key, index: int) -> Value:
        instruction = self.flow.body[index]
        assert isinstance(instruction, Instruction)
        if isinstance(key, Slot):
            new = self.operand(instruction.operands[1], index)
        else:
            names = [self.flow.key(name, index) for name in results_of(instruction)]
            new = self.result(instruction, index, names.index(key))
        if instruction.predicate is None:
            return new
        found = self._guarded.get((index, key))
        if found is None:
            predicate = instruction.predicate
            place = self.flow.place(index)
            found = Guarded(place, Value(), predicate.negated, new, Value())
            self._guarded[index, key] = found
            found.predicate = self.register(predicate.text, index)
            found.old = self.before(key, index)
        return found

    def merges(self) -> list[Merge]:
        """All merges that anybody has asked for so far."""
        return list(self._merges.values())

    def result(self, instruction: Instruction, index: int, number: int) -> Result:
        """What statement ``index`` writes to its result number ``number``."""
        found = self._results.get((index, number))
        if found is None:
            found = Result(instruction, self.flow.place(index), number)
            self._results[index, number] = found
        return found

    def _start(self, key: Key, block: int) -> Value:
        """The value on entry to a block: up the dominators to a merge or a write."""
        passed = []
        above = self._graph.dominators
        while True:
            known = self._at_start.get((block, key))
            if known is not None:
                break
            passed.append(block)
            if block in self._merges_of(key):
                known = self._merge(key, block)
                break
            if block not in above:
                known = self._unknown.setdefault(key, Value())
                break
            block = above[block]
            writes = self._writes_of(key).get(block)
            if writes:
                known = self._written(key, writes[-1])
                break
        for one in passed:
            self._at_start[one, key] = known
        return known

    def _merge(self, key: Key, block: int) -> Value:
        found = self._merges.get((block, key))
        if found is None:
            found = self._merges[block, key] = Merge(block)
            self._at_start[block, key] = found
            for before in self._graph.predecessors[block]:
                writes = self._writes_of(key).get(before)
                found.incoming.append(
                    self._written(key, writes[-1]) if writes else self._start(key, before)
                )
        return found

    def _merges_of(self, key: Key) -> frozenset[int]:
        """The blocks in which different writes of a register may meet."""
        found = self._merge_blocks.get(key)
        if found is None:
            work = list(self._writes_of(key))
            # Before its first write a register holds what it held at the entry.
            if len(work) > 1 or self._frontier.get(work[0] if work else 0):
                work.append(0)
            merges: set[int] = set()
            while work:
                for block in self._frontier.get(work.pop(), ()):
                    if block not in merges:
                        merges.add(block)
                        work.append(block)
            found = self._merge_blocks[key] = frozenset(merges)
        return found

    @cached_property
    def _frontier(self) -> dict[int, set[int]]:
        return _dominance_frontier(self._graph)

    # ------------------------------------------------------------ through copies

    def plain(self, value: Value) -> Value:
        """The value behind moves, casts between state spaces, spills, trivial merges and guards."""
        seen: set[Value] = set()
        while value not in seen:
            seen.add(value)
            value = self._one_step(value)
        return value

    def _one_step(self, value: Value) -> Value:
        if isinstance(value, Guarded):
            # Without an old value the program may rely on the new one only where it was written.
            return value.new if type(value.old) is Value else value
        if isinstance(value, Merge):
            return self._only_incoming(value)
        if not isinstance(value, Result):
            return value
        instruction, index = value.instruction, value.place.index
        operands = instruction.operands
        # A cast keeps the bits on NVIDIA GPUs where it leads to or from global memory.
        copies = instruction.opcode == "mov" or (
            instruction.opcode == "cvta" and instruction.has("global")
        )
        if copies and len(operands) == 2:
            return self.operand(operands[1], index)
        if instruction.opcode == "ld" and len(operands) == 2:
            slot = self.local_memory.reads.get(index)
            if slot is not None:
                return self.before(slot, index)
            return self._parameter(value)
        if instruction.opcode in ("add", "sub", "or") and len(operands) == 3:
            other = self.plain(self.operand(operands[2], index))
            if isinstance(other, Constant) and other.value == 0:
                return self.operand(operands[1], index)
        return value

    def _parameter(self, value: Result) -> Value:
        """One value for every load of one of the function's own parameters."""
        memory = value.instruction.operands[1]
        if not self.is_parameter(value.instruction) or not isinstance(memory, Memory):
            return value
        assert isinstance(memory.base, Name)
        size = type_size(value.instruction.modifiers[-1])
        return self._parameters.setdefault((memory.base.text, memory.offset, size), value)

    def is_parameter(self, load: Instruction) -> bool:
        """Whether a load reads one of the function's own parameters."""
        access = parameter_access(load, "ld")
        names = {parameter.name for parameter in self.flow.function.parameters}
        return access is not None and access[0] in names

    def is_first_parameter(self, value: Value) -> bool:
        """Whether a value is the function's first parameter, of methods the object."""
        if not isinstance(value, Result) or not self.flow.function.parameters:
            return False
        first = self.flow.function.parameters[0].name
        return parameter_access(value.instruction, "ld") == (first, 0)

    def _only_incoming(self, merge: Merge) -> Value:
        """What a merge is if all its ways bring the same value, or itself."""
        found = self._replaced.get(merge)
        if found is None:
            # Merges may lead to each other in a circle, and in long chains.
            self._replaced[merge] = merge
            if self._depth < _LONGEST_CHAIN:
                self._depth += 1
                others = {self.plain(value) for value in merge.incoming} - {merge}
                self._depth -= 1
                if len(others) == 1:
                    self._replaced[merge] = others.pop()
            found = self._replaced[merge]
        return found

    def location(self, value: Value) -> Location:
        """An address as a value and a constant distance from it."""
        offset = 0
        while True:
            value = self.plain(value)
            if isinstance(value, SymbolAddress) and value.offset:
                return Location(self._symbol(value.name, 0), offset + value.offset)
            step = self._constant_step(value)
            if step is None:
                return Location(value, offset)
            value, distance = step
            offset += distance

    def _constant_step(self, value: Value) -> tuple[Value, int] | None:
        if not isinstance(value, Result) or value.instruction.opcode not in ("add", "sub"):
            return None
        operands, index = value.instruction.operands, value.place.index
        if len(operands) != 3:
            return None
        left, right = (self.plain(self.operand(o, index)) for o in operands[1:])
        if isinstance(left, Constant) and value.instruction.opcode == "add":
            left, right = right, left
        if not isinstance(right, Constant):
            return None
        distance = right.value - (1 << 64 if right.value >> 63 else 0)
        return left, distance if value.instruction.opcode == "add" else -distance

    def address(self, memory: Memory, index: int) -> Location:
        """Where a memory operand of statement ``index`` points."""
        at = self.location(self.operand(memory.base, index))
        return Location(at.base, at.offset + memory.offset)

    @cached_property
    def local_memory(self) -> LocalMemory:
        return LocalMemory(self.flow)


def _dominance_frontier(graph: ControlFlow) -> dict[int, set[int]]:
    """Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm."""
    found: dict[int, set[int]] = {}
    above = graph.dominators
    for block in graph.order:
        before: Sequence[int] = graph.predecessors[block]
        if len(before) < 2 and block != 0:
            continue
        for one in before:
            while one != above.get(block):
                found.setdefault(one, set()).add(block)
                if one not in above:
                    break
                one = above[one]
    return found
