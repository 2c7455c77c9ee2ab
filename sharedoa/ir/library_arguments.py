"""Which parameters of a kernel may be constants without results becoming others.

LLVM computes a sine of a constant itself, by the library of the machine that compiles; the machine
that runs it may give other bits (on processors: another library; on devices math functions are code
as all other, and what approximates is never computed by LLVM). It makes a product of a power whose
exponent it knows. So a parameter must stay a variable if knowing it might let LLVM know an argument
of such a function. That is found for all values together, as a set of parameters each:

- What is computed from a number that may be known may be known, also where another operand is not
  (``x * 0``); but for arithmetic of floats, of which all operands have to be known.
- What comes out of branches and loops also follows from their conditions and ends.
- What is stored to memory in one role (``roles``) may be loaded from any place in that role.
- A test in which something unknown takes part (``x == n``) may tell LLVM what that is, wherever it
  stands: what takes part in it stays a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..model.scalars import ScalarType
from ..model.types import ReferenceType, ValueType
from ..targets.mathematics import EXACT_FUNCTIONS
from .core import Function, LvalueType, Operation, Program, Region, Value, operations_in
from .number_parts import number_parts
from .operations import PURE, Effects, effects_of, kind_of
from .passes.calls import callees
from .roles import EVERYTHING, Role, role_of

_SOURCE = 1
"""In a set of parameters, which is a number: that the value may be known anyway. Parameter n is bit
n + 1; a value with none is not known, whatever the parameters are."""


def exact_parameters(program: Program, on_device: bool) -> list[bool]:
    """Of each parameter of the kernel, whether code that knows it computes what code does that does
    not. All operations of the program are declared (``passes.calls.is_known``)."""
    parameters = program.kernel.parameters
    if not any(_is_inexact(each, on_device) for each in operations_in(program)):
        return [True] * len(parameters)
    kept = _Reach(program, on_device).kept
    return [not kept >> number + 1 & 1 for number in range(len(parameters))]


def _is_inexact(operation: Operation, on_device: bool) -> bool:
    """Whether LLVM and the machine may make different things of the same floats."""
    if operation.kind == "binary":
        return operation["operator"] == "pow" and _is_float(operation.result)
    if operation.kind != "math" or operation["name"] in EXACT_FUNCTIONS:
        return False
    return not on_device or operation["name"] == "pow"


def _is_float(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type.is_float


def _is_frozen(type: object) -> bool:
    return isinstance(type, ReferenceType) and type.cls.frozen


class _Reach:
    """``kept``: the parameters that have to stay variables. Sets grow until all functions agree."""

    def __init__(self, program: Program, on_device: bool) -> None:
        self._program, self._on_device = program, on_device
        self._sets: dict[Value, int] = {}
        #: Values that are not known even if all parameters are.
        self._unknown: set[Value] = set()
        #: What decides whether a function is run, or how it is left.
        self._ways: dict[str, int] = {}
        self._results: dict[str, int] = {}
        self._memory: dict[Role, int] = {}
        self.kept = 0
        kernel = program.kernel
        for number, parameter in enumerate(kernel.parameters):
            type = parameter.type
            is_struct = isinstance(type, ValueType) and bool(number_parts(type))
            if isinstance(type, ScalarType) or _is_frozen(type) or is_struct:
                self._sets[parameter] = _SOURCE << number + 1
            else:
                self._unknown.add(parameter)
        before = None
        while before != (before := self._state()):
            for function in program.functions.values():
                self._function(function)

    def _state(self) -> tuple[int, ...]:
        sums = [sum(each.values()) for each in (self._sets, self._ways, self._results)]
        return (*sums, sum(self._memory.values()), len(self._unknown), self.kept)

    def _of(self, values: Iterable[Value]) -> int:
        found = 0
        for value in values:
            found |= self._sets.get(value, 0)
        return found

    def _add(self, value: Value, found: int) -> None:
        if found:
            self._sets[value] = self._sets.get(value, 0) | found

    def _function(self, function: Function) -> None:
        self._now = function.symbol
        self._region(function.body, self._ways.get(function.symbol, 0))

    def _region(self, region: Region, way: int) -> None:
        for operation in region.operations:
            way |= self._ways.get(self._now, 0)
            self._operation(operation, way)

    def _operation(self, operation: Operation, way: int) -> None:
        given = self._of(operation.operands)
        if _is_inexact(operation, self._on_device):
            self.kept |= given
        effects = effects_of(operation)
        kind = kind_of(operation)
        assert kind is not None
        if operation.regions:
            self._with_regions(operation, way)
        elif callees(operation):
            self._call(operation, way)
        elif kind.is_terminator:
            self._end(operation, given, way)
        else:
            if kind.changes:
                # What is not stored lets something else stay there.
                for role in _places(operation):
                    self._memory[role] = self._memory.get(role, 0) | given | way
            if effects & (Effects.READS | Effects.ATOMIC) and not kind.reads_class:
                for role in _places(operation):
                    given |= self._held(role) & ~_SOURCE
            is_known = operation.kind in ("constant", "zero")
            if _is_float_arithmetic(operation):
                given = given if all(self._sets.get(v) for v in operation.operands) else 0
            is_unknown = effects != PURE or not self._unknown.isdisjoint(operation.operands)
            for result in operation.results:
                self._add(result, _SOURCE if is_known else given)
                if is_unknown:
                    self._unknown.add(result)
            if operation.kind == "select":
                self._test(operation.operands[:1])

    def _held(self, role: Role) -> int:
        """What memory in that role, and of which nothing is known, holds."""
        found = 0
        for other, held in self._memory.items():
            if role == other or EVERYTHING in (role, other):
                found |= held
        return found

    def _test(self, values: Iterable[Value]) -> None:
        self.kept |= self._of(value for value in values if value in self._unknown)

    def _end(self, operation: Operation, given: int, way: int) -> None:
        effects = effects_of(operation)
        if effects & Effects.RETURNS:
            found = self._results.get(self._now, 0)
            self._results[self._now] = found | given | way
        if effects & (Effects.RETURNS | Effects.LEAVES_LOOP):
            # Whether what follows is run.
            self._ways[self._now] = self._ways.get(self._now, 0) | way
        self._test(_decisive(operation))

    def _call(self, operation: Operation, way: int) -> None:
        for symbol in callees(operation):
            parameters = self._program.functions[symbol].parameters
            self._ways[symbol] = self._ways.get(symbol, 0) | way
            for parameter, argument in zip(parameters, operation.operands, strict=True):
                self._add(parameter, self._sets.get(argument, 0))
                if argument in self._unknown:
                    self._unknown.add(parameter)
            for result in operation.results:
                self._add(result, self._results.get(symbol, 0))
        self._unknown.update(operation.results)

    def _with_regions(self, operation: Operation, way: int) -> None:
        """What is carried on, and what comes out, follows from what is passed in its place, and
        from all that decides where control goes."""
        decisive, nested = _decisive(operation), [*_nested(operation)]
        self._test(decisive)
        is_loop = operation.kind in ("for", "while")
        deciding = [value for each in nested if is_loop for value in _decisive(each)]
        decided = [*decisive, *deciding]
        by_kind: dict[str, list[Sequence[Value]]] = {}
        for each in nested:
            if _is_end(each):
                by_kind.setdefault(each.kind, []).append(each.operands)
        ends = [*by_kind.get("yield", []), *by_kind.get("break", [])]
        self._pass_on(ends, [operation.results], decided, is_loop)
        bodies = [region.arguments for region in operation.regions]
        if operation.kind == "for":
            self._pass_on([], [bodies[0][:1]], decisive, True)
            bodies[0] = bodies[0][1:]
        if is_loop:
            first = operation.operands[3:] if operation.kind == "for" else operation.operands
            kept = [operands[1:] for operands in by_kind.get("condition", [])]
            rounds = [first, *by_kind.get("continue", []), *kept]
            self._pass_on(rounds, bodies, decided, True)
        for region in operation.regions:
            self._region(region, way | self._of(decided))

    def _pass_on(
        self,
        given: Sequence[Sequence[Value]],
        taken: Sequence[Sequence[Value]],
        decided: Sequence[Value],
        is_unknown: bool,
    ) -> None:
        """Each place of ``taken`` is one of ``given`` of that place, as ``decided`` says."""
        for place in range(max(map(len, taken), default=0)):
            values = [*decided, *(each[place] for each in given if place < len(each))]
            found = self._of(values)
            for each in taken:
                if place < len(each):
                    self._add(each[place], found)
                    if is_unknown or not self._unknown.isdisjoint(values):
                        self._unknown.add(each[place])


def _decisive(operation: Operation) -> Sequence[Value]:
    """The operands that decide where control goes."""
    if operation.kind == "for":
        return operation.operands[:3]
    return operation.operands[:1] if operation.kind in ("if", "switch", "condition") else ()


def _is_float_arithmetic(operation: Operation) -> bool:
    return operation.kind == "binary" and _is_float(operation.result)


def _is_end(operation: Operation) -> bool:
    kind = kind_of(operation)
    return kind is not None and kind.is_terminator


def _nested(operation: Operation) -> Iterable[Operation]:
    for region in operation.regions:
        for each in region.operations:
            yield each
            yield from _nested(each)


def _places(operation: Operation) -> Sequence[Role]:
    """The roles of memory that it touches: fields as a whole."""
    lvalues = [value for value in operation.operands if isinstance(value.type, LvalueType)]
    roles = [role_of(value) for value in lvalues]
    return [role[:3] if role[:1] == ("field",) else role[:2] for role in roles] or [EVERYTHING]
