"""Fields of an object that a launch is given are loaded before a loop, not in each round.

``land.at(x, y)`` asks the land how wide it is, how high, and where its cells are. All that stays as
it is while a launch lasts, but it stands behind tests, and neither LLVM nor ptxas loads what may be
none. An argument of a launch may be asked before the loop unless it is None, and launches that are
given that have code of their own (``Facts.is_object``), whose threads may ask it nothing.

    for ... (%x) {
      if %t {
        %w = load (field %land <name = "width">)  ->  %w = load (field %land <name = "width">)
        ...                                           for ... (%x) { if %t { ...

Functions that are small stand where loops call them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...model.types import ArrayType, ReferenceType, ScalarType
from ..core import (
    Function,
    Lane,
    Operation,
    Program,
    Region,
    Remark,
    Value,
    element_of,
    operations_in,
    rounds_of,
    unconverted,
)
from ..field_loads import field_of
from ..job import Facts, Job
from ..operations import kind_of
from ..rewrite import make, replace_uses
from ..roles import Role, may_meet, role_of, stored_roles
from ..small_functions import put_in_place
from .calls import callees, is_known

Key = tuple[Hashable, ...]
MOST_FIELDS = 6
"""Loaded before one loop: each takes a register or two for as long as that lasts."""
MOST_ROUNDS = 8
"""Of loops that are written out."""
_TEXT = "loaded once before this loop: "


def hoist_fields(program: Program, job: Job) -> None:
    """Load what rounds ask of the launch's objects before loops."""
    if not all(map(is_known, operations_in(program))):
        return
    given, stored = given_by_launch(program, ReferenceType), stored_roles(program)
    for symbol, function in program.functions.items():
        if given.get(symbol) and not _has_lanes(function):
            _Hoisting(program, job.facts, function, given[symbol], stored).region(function.body)


def _has_lanes(function: Function) -> bool:
    return any(isinstance(fact, Lane) for fact in function.known.values())


Given = dict[Value, set[int]]
"""Parameters of a function that are references, or arrays, which the launch was given, by all
calls, and which of the kernel's parameters each may be."""


def given_by_launch(
    program: Program, kind: type[ReferenceType] | type[ArrayType]
) -> Mapping[str, Given]:
    """Of each function, by symbol. Every one counts as that until a call shows otherwise."""
    found: dict[str, Given] = {
        symbol: {v: set() for v in function.parameters if isinstance(v.type, kind)}
        for symbol, function in program.functions.items()
    }
    for number, parameter in enumerate(program.kernel.parameters):
        if parameter in found[program.kernel.symbol]:
            found[program.kernel.symbol][parameter].add(number)
    while True:
        has_changed = False
        for symbol, function in program.functions.items():
            for operation in operations_in(function):
                for callee in callees(operation):
                    parameters = program.functions[callee].parameters
                    for parameter, operand in zip(parameters, operation.operands, strict=True):
                        known = found[callee].get(parameter)
                        if known is None:
                            continue
                        numbers = found[symbol].get(unconverted(operand))
                        if numbers is None:
                            del found[callee][parameter]
                            has_changed = True
                        elif not numbers <= known:
                            known |= numbers
                            has_changed = True
        if not has_changed:
            return found


class _Place(NamedTuple):
    """A field of an object, or a part of one; ``chain``: the operations that name it."""

    object: Value
    chain: Sequence[Operation]

    @property
    def key(self) -> Key:
        steps = [each.attributes.get("name") or tuple(each.operands[1:]) for each in self.chain]
        return (self.object, self.chain[0]["owner"], *steps)


class _Hoisting:
    """In one function."""

    def __init__(
        self,
        program: Program,
        facts: Facts,
        function: Function,
        objects: Given,
        stored: frozenset[Role],
    ) -> None:
        self._program, self._facts, self._function = program, facts, function
        self._objects, self._stored = objects, stored

    def region(self, region: Region) -> None:
        """Look for loops that no others are around."""
        for operation in [*region.operations]:
            if _is_loop(operation):
                if "shared" not in operation.attributes:
                    self._loop(region, operation)
                continue
            for inner in operation.regions:
                self.region(inner)

    def _loop(self, region: Region, loop: Operation) -> None:
        for inner in loop.regions:
            put_in_place(self._program, self._function, inner, self._is_given)
        loads = [*self._loads(loop)]
        keys = dict.fromkeys(place.key for _, _, place in loads)
        if not 0 < len(keys) <= MOST_FIELDS:
            return
        made: list[Operation] = []
        known: dict[Key, Value] = {}
        for inner, load, place in loads:
            if place.key not in known:
                known[place.key] = self._loaded(place, load, made)
            inner.operations.remove(load)
            replace_uses(self._function, {load.result: known[place.key]})
        at = region.operations.index(loop)
        region.operations[at:at] = made
        self._write_out(loop)
        fields = (f"{place.chain[0]['owner'].name}.{place.chain[0]['name']}" for *_, place in loads)
        self._program.remarks.append(
            Remark(loop.location, _TEXT + ", ".join(dict.fromkeys(fields)))
        )

    def _write_out(self, loop: Operation) -> None:
        """Loops without others in them that are short are written out: what each round is left with
        is little, and LLVM thinks that it does not matter."""
        inside = [each for inner in loop.regions for each in operations_in(inner)]
        for each in [*filter(_is_loop, inside)] or [loop]:
            rounds = rounds_of(each) if each.kind == "for" else None
            is_innermost = not any(map(_is_loop, operations_in(each.regions[0])))
            if rounds and is_innermost and len(rounds[: MOST_ROUNDS + 1]) <= MOST_ROUNDS:
                each.attributes["written_out"] = True

    def _is_given(self, call: Operation) -> bool:
        """Whether it is given such an object."""
        if call.kind != "call" or self._program.functions[call["symbol"]].known:
            return False
        return any(unconverted(operand) in self._objects for operand in call.operands)

    def _loads(self, loop: Operation) -> Iterator[tuple[Region, Operation, _Place]]:
        """What rounds load that is the same in all, and the regions it stands in."""
        pending = [*loop.regions]
        while pending:
            region = pending.pop()
            for operation in region.operations:
                if operation.kind == "load":
                    place = self._place(operation.operands[0])
                    if place is not None:
                        yield region, operation, place
                elif "shared" not in operation.attributes:
                    pending += operation.regions

    def _place(self, lvalue: Value) -> _Place | None:
        if not isinstance(element_of(lvalue), ScalarType | ReferenceType | ArrayType):
            return None
        chain = field_of(lvalue)
        if chain is None:
            return None
        object = unconverted(chain[0].operands[0])
        if object not in self._objects or not isinstance(object.type, ReferenceType):
            return None
        role = role_of(lvalue)
        if chain[0]["owner"] not in object.type.cls.ancestry():
            return None
        if any(may_meet(role, each) for each in self._stored):
            return None
        if not all(map(self._facts.is_object, sorted(self._objects[object]))):
            return None
        return _Place(object, chain)

    def _loaded(self, place: _Place, load: Operation, made: list[Operation]) -> Value:
        """The value, by operations that are added to ``made``."""
        at, base, field = load.location, place.object, place.chain[0]

        def add(kind: str, operands: Sequence[Value], like: Value, **attributes: Any) -> Value:
            made.append(make(kind, operands, at, [like.type], **attributes))
            return made[-1].result

        if field.operands[0].type != base.type:
            base = add("convert", [base], field.operands[0])
        for each in place.chain:
            others = []
            for index in each.operands[1:]:
                assert index.source is not None
                others.append(add("constant", [], index, **index.source.attributes))
            base = add(each.kind, [base, *others], each.result, **each.attributes)
        return add("load", [base], load.result)


def _is_loop(operation: Operation) -> bool:
    kind = kind_of(operation)
    return kind is not None and kind.is_loop
