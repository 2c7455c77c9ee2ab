"""A function's statements into operations: Python functions over a frame, one an instruction.

An operation gives None, or a signal to the machine: a call, a return, the end, a barrier, a warp's
collective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ptxpass.text.syntax import (
    Call,
    Function,
    Group,
    Instruction,
    Name,
    Number,
    Operand,
    Prototype,
    PtxError,
)

from .accesses import Accesses
from .arithmetic import operation_of
from .collectives import Collectives, is_collective
from .errors import PtxFault, Trap, UnsupportedInstruction
from .expressions import Kind, expression_of, writing, written_as
from .frames import BARRIER, EXIT, RETURN, Code, Fetch, Frame, Invocation, Operation, Pass
from .numbers import Type, type_named
from .scopes import Buffer, Meaning, Names, NameScope, Register, is_operation, read_names

if TYPE_CHECKING:
    from .machine import Machine

Getter = Callable[[list[Any]], Any]
_NOTHING = frozenset((
    "membar", "fence", "nanosleep", "prefetch", "prefetchu", "pmevent", "brkpt",
))  # fmt: skip


def translate(function: Function, machine: Machine) -> Code:
    """Raises PtxFault for names that do not exist. What the interpreter does not know raises
    where it is run."""
    return _Translator(function, machine).code()


class _Translator:
    def __init__(self, function: Function, machine: Machine) -> None:
        self._function = function
        self._machine = machine
        self._names: Names = read_names(function)
        self._scope: NameScope = NameScope(None)
        self._accesses = Accesses(machine, self._meaning, self.getter, self._operand)
        self._collectives = Collectives(self._meaning, self.getter)

    def code(self) -> Code:
        operations: list[Operation] = []
        lines: list[tuple[int, str]] = []
        decides: list[bool] = []
        for index, statement in enumerate(self._function.body or []):
            if not is_operation(statement):
                continue
            self._scope = self._names.scope_of[index]
            try:
                if isinstance(statement, Instruction):
                    operation = self._predicated(statement)
                else:
                    operation = self._forget([name for name, _ in statement.names])  # type: ignore[attr-defined]
            except UnsupportedInstruction as error:
                operation = _unsupported(f"{statement.text}: {error}")
            except (PtxFault, PtxError) as error:
                where = f"{self._function.name}, line {statement.line}: {statement.text}"
                raise PtxFault(f"{where}\n  {error}") from error
            operations.append(operation)
            lines.append((statement.line, statement.text))
            decides.append(isinstance(statement, Instruction) and _decides(statement))
        operations.append(lambda frame: RETURN)
        lines.append((0, "the end of the body"))
        decides.append(True)
        addressed = self._accesses.addressed
        return Code(self._function, self._names, operations, lines, decides, addressed)

    # ------------------------------------------------------------ names and operands

    def _meaning(self, name: str) -> Meaning | None:
        return self._scope.find(name)

    def _register(self, operand: Operand | str) -> Register:
        name = operand if isinstance(operand, str) else getattr(operand, "text", "")
        meaning = self._meaning(name)
        if not isinstance(meaning, Register):
            raise PtxFault(f"{name} is no register")
        return meaning

    def getter(self, operand: Operand, type: Type) -> Getter:
        """Reads the bits of an operand of an instruction of ``type``."""
        kind, value = self._operand(operand, type)
        if kind == "register":
            return itemgetter(value)
        return (lambda bits: value) if kind == "constant" else value

    def _operand(self, operand: Operand, type: Type) -> tuple[Kind, Any]:
        if isinstance(operand, Number):
            return "constant", literal(operand, type)
        if not isinstance(operand, Name):
            raise UnsupportedInstruction(f"the operand {operand}")
        meaning = self._meaning(operand.text)
        if isinstance(meaning, Register):
            if operand.negated:
                negated = meaning.place
                return "function", lambda bits: 1 - bits[negated]
            return "register", meaning.place
        if meaning is not None:
            place = meaning.place if not isinstance(meaning, Buffer) else meaning.address
            if isinstance(meaning, Buffer):
                self._accesses.addressed.add(meaning.place)
            offset = operand.offset
            return "function", lambda bits: bits[place] + offset
        if operand.text.startswith("%"):
            special = self._machine.grid.special(operand.text)
            return "function", lambda bits: special()
        return "constant", self._machine.symbol(operand.text) + operand.offset

    def _check_width(self, operand: Operand, type: Type, exact: bool = True) -> None:
        meaning = self._meaning(getattr(operand, "text", ""))
        if not isinstance(meaning, Register):
            return
        bits = meaning.type.bits
        if (bits != type.bits) if exact else (bits < type.bits):
            raise PtxFault(f"{operand.text} has {bits} bits, the instruction {type.bits}")  # type: ignore[union-attr]

    # ------------------------------------------------------------ instructions

    def _predicated(self, instruction: Instruction) -> Operation:
        operation = self._operation(instruction)
        predicate = instruction.predicate
        if predicate is None:
            return operation
        register = self._register(predicate)
        if register.type.kind != "pred":
            raise PtxFault(f"{predicate.text} is no predicate")
        place, wanted, name = register.place, 0 if predicate.negated else 1, predicate.text

        def run(frame: Frame) -> Any:
            value = frame.bits[place]
            if value == wanted:
                return operation(frame)
            if value is None:
                raise PtxFault(f"{name} was never written")
            return None

        statement = getattr(operation, "statement", None)
        if statement is None:
            return run
        # What nobody has written raises TypeError there.
        return written_as(run, lambda n: f"if (bits[{place}] ^ {1 - wanted}) == 1: {statement(n)}")

    def _operation(self, instruction: Instruction) -> Operation:
        opcode = instruction.opcode
        if isinstance(instruction, Call):
            return self._call(instruction)
        if opcode in ("ld", "ldu"):
            return self._accesses.load(instruction)
        if opcode == "st":
            return self._accesses.store(instruction)
        if opcode in ("atom", "red"):
            return self._accesses.atomic(instruction)
        if opcode == "cp" and instruction.has("async") and not instruction.has("bulk"):
            if instruction.has("commit_group", "wait_group", "wait_all"):
                return lambda frame: None
            return self._accesses.copy(instruction)
        if opcode == "bra":
            return self._branch(instruction)
        if opcode == "brx":
            return self._indexed_branch(instruction)
        if opcode == "ret":
            return lambda frame: RETURN
        if opcode == "exit":
            return lambda frame: EXIT
        if opcode == "trap":
            return _trap
        if is_collective(instruction):
            return self._collectives.operation(instruction)
        if opcode in ("bar", "barrier"):
            if instruction.has("sync", "cta") and not instruction.has("red", "arrive"):
                return lambda frame: BARRIER
            raise UnsupportedInstruction(opcode)
        if opcode in _NOTHING:
            return lambda frame: None
        if opcode == "mov" and any(isinstance(o, Group) for o in instruction.operands):
            return self._pack(instruction)
        return self._compute(instruction)

    def _compute(self, instruction: Instruction) -> Operation:
        """Anything that makes one result, or a pair of predicates, from values."""
        function, types, result = operation_of(instruction)
        destination, *sources = instruction.operands
        places: list[int | None] = []
        for target in destination.parts if isinstance(destination, Group) else (destination,):
            if getattr(target, "text", "") == "_":
                places.append(None)
                continue
            self._check_width(target, result, exact=instruction.opcode != "cvt")
            places.append(self._register(target).place)
        operands = []
        for source, type in zip(sources, types, strict=True):
            self._check_width(source, type, exact=instruction.opcode != "cvt")
            operands.append((source, type))
        if isinstance(destination, Group):
            return _write_both(places, function, [self.getter(*each) for each in operands])
        widen = _widening(result, self._register(destination).type)
        expression = None
        if widen is None:
            expression = expression_of(instruction)
        else:
            narrow, extend = function, widen
            function = lambda *values: extend(narrow(*values))
        found = [self._operand(*each) for each in operands]
        return writing(places[0] or 0, expression, function, found)

    def _pack(self, instruction: Instruction) -> Operation:
        """``mov`` between a register and a vector of smaller ones."""
        destination, source = instruction.operands
        whole = type_named(instruction.modifiers[-1])
        if isinstance(source, Group):
            part = Type("b", whole.bits // len(source.parts))
            getters = [self.getter(piece, part) for piece in source.parts]
            for piece in source.parts:
                self._check_width(piece, part)
            target = self._register(destination).place

            def pack(frame: Frame) -> None:
                bits = frame.bits
                values = [get(bits) << part.bits * n for n, get in enumerate(getters)]
                bits[target] = sum(values)

            return pack
        assert isinstance(destination, Group)
        part = Type("b", whole.bits // len(destination.parts))
        get = self.getter(source, whole)
        places = [
            None if getattr(piece, "text", "") == "_" else self._register(piece).place
            for piece in destination.parts
        ]

        def unpack(frame: Frame) -> None:
            value = get(frame.bits)
            for number, place in enumerate(places):
                if place is not None:
                    frame.bits[place] = value >> part.bits * number & part.mask

        return unpack

    # ------------------------------------------------------------ control

    def _branch(self, instruction: Instruction) -> Operation:
        (label,) = instruction.operands
        assert isinstance(label, Name)
        target = self._scope.label(label.text)

        def run(frame: Frame) -> None:
            frame.at = target

        return written_as(run, lambda name: f"frame.at = {target}")

    def _indexed_branch(self, instruction: Instruction) -> Operation:
        index, name = instruction.operands
        assert isinstance(name, Name)
        listed = self._scope.list_named(name.text)
        assert isinstance(listed, tuple)
        targets = [self._scope.label(label) for label in listed]
        get = self.getter(index, Type("u", 32))

        def run(frame: Frame) -> None:
            choice = get(frame.bits)
            if not choice < len(targets):
                raise PtxFault(f"branch {choice} of {len(targets)}")
            frame.at = targets[choice]

        return run

    def _forget(self, names: Sequence[str]) -> Operation:
        places = []
        for name in names:
            meaning = self._meaning(name)
            assert isinstance(meaning, Buffer)
            places.append(meaning.place)

        def run(frame: Frame) -> None:
            for place in places:
                frame.buffers[place] = None

        return run

    def _call(self, call: Call) -> Operation:
        expected = None
        prototype: Prototype | Function | tuple[str, ...] | None = None
        if call.prototype is not None:
            prototype = self._scope.list_named(call.prototype)
        functions = self._machine.module.functions
        if isinstance(prototype, tuple):  # a list of targets, which have one signature
            prototype = functions[prototype[0]]
        if prototype is None:
            prototype = functions.get(call.target.text)
        if prototype is not None:
            expected = [p.size for p in prototype.results], [p.size for p in prototype.parameters]
        declared = expected[1] if expected else [None] * len(call.arguments)
        if len(declared) != len(call.arguments):
            raise PtxFault(f"{len(call.arguments)} arguments for {len(declared)} parameters")
        arguments = [
            self._argument(a, size) for a, size in zip(call.arguments, declared, strict=True)
        ]
        results = [self._result(operand) for operand in call.results]
        sizes = [size for size, _ in results], [size for size, _ in arguments]
        if expected not in (None, sizes):
            raise PtxFault(f"bytes {sizes} are passed, the signature says {expected}")
        passed, fetched = [give for _, give in arguments], [take for _, take in results]
        machine = self._machine
        meaning = self._meaning(call.target.text)
        if isinstance(meaning, Register):
            place = meaning.place

            def call_indirectly(frame: Frame) -> Any:
                name = machine.function_at(frame.bits[place])
                return Invocation(name, sizes, passed, fetched)

            return call_indirectly
        if call.target.text not in functions:
            raise PtxFault(f"there is no function {call.target.text}")
        invocation = Invocation(call.target.text, sizes, passed, fetched)
        return lambda frame: invocation

    def _argument(self, operand: Operand, declared: int | None) -> tuple[int, Pass]:
        """(bytes, what gives them): a parameter, a register, or a literal of ``declared`` bytes."""
        meaning = self._meaning(getattr(operand, "text", ""))
        if isinstance(meaning, Buffer):
            buffer = meaning.place
            return meaning.size, lambda frame: frame.buffers[buffer]
        size = meaning.type.size if isinstance(meaning, Register) else declared
        if size is None:
            raise UnsupportedInstruction(f"the argument {operand}")
        get = self.getter(operand, Type("b", 8 * size))
        return size, lambda frame: bytearray(get(frame.bits).to_bytes(size, "little"))

    def _result(self, operand: Operand) -> tuple[int, Fetch]:
        meaning = self._meaning(getattr(operand, "text", ""))
        if isinstance(meaning, Buffer):
            buffer = meaning.place

            def keep(frame: Frame, data: bytearray | None) -> None:
                frame.buffers[buffer] = data

            return meaning.size, keep
        register = self._register(operand)

        def write(frame: Frame, data: bytearray | None) -> None:
            frame.bits[register.place] = None if data is None else int.from_bytes(data, "little")

        return register.type.size, write


def literal(number: Number, type: Type) -> int:
    """The bits of a literal."""
    if number.value is not None:
        return number.value & type.mask
    text = number.text.lower()
    if text[:2] in ("0f", "0d"):
        if (len(text) - 2) * 4 != type.bits:
            raise PtxFault(f"{number.text} is no literal of {type.bits} bits")
        return int(text[2:], 16)
    raise UnsupportedInstruction(f"the literal {number.text}")


def _decides(instruction: Instruction) -> bool:
    """Whether it may say what is next, for itself or for the thread."""
    if isinstance(instruction, Call) or is_collective(instruction):
        return True
    return instruction.opcode in ("bra", "brx", "ret", "exit", "bar", "barrier")


def _unsupported(message: str) -> Operation:
    def run(frame: Frame) -> Any:
        raise UnsupportedInstruction(message)

    return run


def _trap(frame: Frame) -> Any:
    raise Trap("trap")


def _widening(result: Type, register: Type) -> Callable[[int], int] | None:
    """How a result of fewer bits fills its register: a ``cvt`` to a signed type keeps the sign."""
    if result.kind != "s" or register.bits == result.bits:
        return None
    sign, fill = 1 << (result.bits - 1), register.mask & ~result.mask
    return lambda value: value | fill if value & sign else value


def _write_both(
    places: list[int | None], function: Callable[..., Any], getters: list[Getter]
) -> Operation:
    """``p|q``: a predicate and its opposite."""

    def run(frame: Frame) -> None:
        value = function(*[get(frame.bits) for get in getters])
        for place, result in zip(places, (value, not value), strict=True):
            if place is not None:
                frame.bits[place] = int(result)

    return run
