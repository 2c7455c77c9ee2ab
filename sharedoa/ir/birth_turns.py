"""Which threads of a launch make objects, where that follows from their numbers alone.

Kernels often make an object of a class in every n-th thread, or of classes in turn (``if i % 8 ==
3``). The numbers of threads with one remainder are a line, ``period * k + remainder``; a kernel is
run for each remainder on such lines. Where a test has one answer for all of them one way is run,
else both. So what threads may make has a period, the place of each among the new objects of a class
a closed form, and there need be places for no others.

    if i % 2 == 0: A() else: B()    ->    A: period 2, made by (True, False); B: (False, True)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dispatch.births import MOST_PERIOD, Turns
from dispatch.dataclass import dataclass

from ..model.classes import ClassType
from ..model.scalars import ScalarType
from .births import Births, makers_in
from .core import Operation, Program, Region, Type, Value, operations_in
from .evaluation import evaluated
from .operations import Effects, effects_of
from .passes.calls import callees

_MOST_THREADS = 2**31 - 1
"""Along an axis."""
_MOST_STEPS = 4096
"""Operations that are looked at in one launch."""
_MOST_DEPTH = 64
"""Values that one is computed from, each of the next."""


@dataclass(frozen=True)
class Found:
    """The parameters of these numbers were ``used``, and, if it ``counts``, how many threads there
    are: whatever else launches are given, the turns are the same."""

    turns: Mapping[ClassType, Turns]
    used: frozenset[int] = frozenset()
    counts: bool = False


def turns_of(program: Program, births: Births, threads: int, given: Mapping[int, int]) -> Found:
    """The turns of those classes of which each of ``threads`` threads along one axis makes one
    object at most, and some of them none; ``given``: what is known of the kernel's parameters, by
    number. ``program``: before any pass."""
    once = [cls for cls, each in births.made.items() if each == 1]
    if not once or None in births.made.values():
        return Found({})
    looked = _Threads(program, threads, given)
    try:
        made = looked.made()
    except _UnknownError:
        return Found({}, frozenset(looked.used), looked.counts)
    found = {cls: Turns(tuple(cls in each for each in made)) for cls in once}
    turns = {cls: each for cls, each in found.items() if not all(each.makes)}
    return Found(turns, frozenset(looked.used), looked.counts)


class _UnknownError(Exception):
    """Nobody knows what threads do, or it takes too long to find out."""


class _AgainError(Exception):
    """Another period tells more."""

    def __init__(self, factor: int) -> None:
        self.factor = factor


class _Line(NamedTuple):
    """An integer, or a bool, that is ``slope * k + first`` in the k-th thread of one remainder.
    ``of_launch``: it is the thread's number, or how many there are."""

    slope: int
    first: int
    of_launch: bool = False


_Lines = Sequence[_Line | None]


class _Threads:
    def __init__(self, program: Program, threads: int, given: Mapping[int, int]) -> None:
        self._program, self._threads, self._given = program, threads, given
        self._makers = makers_in(program)
        parameters = enumerate(program.kernel.parameters)
        self._parameters = {parameter: place for place, parameter in parameters}
        self._period, self._rest, self._last, self._steps, self._depth = 1, 0, 0, 0, 0
        #: The operations of a region that make objects, or decide about it.
        self._mattering: dict[Region, list[Operation]] = {}
        #: Of values of the function that is run, as far as they were asked for.
        self._lines: dict[Value, _Line | None] = {}
        #: Whether that function may have returned something else before.
        self._may_have_left = False
        self._made: set[ClassType] = set()
        #: The parameters that were asked for, and whether the number of threads may have mattered.
        self.used: set[int] = set()
        self.counts = False

    def made(self) -> list[set[ClassType]]:
        """What threads of each remainder may make. Raises _UnknownError."""
        while True:
            try:
                return [self._of_rest(rest) for rest in range(self._period)]
            except _AgainError as again:
                self._period *= again.factor

    def _of_rest(self, rest: int) -> set[ClassType]:
        self._made = set()
        if rest < self._threads:
            self._rest, self._last = rest, (self._threads - 1 - rest) // self._period
            self._lines, self._depth = {}, 0
            self._run(self._program.kernel.body)
        return self._made

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _UnknownError

    def _run(self, region: Region) -> tuple[bool, _Lines]:
        """Whether the function ends here for certain, and what it returns."""
        if region not in self._mattering:
            self._mattering[region] = [*filter(self._matters, region.operations)]
        for operation in self._mattering[region]:
            self._count_step()
            if operation.kind == "return":
                return True, self._of(operation)
            if operation.kind == "new":
                self._made.add(operation["cls"])
            elif operation.regions:
                ends, results = self._run_some(operation)
                if ends:
                    return True, results
            else:
                self._lines.update(zip(operation.results, self._call(operation), strict=False))
        return False, []

    def _run_some(self, operation: Operation) -> tuple[bool, _Lines]:
        """Run the region that is chosen; each, where that is not known."""
        is_if = operation.kind == "if"
        test = self._of_value(operation.operands[0]) if is_if else None
        if test is not None:
            return self._run(operation.regions[0 if test.first else 1])
        self._may_have_left |= any(map(_returns, operation.regions))
        ends = [self._run(region)[0] for region in operation.regions]
        return is_if and all(ends), []

    def _call(self, operation: Operation) -> _Lines:
        """What a call returns, if there is one candidate, and one way."""
        called, outside = callees(operation), (self._lines, self._may_have_left)
        results: _Lines = []
        for symbol in called:
            self._may_have_left = False
            callee = self._program.functions[symbol]
            given: _Lines = [None] * len(operation.operands)
            if len(called) == 1:
                given = self._of(operation)
            self._lines = dict(zip(callee.parameters, given, strict=True))
            results = self._run(callee.body)[1]
            if len(called) > 1 or self._may_have_left:
                results = []
            self._lines, self._may_have_left = outside
        return results

    def _matters(self, operation: Operation) -> bool:
        """Whether threads that do it may make objects, or none afterwards. Raises _UnknownError."""
        if Effects.UNKNOWN in effects_of(operation):
            raise _UnknownError
        if operation.kind in ("new", "return") or not self._makers.isdisjoint(callees(operation)):
            return True
        return any(
            self._matters(each) for region in operation.regions for each in region.operations
        )

    # ------------------------------------------------------------------ numbers

    def _of(self, operation: Operation) -> _Lines:
        return [self._of_value(operand) for operand in operation.operands]

    def _of_value(self, value: Value) -> _Line | None:
        if value in self._lines:
            return self._lines[value]
        self._count_step()
        if self._depth == _MOST_DEPTH:
            raise _UnknownError
        line, source = None, value.source
        self._depth += 1
        if value in self._parameters:
            place = self._parameters[value]
            self.used.add(place)
            line = _Line(0, self._given[place]) if place in self._given else None
        elif source is not None and source.kind == "if":
            test = self._of_value(source.operands[0])
            if test is not None:
                end = source.regions[0 if test.first else 1].terminator
                if end.kind == "yield":
                    line = self._of_value(end.operands[source.results.index(value)])
        elif source is not None and len(source.results) == 1 and not source.regions:
            line = self._line(source)
        self._depth -= 1
        self._lines[value] = line
        return line

    def _line(self, operation: Operation) -> _Line | None:
        """What the operation's result is, if that is known."""
        type = operation.result.type
        if operation.kind in ("thread_index", "grid_size"):
            line = _Line(0, int(operation.kind == "grid_size"))
            if operation["axis"] == 0:
                line = _Line(0, self._threads, True)
                if operation.kind == "thread_index":
                    line = _Line(self._period if self._last else 0, self._rest, True)
            return self._within(line, type)
        given = [line for line in self._of(operation) if line is not None]
        if len(given) < len(operation.operands):
            return None
        if operation.kind == "convert" and given[0].of_launch and _holds_any_number(type):
            return given[0]
        self.counts |= any(line.of_launch for line in given)
        if not any(line.slope for line in given):
            return _constant(operation, [line.first for line in given])
        found: _Line | None = None
        if operation.kind == "binary":
            found = self._binary(operation, *given)
        elif operation.kind == "compare":
            found = self._compared(operation, *given)
        elif operation.kind == "convert" and _is_integer(type):
            found = given[0]
        return None if found is None else self._within(found, type)

    def _within(self, line: _Line, type: Type) -> _Line | None:
        """The line, if none of its numbers wraps."""
        if not isinstance(type, ScalarType) or type.is_float:
            return None
        low, high = type.range if type.is_integer else (0, 1)
        return line if low <= min(self._ends(line)) and max(self._ends(line)) <= high else None

    def _ends(self, line: _Line) -> tuple[int, int]:
        return line.first, line.slope * self._last + line.first

    def _binary(self, operation: Operation, one: _Line, other: _Line) -> _Line | None:
        operator = operation["operator"]
        if operator in ("add", "sub"):
            sign = 1 if operator == "add" else -1
            return _Line(one.slope + sign * other.slope, one.first + sign * other.first)
        if operator == "mul" and not (one.slope and other.slope):
            slope = one.slope * other.first + one.first * other.slope
            return _Line(slope, one.first * other.first)
        if other.slope:
            return None
        if operator == "and":
            # The lowest bits are the remainder.
            divisor = other.first + 1
            if divisor & other.first:
                return None
        elif operator == "rshift":
            divisor = 1 << other.first if 0 <= other.first < _bits(operation.result.type) else 0
        elif operator in ("floordiv", "mod"):
            divisor = other.first
        else:
            return None
        if divisor <= 0:
            return None
        if one.slope % divisor:
            factor = divisor // math.gcd(one.slope, divisor)
            if self._period * factor > MOST_PERIOD:
                return None
            raise _AgainError(factor)
        if operator in ("and", "mod"):
            return _Line(0, one.first % divisor)
        return _Line(one.slope // divisor, one.first // divisor)

    def _compared(self, operation: Operation, one: _Line, other: _Line) -> _Line | None:
        if not all(_is_integer(operand.type) for operand in operation.operands):
            return None
        signs = {_sign(end) for end in self._ends(_difference(one, other))}
        answers = {_constant(operation, [sign, 0]) for sign in signs}
        is_between = operation["operator"] in ("eq", "ne") and len(signs) > 1
        return None if is_between or len(answers) > 1 else answers.pop()


def _returns(region: Region) -> bool:
    return any(each.kind == "return" for each in operations_in(region))


def _is_integer(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.is_integer


def _bits(type: Type) -> int:
    return type.bits if isinstance(type, ScalarType) else 0


def _holds_any_number(type: Type) -> bool:
    """Whether it holds the numbers of all threads of any launch."""
    return isinstance(type, ScalarType) and type.is_integer and type.range[1] >= _MOST_THREADS


def _difference(one: _Line, other: _Line) -> _Line:
    return _Line(one.slope - other.slope, one.first - other.first)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _constant(operation: Operation, given: Sequence[int]) -> _Line | None:
    """Of integers: fast arithmetic may take other floats for the same."""
    types = [value.type for value in (*operation.operands, *operation.results)]
    if any(not isinstance(type, ScalarType) or type.is_float for type in types):
        return None
    number = evaluated(operation, _of_types(operation, given))
    return _Line(0, int(number)) if isinstance(number, (bool, int)) else None


def _of_types(operation: Operation, given: Sequence[int]) -> list[int]:
    """Bools where they are some."""
    found = []
    for operand, number in zip(operation.operands, given, strict=True):
        is_bool = isinstance(operand.type, ScalarType) and operand.type.kind == "bool"
        found.append(bool(number) if is_bool else number)
    return found
