"""Loads, stores and atomics: the operations that touch memory or parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptxpass.text.syntax import Group, Instruction, Memory, Name, Number, Operand

from . import floats, integers
from .errors import PtxFault, UnsupportedInstruction
from .expressions import Kind, Namer, operand_text, written_as
from .frames import Frame, Operation
from .memory import UNWRITTEN, AccessFault, unpacking
from .numbers import Type, type_named
from .scopes import Buffer, Meaning, Register

if TYPE_CHECKING:
    from .machine import Machine

Getter = Callable[[list[Any]], Any]
_SPACES = {
    "global": "global", "const": "const", "shared": "shared", "local": "local", "param": "param",
    "shared::cta": "shared", "param::entry": "param", "param::func": "param",
}  # fmt: skip
_VECTORS = {"v2": 2, "v4": 4}
_ADDRESS = Type("u", 64)


class Accesses:
    def __init__(
        self,
        machine: Machine,
        meaning: Callable[[str], Meaning | None],
        getter: Callable[[Operand, Type], Getter],
        operand: Callable[[Operand, Type], tuple[Kind, Any]],
    ) -> None:
        self._memory = machine.memory
        self._meaning = meaning
        self._getter = getter
        self._operand = operand
        #: Buffers of parameters whose address is taken.
        self.addressed: set[int] = set()

    # ------------------------------------------------------------ instructions

    def load(self, instruction: Instruction) -> Operation:
        type, count = _shape(instruction)
        target, place = instruction.operands
        parts = target.parts if isinstance(target, Group) else (target,)
        _check_count(parts, count)
        targets = [self._target(part, type) for part in parts]
        read, by_text = self._reader(instruction, place, type.size * count)
        bits, mask = type.bits, type.mask
        if count == 1 and targets[0] is not None and not targets[0][1]:
            only, _ = targets[0]

            def run_alone(frame: Frame) -> None:
                frame.bits[only] = read(frame)

            return written_as(run_alone, lambda name: f"bits[{only}] = {by_text(name)}")

        def run(frame: Frame) -> None:
            value = read(frame)
            for number, found in enumerate(targets):
                if found is None:
                    continue
                register, fill = found
                if value is None:
                    frame.bits[register] = None
                else:
                    part = value >> bits * number & mask
                    frame.bits[register] = part | fill if fill and part >> (bits - 1) else part

        return run

    def _target(self, operand: Operand, type: Type) -> tuple[int, int] | None:
        """(place, bits to set above a negative value) of a register that is loaded."""
        if getattr(operand, "text", "") == "_":
            return None
        register = self._register(operand)
        if register.type.bits < type.bits:
            raise PtxFault(f"a register of {register.type.bits} bits for {type.bits}")
        return register.place, register.type.mask & ~type.mask if type.kind == "s" else 0

    def store(self, instruction: Instruction) -> Operation:
        type, count = _shape(instruction)
        place, source = instruction.operands
        parts = source.parts if isinstance(source, Group) else (source,)
        _check_count(parts, count)
        for part in parts:
            meaning = self._meaning(getattr(part, "text", ""))
            if isinstance(meaning, Register) and meaning.type.bits < type.bits:
                raise PtxFault(f"{meaning.type.bits} bits are stored as {type.bits}")
        getters = [self._getter(part, type) for part in parts]
        write, by_text = self._writer(instruction, place, type.size * count)
        bits, mask = type.bits, type.mask
        if count == 1:
            (only,), operand = getters, self._operand(parts[0], type)
            return written_as(
                lambda frame: write(frame, only(frame.bits) & mask),
                lambda name: by_text(name, f"{operand_text(*operand, name)} & {mask}"),
            )

        def run(frame: Frame) -> None:
            value = 0
            for number, get in enumerate(getters):
                value |= (get(frame.bits) & mask) << bits * number
            write(frame, value)

        return run

    def atomic(self, instruction: Instruction) -> Operation:
        type, _ = _shape(instruction)
        operands = list(instruction.operands)
        target = None
        if instruction.opcode == "atom":
            found = self._target(operands.pop(0), type)
            target = None if found is None else found[0]
        place, *sources = operands
        read, _ = self._reader(instruction, place, type.size)
        write, _ = self._writer(instruction, place, type.size)
        function = _atomic_function(instruction, type)
        getters = [self._getter(source, type) for source in sources]

        def run(frame: Frame) -> None:
            old = read(frame)
            values = [get(frame.bits) for get in getters]
            write(frame, function(old, *values))
            if target is not None:
                frame.bits[target] = old

        return run

    def copy(self, instruction: Instruction) -> Operation:
        """``cp.async``, done at once: from global memory to shared memory."""
        target, source, size = instruction.operands
        if not (isinstance(target, Memory) and isinstance(source, Memory)):
            raise UnsupportedInstruction("this copy")
        if not isinstance(size, Number) or not instruction.has("shared") or size.value is None:
            raise UnsupportedInstruction("this copy")
        to, of, count = self._address(target), self._address(source), size.value
        load, store = self._memory.loader("global", count), self._memory.storer("shared", count)

        def run(frame: Frame) -> None:
            store(to(frame.bits), load(of(frame.bits)))

        return run

    # ------------------------------------------------------------ places

    def _register(self, operand: Operand) -> Register:
        meaning = self._meaning(getattr(operand, "text", ""))
        if not isinstance(meaning, Register):
            raise PtxFault(f"{operand} is no register")
        return meaning

    def _place(self, instruction: Instruction, operand: Operand) -> tuple[str, Memory]:
        if not isinstance(operand, Memory) or operand.others:
            raise UnsupportedInstruction(f"the address {operand}")
        spaces = [_SPACES[m] for m in instruction.modifiers if m in _SPACES]
        return (spaces[0] if spaces else ""), operand

    def _buffer(self, space: str, memory: Memory) -> Buffer | None:
        if space != "param" or not isinstance(memory.base, Name):
            return None
        meaning = self._meaning(memory.base.text)
        return meaning if isinstance(meaning, Buffer) else None

    def _address(self, memory: Memory) -> Callable[[list[Any]], int]:
        base, offset = memory.base, memory.offset
        if isinstance(base, Number):
            constant = (base.value or 0) + offset
            return lambda bits: constant
        meaning = self._meaning(base.text)
        if isinstance(meaning, Register) and meaning.type.bits not in (32, 64):
            raise PtxFault(f"{base.text} is no address")
        get = self._getter(base, _ADDRESS)
        name, limit = base.text, _ADDRESS.mask

        def address(bits: list[Any]) -> int:
            start = get(bits)
            if start is None:
                raise AccessFault(f"the address {name} was never written")
            return start + offset & limit  # type: ignore[no-any-return]

        return address

    def _address_text(self, memory: Memory) -> Callable[[Namer], str]:
        """An expression that says what ``_address`` says."""
        kind, value = self._operand(memory.base, _ADDRESS)
        offset, limit = memory.offset, _ADDRESS.mask
        return lambda name: f"{operand_text(kind, value, name)} + {offset} & {limit}"

    def _reader(
        self, instruction: Instruction, operand: Operand, size: int
    ) -> tuple[Callable[[Frame], int | None], Callable[[Namer], str]]:
        """And an expression that says the same. None stands for a parameter that nobody has passed
        or returned: as a register that was never written, it may be copied, not used."""
        space, memory = self._place(instruction, operand)
        buffer = self._buffer(space, memory)
        if buffer is None:
            address, load = self._address(memory), self._memory.loader(space, size)
            where = self._address_text(memory)
            return (
                lambda frame: load(address(frame.bits)),
                lambda name: f"{name(load)}({where(name)})",
            )
        start, _ = _bounds(buffer, memory, size)
        place, unpack = buffer.place, unpacking(size)

        def read(frame: Frame) -> int | None:
            data = frame.buffers[place]
            return None if data is None else unpack(data, start)[0]

        return read, lambda name: f"{name(read)}(frame)"

    def _writer(
        self, instruction: Instruction, operand: Operand, size: int
    ) -> tuple[Callable[[Frame, int], None], Callable[[Namer, str], str]]:
        space, memory = self._place(instruction, operand)
        buffer = self._buffer(space, memory)
        if buffer is None:
            address, store = self._address(memory), self._memory.storer(space, size)
            where = self._address_text(memory)
            return (
                lambda frame, value: store(address(frame.bits), value),
                lambda name, value: f"{name(store)}({where(name)}, {value})",
            )
        start, end = _bounds(buffer, memory, size)
        place, whole = buffer.place, buffer.size

        def write(frame: Frame, value: int) -> None:
            data = frame.buffers[place]
            if data is None:
                data = frame.buffers[place] = bytearray([UNWRITTEN]) * whole
            data[start:end] = value.to_bytes(size, "little")

        return write, lambda name, value: f"{name(write)}(frame, {value})"


def _bounds(buffer: Buffer, memory: Memory, size: int) -> tuple[int, int]:
    start, end = memory.offset, memory.offset + size
    if start < 0 or end > buffer.size or start % size:
        raise AccessFault(f"{size} bytes at {start} of a parameter of {buffer.size} bytes")
    return start, end


def _shape(instruction: Instruction) -> tuple[Type, int]:
    count = next((_VECTORS[m] for m in instruction.modifiers if m in _VECTORS), 1)
    return type_named(instruction.modifiers[-1]), count


def _check_count(parts: tuple[Operand, ...], count: int) -> None:
    if len(parts) != count:
        raise PtxFault(f"{len(parts)} registers for {count} values")


def _atomic_function(instruction: Instruction, type: Type) -> Callable[..., int]:
    """From the old value and the operands to the new one."""
    mask = type.mask
    for name in instruction.modifiers:
        if name in ("add", "min", "max"):
            if type.kind == "f":
                function = floats.operation(name, type, ())
                assert function is not None
                return function
            makers = {"add": integers.add, "min": integers.smallest, "max": integers.largest}
            return makers[name](type)
        if name in ("and", "or", "xor"):
            return integers.bitwise(name)(type)
        if name == "exch":
            return lambda old, new: new & mask
        if name == "cas":
            return lambda old, expected, new: (new if old == expected else old) & mask
        if name == "inc":
            return lambda old, limit: 0 if old >= limit else old + 1
        if name == "dec":
            return lambda old, limit: limit if not 0 < old <= limit else old - 1
    raise UnsupportedInstruction("this atomic")
