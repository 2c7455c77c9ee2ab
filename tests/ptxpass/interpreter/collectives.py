"""What threads of a warp do together: an operation for which they wait for one another.

The operation itself gives a ``Collective`` to the machine, which stops the thread there; ``warps``
says who is together, and then the collective gives each of them its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ptxpass.text.syntax import Group, Instruction, Operand

from . import integers
from .errors import PtxFault, UnsupportedInstruction
from .frames import Frame, Operation
from .numbers import Type, type_named
from .scopes import Meaning, Register

Getter = Callable[[list[Any]], Any]
#: The frames of the threads that are together, by lane.
Together = Mapping[int, Frame]
#: Puts the results into the registers of those who are together.
Run = Callable[[Together], None]
_U32 = Type("u", 32)
_PREDICATE = Type("pred", 1)
_UNKNOWN = "a thread gives others a register that was never written"
_REDUCTIONS: dict[str, Callable[[Type], integers.Operation]] = {
    "add": integers.add, "min": integers.smallest, "max": integers.largest,
    "and": integers.bitwise("and"), "or": integers.bitwise("or"), "xor": integers.bitwise("xor"),
}  # fmt: skip
#: From a lane, its operand, the bits that segments of the warp agree in and the last lane (``up``:
#: the first): the lane to read, and whether it lies in the segment.
_SHUFFLES: dict[str, Callable[[int, int, int, int], tuple[int, bool]]] = {
    "idx": lambda lane, b, segment, last: _with_end(lane & segment | b & ~segment, last),
    "up": lambda lane, b, segment, first: (lane - b, lane - b >= first),
    "down": lambda lane, b, segment, last: _with_end(lane + b, last),
    "bfly": lambda lane, b, segment, last: _with_end(lane ^ b, last),
}


@dataclass(frozen=True, eq=False)
class Collective:
    """One instruction. ``members``: the mask of threads that must come to it, None where those that
    happen to be there are enough."""

    name: str
    members: Callable[[Frame], int] | None
    run: Run


def is_collective(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    is_barrier = opcode in ("bar", "barrier") and instruction.has("warp")
    return is_barrier or opcode in ("activemask", "match", "shfl", "redux", "vote")


class Collectives:
    def __init__(
        self,
        meaning: Callable[[str], Meaning | None],
        getter: Callable[[Operand, Type], Getter],
    ) -> None:
        self._meaning = meaning
        self._getter = getter

    def operation(self, instruction: Instruction) -> Operation:
        """What stops a thread at the instruction. Raises UnsupportedInstruction."""
        name = ".".join((instruction.opcode, *instruction.modifiers))
        members = None
        if instruction.opcode != "activemask":
            if not instruction.has("sync"):
                raise UnsupportedInstruction("threads that do not say whom they wait for")
            get = self._getter(instruction.operands[-1], _U32)
            members = lambda frame: _known(get(frame.bits))
        collective = Collective(name, members, self._maker(instruction)(instruction))
        return lambda frame: collective

    def _maker(self, instruction: Instruction) -> Callable[[Instruction], Run]:
        match instruction.opcode:
            case "activemask":
                return self._active
            case "shfl":
                return self._shuffle
            case "redux":
                return self._reduction
            case "vote":
                return self._vote
            case "match":
                return self._match
        return lambda _: _nothing

    def _target(self, operand: Operand, type: Type) -> int:
        register = self._meaning(getattr(operand, "text", ""))
        if not isinstance(register, Register) or register.type.bits != type.bits:
            raise PtxFault(f"{operand} is no register of {type.bits} bits")
        return register.place

    def _active(self, instruction: Instruction) -> Run:
        place = self._target(instruction.operands[0], _U32)

        def run(together: Together) -> None:
            for frame in together.values():
                frame.bits[place] = sum(1 << lane for lane in together)

        return run

    def _reduction(self, instruction: Instruction) -> Run:
        destination, source, _ = instruction.operands
        type = type_named(instruction.modifiers[-1])
        name = instruction.modifiers[1]
        if name not in _REDUCTIONS or type.bits != 32 or type.kind == "f":
            raise UnsupportedInstruction(f"redux.{name} of {type.kind}{type.bits}")
        place, get = self._target(destination, type), self._getter(source, type)
        combine = _REDUCTIONS[name](type)

        def run(together: Together) -> None:
            values = [_known(get(frame.bits)) for frame in together.values()]
            result = reduce(combine, values)
            for frame in together.values():
                frame.bits[place] = result

        return run

    def _vote(self, instruction: Instruction) -> Run:
        if not instruction.has("ballot"):
            raise UnsupportedInstruction("a vote other than a ballot")
        destination, source, _ = instruction.operands
        place, get = self._target(destination, _U32), self._getter(source, _PREDICATE)

        def run(together: Together) -> None:
            votes = [_known(get(f.bits)) << lane for lane, f in together.items()]
            for frame in together.values():
                frame.bits[place] = sum(votes)

        return run

    def _match(self, instruction: Instruction) -> Run:
        if not instruction.has("any"):
            raise UnsupportedInstruction("a match of other than any")
        destination, source, _ = instruction.operands
        type = type_named(instruction.modifiers[-1])
        place, get = self._target(destination, _U32), self._getter(source, type)

        def run(together: Together) -> None:
            values = {lane: _known(get(frame.bits)) for lane, frame in together.items()}
            for lane, frame in together.items():
                alike = (1 << n for n, value in values.items() if value == values[lane])
                frame.bits[place] = sum(alike)

        return run

    def _shuffle(self, instruction: Instruction) -> Run:
        """A lane outside of those that are together has no value that anybody may use, nor has one
        that nobody has written: both may be fetched."""
        destination, source, other, clamp, _ = instruction.operands
        parts = destination.parts if isinstance(destination, Group) else (destination,)
        place = self._target(parts[0], _U32)
        found = self._target(parts[1], _PREDICATE) if len(parts) > 1 else None
        value, b, c = (self._getter(operand, _U32) for operand in (source, other, clamp))
        pick = _SHUFFLES[instruction.modifiers[1]]

        def run(together: Together) -> None:
            results = []
            for lane, frame in together.items():
                bits = frame.bits
                limits, distance = c(bits), b(bits)
                if limits is None or distance is None:
                    raise PtxFault(_UNKNOWN)
                segment = limits >> 8 & 31
                last = lane & segment | limits & 31 & ~segment
                other, exists = pick(lane, distance & 31, segment, last)
                source = together.get(other if exists else lane)
                results.append((bits, None if source is None else value(source.bits), exists))
            for bits, result, exists in results:
                bits[place] = result
                if found is not None:
                    bits[found] = int(exists)

        return run


def _with_end(lane: int, last: int) -> tuple[int, bool]:
    return lane, lane <= last


def _nothing(together: Together) -> None:
    """A barrier has no result."""


def _known(value: Any) -> int:
    if value is None:
        raise PtxFault(_UNKNOWN)
    return int(value)
