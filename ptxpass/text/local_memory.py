"""Local memory that is used like registers: variables and spills of unoptimised code.

A piece of a ``.local`` array is a *slot* if the function reaches the array at constant offsets
alone, always the piece as a whole, and never gives its address away. Then a load from it has the
value of the last store to it.
"""

from __future__ import annotations

from dispatch.dataclass import dataclass

from .flow import FunctionFlow, results_of, uses_of
from .syntax import Declaration, Instruction, Memory, Name, Number, names_in, type_size

_COMPARES = ("setp", "set")


@dataclass(frozen=True)
class Slot:
    """``size`` bytes of the local array ``variable``, from ``offset`` on."""

    variable: str
    offset: int
    size: int


class LocalMemory:
    """``reads``: the slot that a load, by statement index, reads; ``writes``: the stores to each
    slot."""

    def __init__(self, flow: FunctionFlow) -> None:
        self._flow = flow
        self.reads: dict[int, Slot] = {}
        self.writes: dict[Slot, list[int]] = {}
        variables = {
            name
            for statement in flow.body
            if isinstance(statement, Declaration) and statement.space == "local"
            for name, _ in statement.names
        }
        if variables:
            self._addresses = self._find_addresses(variables)
            self._collect(variables)

    @property
    def stores(self) -> frozenset[int]:
        """All stores to slots."""
        return frozenset(index for writes in self.writes.values() for index in writes)

    def _find_addresses(self, variables: set[str]) -> dict[str, tuple[str, int]]:
        """(variable, offset) for each register, or variable name, that holds such an address."""
        found = {name: (name, 0) for name in variables}
        changed = True
        while changed:
            changed = False
            for key, writes in self._flow.definitions.items():
                if key in found or len(writes) != 1:
                    continue
                address = self._computed(writes[0], found)
                if address is not None:
                    found[key] = address
                    changed = True
        return found

    def _computed(self, index: int, known: dict[str, tuple[str, int]]) -> tuple[str, int] | None:
        instruction = self._flow.body[index]
        assert isinstance(instruction, Instruction)
        operands = instruction.operands
        if instruction.predicate is not None or len(operands) < 2:
            return None
        base = operands[1]
        if not isinstance(base, Name) or base.negated:
            return None
        at = known.get(self._key(base.text, index))
        if at is None:
            return None
        variable, offset = at[0], at[1] + base.offset
        if instruction.opcode in ("mov", "cvta") and len(operands) == 2:
            return variable, offset
        if instruction.opcode in ("add", "sub") and len(operands) == 3:
            step = operands[2]
            if isinstance(step, Number) and step.value is not None:
                return variable, offset + (
                    step.value if instruction.opcode == "add" else -step.value
                )
        return None

    def _key(self, name: str, index: int) -> str:
        return self._flow.key(name, index) or name

    def _collect(self, variables: set[str]) -> None:
        escaped: set[str] = set()
        accesses: dict[str, list[tuple[int, int, int]]] = {name: [] for name in variables}
        for index, instruction in self._flow.instructions():
            touched = {
                name: self._addresses[self._key(name, index)]
                for name in uses_of(instruction)
                if self._key(name, index) in self._addresses
            }
            if not touched or self._makes_address(instruction, index):
                continue
            memory = _plain_access(instruction)
            rest = dict(touched)
            if memory is not None and isinstance(memory.base, Name) and memory.base.text in rest:
                base = memory.base
                variable, offset = rest.pop(base.text)
                size = _access_size(instruction)
                accesses[variable].append((index, offset + memory.offset, size))
                if instruction.opcode == "st" and base.text in names_in(instruction.operands[1]):
                    escaped.add(variable)
            if instruction.opcode not in _COMPARES:
                escaped |= {variable for variable, _ in rest.values()}
        for variable in variables - escaped:
            self._make_slots(variable, accesses[variable])

    def _makes_address(self, instruction: Instruction, index: int) -> bool:
        return any(self._key(name, index) in self._addresses for name in results_of(instruction))

    def _make_slots(self, variable: str, accesses: list[tuple[int, int, int]]) -> None:
        shapes = {(offset, size) for _, offset, size in accesses}
        for index, offset, size in accesses:
            overlapping = {s for s in shapes if s[0] < offset + size and offset < s[0] + s[1]}
            instruction = self._flow.body[index]
            assert isinstance(instruction, Instruction)
            if overlapping != {(offset, size)} or any(m in instruction.modifiers for m in _VECTORS):
                continue
            slot = Slot(variable, offset, size)
            self.writes.setdefault(slot, [])
            if instruction.opcode == "ld":
                self.reads[index] = slot
            else:
                self.writes[slot].append(index)


_VECTORS = ("v2", "v4", "v8")


def _plain_access(instruction: Instruction) -> Memory | None:
    """The memory operand of a load or store."""
    if instruction.opcode not in ("ld", "st") or len(instruction.operands) != 2:
        return None
    memory = instruction.operands[1 if instruction.opcode == "ld" else 0]
    return memory if isinstance(memory, Memory) else None


def _access_size(instruction: Instruction) -> int:
    width = next((int(m[1:]) for m in instruction.modifiers if m in _VECTORS), 1)
    return width * type_size(instruction.modifiers[-1])
