"""A loop that asks all objects of an array of the launch, of several classes, runs four rounds at
once.

Compilers copy loops without branches. A virtual call is branches, so each round waited for its
reference, and counted, before it looked what the object is. Threads of a launch go through such an
array together, as all have as many rounds. Four references are loaded first, all of which are
elements; then come the four rounds, and behind that loop those that are left.

    for 0, (length %a), 1, %s (%i, %s) {            %w = ... whole fours
      %o = load (element %a, %i)                    %s = for 0, %w, 4, %s (%i, %s) {
      %t = call_virtual %o, %s               ->       %o, %p, %q, %r = load ...
      continue %t }                                   %t = call_virtual %o, %s; ...; continue %x }
                                                    for %w, (length %a), 1, %s (%i, %s) { ... }
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ...model.scalars import boolean
from ...model.types import ArrayType
from ..core import (
    Function,
    Lane,
    Operation,
    Program,
    Region,
    Remark,
    Value,
    constant_of,
    operations_in,
)
from ..job import Job
from ..operations import PURE, Effects, cost_of, effects_of, kind_of
from ..rewrite import copy_operations, make
from .calls import callees, is_known
from .hoist_fields import given_by_launch

ROUNDS = 4
_MOST = 256
"""Instructions of a round, with those of what it calls."""
_LOOKING = Effects.READS | Effects.CALLS
#: Of what a round does, and what it calls.
_WITHIN = _LOOKING | Effects.RETURNS
_TEXT = "four rounds of this loop are run at once"


def take_several_rounds(program: Program, job: Job) -> None:
    """Have such loops run four rounds at once."""
    if not all(map(is_known, operations_in(program))):
        return
    given = given_by_launch(program, ArrayType)
    looking = _Looking(program)
    for symbol, function in program.functions.items():
        arrays = given.get(symbol, {})
        if arrays and not any(isinstance(fact, Lane) for fact in function.known.values()):
            for region in list(_regions(function)):
                _in_region(program, looking, region, arrays)


def _regions(function: Function) -> Iterator[Region]:
    yield function.body
    for operation in operations_in(function):
        yield from operation.regions


def _in_region(
    program: Program, looking: _Looking, region: Region, arrays: Collection[Value]
) -> None:
    made: list[Operation] = []
    for operation in region.operations:
        if operation.kind == "for" and _is_such_a_loop(operation, arrays, looking):
            made += _fours(operation)
            program.remarks.append(Remark(operation.location, _TEXT))
        made.append(operation)
    region.operations[:] = made


def _is_such_a_loop(loop: Operation, arrays: Collection[Value], looking: _Looking) -> bool:
    first, last, step = loop.operands[:3]
    length = last.source
    if constant_of(first) != 0 or constant_of(step) != 1 or length is None:
        return False
    if length.kind != "length" or length.operands[0] not in arrays or loop.attributes:
        return False
    body = loop.regions[0]
    return (
        body.terminator.kind == "continue"
        and any(_is_element(o, length.operands[0], body.arguments[0]) for o in body.operations)
        and any(each.kind == "call_virtual" and len(callees(each)) > 1 for each in body.operations)
        and looking.may_be_copied(body)
    )


def _is_element(operation: Operation, array: Value, counter: Value) -> bool:
    """Whether it loads the array's element of the round."""
    place = operation.operands[0].source if operation.kind == "load" else None
    return place is not None and place.kind == "element" and place.operands == [array, counter]


def _fours(loop: Operation) -> list[Operation]:
    """A loop of whole fours in front of ``loop``, which goes on from there."""
    at, (first, last, _), carried = loop.location, loop.operands[:3], loop.operands[3:]
    assert last.source is not None
    body, array = loop.regions[0], last.source.operands[0]
    before: list[Operation] = []

    def add(operations: list[Operation], kind: str, *operands: Value, **attributes: Any) -> Value:
        made = make(kind, operands, at, [boolean if kind == "compare" else last.type], **attributes)
        operations.append(made)
        return made.result

    mask = add(before, "constant", value=-ROUNDS)
    whole = add(before, "binary", last, mask, operator="and")
    step = add(before, "constant", value=ROUNDS)

    counter = Value(body.arguments[0].type, body.arguments[0].name)
    now = [Value(each.type, each.name) for each in body.arguments[1:]]
    several = Region([counter, *now])
    rounds: list[dict[Value, Value]] = []
    for number in range(ROUNDS):
        own = counter
        if number:
            one = add(several.operations, "constant", value=number)
            own = add(several.operations, "binary", counter, one, operator="add")
        rounds.append({body.arguments[0]: own})
    *operations, end = body.operations
    loads = [each for each in operations if _is_element(each, array, body.arguments[0])][:1]
    places = [load.operands[0].source for load in loads]
    ahead = [each for each in operations if each in loads or each in places]
    for values in rounds:
        several.operations += copy_operations(ahead, values)
    rest = [each for each in operations if each not in ahead]
    for values in rounds:
        values.update(zip(body.arguments[1:], now, strict=True))
        several.operations += copy_operations(rest, values)
        now = [values.get(each, each) for each in end.operands]
    several.operations.append(make("continue", now, at))
    passed = [Value(each.type) for each in carried]
    otherwise = Region(passed, [make("yield", passed, at)])
    types = [each.type for each in carried]
    fours = make("for", [first, whole, step, *carried], at, types, [several, otherwise])
    loop.operands = [whole, last, loop.operands[2], *fours.results]
    return [*before, fours]


class _Looking:
    """Whether parts of a program only compute and load, and are short."""

    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._known: dict[str, float | None] = {}

    def may_be_copied(self, body: Region) -> bool:
        """Whether four rounds may stand where one does: none goes on elsewhere than behind it, but
        for those that return."""
        inside = [*operations_in(body)]
        ends = [each for each in inside if effects_of(each) & Effects.LEAVES_LOOP]
        size = self._size(inside)
        return ends == [body.terminator] and size is not None and size <= _MOST

    def _size(self, operations: list[Operation]) -> float | None:
        """Instructions; None for what does more, or loops."""
        size = 0.0
        for operation in operations:
            kind = kind_of(operation)
            assert kind is not None
            if kind.is_loop or kind.effects & ~(_WITHIN | Effects.LEAVES_LOOP) != PURE:
                return None
            size += cost_of(operation)
            for symbol in callees(operation):
                own = self._function(symbol)
                if own is None:
                    return None
                size += own
        return size

    def _function(self, symbol: str) -> float | None:
        if symbol not in self._known:
            self._known[symbol] = None  # one that calls itself
            self._known[symbol] = self._size([*operations_in(self._functions[symbol])])
        return self._known[symbol]
