"""A loop that threads share and that goes along one list after another becomes two.

``vertex.edge(k)`` gives the edges into a vertex, then those out of it. In a shared loop each round
would fetch where both lists are from the thread whose round it is. Which rounds are over one of
them is known before the loop.

    for 0, %n, 1 (%k) {                          for 0, min(%n, %b), 1 (%k) { X }
      if (compare %k, %b <"lt">) {X} {Y} }  ->   for 0, %n - min(%n, %b), 1 (%j) { Y }

There ``k - b`` is ``j``, unless b is negative: then a thread runs the loop as it was written, by
itself. Small functions that are given the counter stand where they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...model.scalars import boolean, i32, weak_int
from ..before_loop import BeforeLoop, asked_before, count_up, is_counter, shared_loops_of
from ..core import (
    Function,
    Operation,
    Program,
    Region,
    Remark,
    Type,
    Value,
    constant_of,
    operations_in,
)
from ..field_loads import FieldLoads
from ..rewrite import copy_operations, make, replace_uses
from ..roles import stored_roles
from ..small_functions import put_in_place
from .calls import callees, is_known
from .unused import remove_unused_in

_MOST_OPERATIONS = 60
"""Of a round, which is written twice."""
_TEXT = "this loop goes along one list after another: threads share a loop for each"
_TYPES = i32, weak_int
_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def split_lists(program: Program) -> None:
    """Split shared loops whose first rounds go along another list than the others."""
    if not all(map(is_known, operations_in(program))):
        return
    loads, stored = FieldLoads(program), stored_roles(program)
    for function in program.functions.values():
        has_split = False
        for loop, before in [*shared_loops_of(function)]:
            if constant_of(loop.operands[0]) != 0 or not _has_choice(program, loop):
                continue
            draft = _Draft(program, function, loop)
            choice = draft.choice()
            if choice is None:
                continue
            once = BeforeLoop(stored, draft.loop, asked_before(loads, before))
            known = once.operations(choice.bound)
            if known is None:
                continue
            region, place = before[-1].region, before[-1].region.operations.index(loop)
            made = _Split(draft, choice, known)
            region.operations[place : place + 1] = made.operations
            replace_uses(function, dict(zip(loop.results, made.results, strict=True)))
            program.remarks.append(Remark(loop.location, _TEXT))
            has_split = True
        if has_split:
            remove_unused_in(function.body)


def _has_choice(program: Program, loop: Operation) -> bool:
    """Whether a round, or a function that it calls, may test something: a first look."""
    operations = loop.regions[0].operations
    called = [program.functions[symbol] for each in operations for symbol in callees(each)]
    every = [*operations, *(each for function in called for each in function.body.operations)]
    return any(each.kind == "if" for each in every)


class _Choice(NamedTuple):
    """An ``if`` of a round by whether the counter is below ``bound``: its place in the body, and
    which of its arms those rounds take."""

    place: int
    bound: Value
    below: int


class _Draft:
    """A copy of a loop, in which small functions stand where they are given the counter."""

    def __init__(self, program: Program, function: Function, loop: Operation) -> None:
        self.written = loop
        (self.loop,) = copy_operations([loop], {})
        body = self.loop.regions[0]
        put_in_place(program, function, body, lambda call: any(map(self._counts, call.operands)))

    def _counts(self, value: Value) -> bool:
        return is_counter(value, self.loop)

    def choice(self) -> _Choice | None:
        """The first one between two lists, if there is one."""
        body = self.loop.regions[0]
        if sum(1 for _ in operations_in(body)) > _MOST_OPERATIONS:
            return None
        for place, operation in enumerate(body.operations):
            if operation.kind == "if" and all(map(_goes_along_a_list, operation.regions)):
                found = self._choice(place, operation.operands[0].source)
                if found is not None:
                    return found
        return None

    def _choice(self, place: int, test: Operation | None) -> _Choice | None:
        if test is None or test.kind != "compare":
            return None
        operator, (one, other) = test["operator"], test.operands
        if self._counts(other):
            operator, one, other = _TURNED.get(operator), other, one
        is_bound = self._counts(one) and one.type == other.type and other.type in _TYPES
        if operator not in ("lt", "ge") or not is_bound:
            return None
        return _Choice(place, other, int(operator == "ge"))


def _goes_along_a_list(arm: Region) -> bool:
    is_whole = arm.terminator.kind == "yield"
    return is_whole and any(each.kind == "element" for each in operations_in(arm))


class _Split:
    """The loops that stand in the place of one."""

    def __init__(self, draft: _Draft, choice: _Choice, known: Sequence[Operation]) -> None:
        self._draft, self._choice, self._at = draft, choice, draft.written.location
        values: dict[Value, Value] = {}
        self.operations = copy_operations(known, values)
        bound = values.get(choice.bound, choice.bound)
        self._type = bound.type
        _, stop, _, *first = draft.written.operands
        none = self._add("constant", [], value=0)
        if stop.type != self._type:
            stop = self._add("convert", [stop])
        is_odd = self._compare(bound, none)
        given = self._alone(is_odd, first)
        below = self._add("select", [self._compare(bound, stop), bound, stop])
        left = self._add("binary", [stop, below], operator="sub")
        loop = self._loop(none, below, given)
        self._take(loop, choice.below)
        count_up(loop)
        loop = self._loop(none, self._add("select", [is_odd, none, left]), loop.results)
        self._count_from(loop, below)
        count_up(loop)
        self.results = loop.results

    def _add(self, kind: str, operands: Sequence[Value], **attributes: Any) -> Value:
        made = make(kind, operands, self._at, [self._type], **attributes)
        self.operations.append(made)
        return made.result

    def _compare(self, one: Value, other: Value) -> Value:
        made = make("compare", [one, other], self._at, [boolean], operator="lt")
        self.operations.append(made)
        return made.result

    def _alone(self, is_odd: Value, given: Sequence[Value]) -> Sequence[Value]:
        """What the loops begin with: what the loop as it was written gives, if that is run."""
        (loop,) = copy_operations([self._draft.written], {})
        del loop.attributes["shared"]
        alone = Region([], [loop, make("yield", loop.results, self._at)])
        otherwise = Region([], [make("yield", given, self._at)])
        types = [each.type for each in given]
        self.operations.append(make("if", [is_odd], self._at, types, [alone, otherwise]))
        return self.operations[-1].results

    def _loop(self, start: Value, stop: Value, given: Sequence[Value]) -> Operation:
        (loop,) = copy_operations([self._draft.loop], {})
        loop.operands = [start, stop, loop.operands[2], *given]
        self.operations.append(loop)
        return loop

    def _take(self, loop: Operation, number: int) -> None:
        """Run one arm of the choice alone."""
        body, place = loop.regions[0], self._choice.place
        choice = body.operations[place]
        *inside, end = choice.regions[number].operations
        body.operations[place : place + 1] = inside
        replace_uses(body, dict(zip(choice.results, end.operands, strict=True)))

    def _count_from(self, loop: Operation, first: Value) -> None:
        """Have the loop's first round, which has number 0, be the round ``first`` of all."""
        body = loop.regions[0]
        counter = body.arguments[0]
        made: list[Operation] = []

        def converted(value: Value, type: Type) -> Value:
            if value.type == type:
                return value
            made.append(make("convert", [value], self._at, [type]))
            return made[-1].result

        number = Value(counter.type, counter.name)
        test = body.operations[self._choice.place].operands[0].source
        assert test is not None
        (bound,) = (each for each in test.operands if not is_counter(each, loop))
        beyond = {
            each.result: converted(number, self._type)
            for each in operations_in(body)
            if each.kind == "binary"
            and each["operator"] == "sub"
            and each.operands[1] is bound
            and is_counter(each.operands[0], loop)
            and each.result.type == self._type
        }
        operands = [number, converted(first, counter.type)]
        made.append(make("binary", operands, self._at, [counter.type], operator="add"))
        replace_uses(body, {**beyond, counter: made[-1].result})
        body.arguments[0] = number
        self._take(loop, 1 - self._choice.below)
        body.operations[:0] = made
