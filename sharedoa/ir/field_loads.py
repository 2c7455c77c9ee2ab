"""Which scalars of an object are loaded through a value: through what it becomes in other regions
and rounds, and in the functions that it is passed to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..location import Location
from ..model.classes import ClassType
from ..model.scalars import ScalarType
from ..model.types import InlineType, ReferenceType
from .core import (
    Function,
    Lane,
    Operation,
    Program,
    Region,
    Value,
    constant_of,
    element_of,
    root_of,
    unconverted,
)
from .operations import Effects, effects_of
from .passes.calls import callees
from .rewrite import Use, make, uses_in

MOST_ELEMENTS = 4
"""Of an inline array, all of which may be meant by an index that is not known."""
_PARTS = ("member", "inline_element")


class Place(NamedTuple):
    """A scalar or reference of objects of ``owner``: its field, then the members, and indices, that
    lead to it. ``lvalue`` is one of those that name it, or another element of the same array; then
    it is not known which one is meant (``is_known``)."""

    owner: ClassType
    steps: tuple[str | int, ...]
    lvalue: Value
    is_known: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self[:2] == other[:2]

    def __hash__(self) -> int:
        return hash(self[:2])

    def load(self, object: Value, at: Location) -> list[Operation]:
        """Operations that load it of an object, the last one the load."""
        made: list[Operation] = []
        base = object
        for step, each in zip(self.steps, reversed(_chain(self.lvalue)), strict=True):
            operands = [base]
            if each.kind == "inline_element":
                made.append(make("constant", [], at, [each.operands[1].type], value=step))
                operands.append(made[-1].result)
            made.append(make(each.kind, operands, at, [each.result.type], **each.attributes))
            base = made[-1].result
        made.append(make("load", [base], at, [element_of(base)]))
        return made


def _chain(lvalue: Value) -> list[Operation]:
    """What names an lvalue, from its last part to the field or element."""
    found: list[Operation] = []
    source = lvalue.source
    while source is not None:
        found.append(source)
        source = source.operands[0].source if source.kind in _PARTS else None
    return found


def field_of(lvalue: Value) -> Sequence[Operation] | None:
    """What names an lvalue, from the field of an object on, if it is one or a part of one whose
    indices are known, and inside."""
    chain = _chain(lvalue)[::-1]
    if not chain or chain[0].kind != "field":
        return None
    for part in chain[1:]:
        if part.kind == "inline_element":
            number, type = constant_of(part.operands[1]), element_of(part.operands[0])
            assert isinstance(type, InlineType)
            if number is None or not 0 <= number < type.shape[0]:
                return None
    return chain


def places_of(lvalue: Value) -> tuple[Value, list[Place]] | None:
    """The object, and which of its scalars may lie at an lvalue; None if it is none of one, or one
    of too many."""
    if not isinstance(element_of(lvalue), ScalarType | ReferenceType):
        return None
    chain = _chain(lvalue)
    if not chain or chain[-1].kind != "field":
        return None
    *parts, root = chain
    ways: list[tuple[str | int, ...]] = [(root["name"],)]
    for part in reversed(parts):
        steps: Sequence[str | int]
        if part.kind == "member":
            steps = [part["name"]]
        else:
            index, type = constant_of(part.operands[1]), element_of(part.operands[0])
            assert isinstance(type, InlineType)
            length = type.shape[0]
            if index is not None and 0 <= index < length:
                steps = [int(index)]
            elif index is None and length <= MOST_ELEMENTS:
                steps = range(length)
            else:
                return None
        ways = [(*way, step) for way in ways for step in steps]
    owner, is_known = root["owner"], len(ways) == 1
    return root.operands[0], [Place(owner, way, lvalue, is_known) for way in ways]


class Found(NamedTuple):
    """A load, or a call of a function that loads, through ``value``."""

    operation: Operation
    places: Sequence[Place]
    value: Value


class FieldLoads:
    """Of a program that does not change meanwhile, but for loads that come to it."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._functions: dict[str, _InFunction] = {}
        self._through: dict[tuple[str, int], Sequence[Place]] = {}
        self._first: dict[tuple[str, int], Sequence[Place] | None] = {}

    def through(self, symbol: str, number: int) -> Sequence[Place]:
        """All that a function may load through a parameter, each once."""
        key = symbol, number
        if key not in self._through:
            self._through[key] = ()  # of one that calls itself, what the others load
            function = self._program.functions[symbol]
            if not isinstance(function.known.get(number), Lane):
                found = self.found(function, function.parameters[number])
                every = (place for each in found for place in each.places)
                self._through[key] = tuple(dict.fromkeys(every))
        return self._through[key]

    def first(self, symbol: str, number: int) -> Sequence[Place] | None:
        """What a function loads through a parameter in every call, before anything else but
        computing, loads and stores; None if nothing."""
        key = symbol, number
        if key not in self._first:
            self._first[key] = None
            function = self._program.functions[symbol]
            if not isinstance(function.known.get(number), Lane):
                operations = _straight(function.body.operations)
                self._first[key] = self._of_all(operations, function.parameters[number])
        return self._first[key]

    def certain(self, operation: Operation, value: Value) -> Sequence[Place] | None:
        """What an operation loads through a value whenever it is run, as far as that is known; None
        if nothing."""
        if operation.kind == "load":
            root = root_of(operation.operands[0])
            if root is None or root.kind != "field" or unconverted(root.operands[0]) is not value:
                return None
            known = places_of(operation.operands[0])
            return [] if known is None else known[1]
        symbols = callees(operation)
        if len(symbols) != 1:
            return None
        numbers = [
            n for n, operand in enumerate(operation.operands) if unconverted(operand) is value
        ]
        found = [places for n in numbers if (places := self.first(symbols[0], n)) is not None]
        return [place for places in found for place in places] if found else None

    def first_in(self, region: Region, value: Value) -> Operation | None:
        """The first operation of a region that loads through a value."""
        certain = (o for o in region.operations if self.certain(o, value) is not None)
        return next(certain, None)

    def _of_all(self, operations: Iterable[Operation], value: Value) -> Sequence[Place] | None:
        every = (self.certain(operation, value) for operation in operations)
        found = [places for places in every if places is not None]
        return [place for places in found for place in places] if found else None

    def found(self, function: Function, value: Value) -> Iterator[Found]:
        """All loads through a value of a function, and calls that load."""
        inside = self._functions.get(function.symbol)
        if inside is None:
            inside = self._functions[function.symbol] = _InFunction(function)
        pending, seen = [value], {value}
        while pending:
            each = pending.pop()
            for load in inside.loads.get(each, ()):
                known = places_of(load.operands[0])
                assert known is not None
                yield Found(load, known[1], each)
            for call, number in inside.uses.get(each, ()):
                places = [p for symbol in callees(call) for p in self.through(symbol, number)]
                if places:
                    yield Found(call, list(dict.fromkeys(places)), each)
            for next in inside.flows.get(each, ()):
                if next not in seen:
                    seen.add(next)
                    pending.append(next)


_PLAIN = Effects.READS | Effects.WRITES | Effects.CALLS | Effects.ASKS_THREAD


def _straight(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Those that are run one after another in any case."""
    for operation in operations:
        if operation.regions or effects_of(operation) & ~_PLAIN:
            return
        yield operation


class _InFunction:
    """Where values of a function go. ``flows``: what they are called elsewhere; ``loads``: those of
    their fields."""

    def __init__(self, function: Function) -> None:
        self.uses: dict[Value, list[Use]] = uses_in(function)
        self.flows: dict[Value, list[Value]] = {}
        self.loads: dict[Value, list[Operation]] = {}
        self._region(function.body, None, [])

    def _region(self, region: Region, holder: Operation | None, loops: list[Operation]) -> None:
        for operation in region.operations:
            self._operation(operation, holder, loops)
            for inner in operation.regions:
                is_round = operation.kind in ("for", "while") and inner is not operation.regions[-1]
                self._region(inner, operation, [*loops, operation] if is_round else loops)

    def _operation(
        self, operation: Operation, holder: Operation | None, loops: list[Operation]
    ) -> None:
        kind, operands = operation.kind, operation.operands
        if kind == "load":
            found = places_of(operands[0])
            if found is not None:
                self.loads.setdefault(found[0], []).append(operation)
        elif kind in ("convert", "opaque", "together"):
            self._flow(operands[:1], operation.results)
        elif kind == "select":
            self._flow(operands[1:2], operation.results)
            self._flow(operands[2:3], operation.results)
        elif kind in ("for", "while"):
            own = 3 if kind == "for" else 0
            for number, inner in enumerate(operation.regions):
                skipped = 1 if kind == "for" and number == 0 else 0
                self._flow(operands[own:], inner.arguments[skipped:])
        elif kind == "yield" and holder is not None:
            self._flow(operands, holder.results)
        elif kind == "break" and loops:
            self._flow(operands, loops[-1].results)
        elif kind == "continue" and loops:
            loop = loops[-1]
            skipped = 1 if loop.kind == "for" else 0
            self._flow(operands, loop.regions[0].arguments[skipped:])
            self._flow(operands, loop.regions[-1].arguments)
        elif kind == "condition" and holder is not None:
            for inner in holder.regions[1:]:
                self._flow(operands[1:], inner.arguments)

    def _flow(self, given: Sequence[Value], become: Sequence[Value]) -> None:
        for value, other in zip(given, become, strict=True):
            if isinstance(value.type, ReferenceType):
                self.flows.setdefault(value, []).append(other)
