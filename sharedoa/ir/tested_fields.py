"""What tests that a thread has passed say of fields.

    if agent.kind == ALIVE:
        agent.action = DIE        # of an agent whose kind is ALIVE, as long as nobody changes it

An object that has passed this test and one that has passed ``agent.kind == CANDIDATE`` are two,
whatever leads to them. Tests are followed through ``and``, ``or``, ``not`` and methods that return
one, and count in the rest of a block where the other way leaves it. Of a virtual call that counts
which all its candidates say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..model.scalars import ScalarType, boolean
from .core import Function, Operation, Value, constant_of, operations_in, unconverted
from .roles import Role, field_role


class Tested(NamedTuple):
    """That a field of an object has a number, or has another one."""

    role: Role
    number: int
    is_equal: bool

    def excludes(self, other: Tested) -> bool:
        """Whether no object can have passed both."""
        if self.role != other.role:
            return False
        if self.number == other.number:
            return self.is_equal != other.is_equal
        return self.is_equal and other.is_equal


NOTHING: frozenset[Tested] = frozenset()
Passed = Mapping[Value, frozenset[Tested]]
"""By object, what it has passed."""
_DEEPEST = 16
"""Tests within tests, and functions that return some."""


class Tests:
    """Of a program. ``candidates``: the functions that a call may run."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        candidates: Callable[[Operation], Iterable[str]],
    ) -> None:
        self._functions, self._candidates = functions, candidates
        #: What answers say: methods that call each other have very many ways through them.
        self._known: dict[tuple[Value, bool], set[tuple[Value, Tested]]] = {}

    def operations(self, function: Function, passed: Passed) -> Iterator[tuple[Operation, Passed]]:
        """The operations of a function in their order, each with what objects have passed that come
        to it; ``passed``: those that its parameters are."""
        pending = [(iter(function.body.operations), passed)]
        while pending:
            operations, passed = pending.pop()
            for operation in operations:
                yield operation, passed
                if operation.kind == "if":
                    arms = [self._within(operation, answer, passed) for answer in (True, False)]
                    left = [region.terminator.kind != "yield" for region in operation.regions]
                    if left[0] != left[1]:
                        passed = arms[left[0]]
                    pending.append((operations, passed))
                    regions = zip(operation.regions, arms, strict=True)
                    pending += reversed([(iter(r.operations), arm) for r, arm in regions])
                    break
                if operation.regions:
                    pending.append((operations, passed))
                    regions_of = reversed(operation.regions)
                    pending += [(iter(region.operations), passed) for region in regions_of]
                    break

    def _within(self, choice: Operation, answer: bool, passed: Passed) -> Passed:
        found = dict(passed)
        for object, tested in self._implied(choice.operands[0], answer, _DEEPEST):
            found[object] = found.get(object, NOTHING) | {tested}
        return found

    def _implied(self, test: Value, answer: bool, depth: int) -> set[tuple[Value, Tested]]:
        """What it says of which objects that a test has this answer."""
        if not depth:
            return set()
        if (test, answer) not in self._known:
            self._known[test, answer] = set()  # as long as nobody knows: it may call itself
            self._known[test, answer] = self._implied_anew(test, answer, depth)
        return self._known[test, answer]

    def _implied_anew(self, test: Value, answer: bool, depth: int) -> set[tuple[Value, Tested]]:
        made = test.source
        if made is None:
            return set()
        if made.kind == "unary" and made["operator"] == "not":
            return self._implied(made.operands[0], not answer, depth - 1)
        if made.kind == "if":
            return self._of_choice(made, made.results.index(test), answer, depth - 1)
        if made.kind in ("call", "call_virtual"):
            return self._of_call(made, answer, depth - 1)
        if made.kind == "compare" and made["operator"] in ("eq", "ne"):
            is_equal = (made["operator"] == "eq") == answer
            for value, other in (made.operands, reversed(made.operands)):
                number = constant_of(other)
                if number is not None:
                    return _of_field(value, number, is_equal)
            return set()
        return _of_field(test, 1, answer)

    def _of_choice(
        self, choice: Operation, number: int, answer: bool, depth: int
    ) -> set[tuple[Value, Tested]]:
        """Of ``a and b``, which is ``b if a else False``, and the like."""
        ways = []
        for way, region in zip((True, False), choice.regions, strict=True):
            end = region.terminator
            known = constant_of(end.operands[number]) if end.kind == "yield" else not answer
            if known is None or bool(known) == answer:
                ways.append((way, region))
        if len(ways) != 1:
            return set()
        ((way, region),) = ways
        found = self._implied(choice.operands[0], way, depth)
        return found | self._implied(region.terminator.operands[number], answer, depth)

    def _of_call(self, call: Operation, answer: bool, depth: int) -> set[tuple[Value, Tested]]:
        every = []
        for symbol in self._candidates(call):
            function = self._functions[symbol]
            returned = _returned(function)
            implied = set() if returned is None else self._implied(returned, answer, depth)
            given = dict(zip(function.parameters, call.operands, strict=True))
            every.append({(unconverted(given[o]), t) for o, t in implied if o in given})
        return set.intersection(*every) if every else set()


def _returned(function: Function) -> Value | None:
    """What a function returns that does so at its end alone."""
    ends = [operation for operation in operations_in(function) if operation.kind == "return"]
    is_one = len(ends) == 1 and ends[0] is function.body.terminator and len(ends[0].operands) == 1
    return ends[0].operands[0] if is_one else None


def _of_field(value: Value, number: float, is_equal: bool) -> set[tuple[Value, Tested]]:
    """That a value has a number, or has not, if it was loaded from a field; not of floats, of which
    two zeros are equal, and NaN is not."""
    made, type = value.source, value.type
    if made is None or made.kind != "load":
        return set()
    field = made.operands[0].source
    if field is None or field.kind != "field" or not isinstance(type, ScalarType) or type.is_float:
        return set()
    if type == boolean and not is_equal:
        number, is_equal = 1 - number, True
    return {(unconverted(field.operands[0]), Tested(field_role(field), int(number), is_equal))}
