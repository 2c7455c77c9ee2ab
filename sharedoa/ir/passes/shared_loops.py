"""Loops whose iterations the threads of a warp may share: they take each other's, so that a warp is
not busy as long as its longest loop while most of its threads wait.

That is possible where iterations know nothing of each other: an iteration may read what it likes,
add to sums, minima and maxima of integers, in which order makes no difference, and store what may
be stored in any order (``independent_stores``). What a loop carries must be such a sum.

    for %first, %last, %one, %zero (%i, %sum) { ... %s = binary %sum, %x <operator = "add">;
                                                continue %s }        gets   <shared = ["add"]>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from ...model.scalars import ScalarType
from ...model.types import ArrayType, ListType
from ..core import (
    Operation,
    Program,
    Region,
    Value,
    behind,
    constant_of,
    live_ins,
    operations_in,
)
from ..operations import kind_of
from ..rewrite import Use, uses_in
from .independent_stores import stored_fields

Combination = Literal["add", "and", "or", "xor", "min", "max"]
_COMMUTATIVE: Mapping[str, Combination] = {"add": "add", "and": "and", "or": "or", "xor": "xor"}
_WIDTHS = (32, 64)


def share_loops(program: Program) -> None:
    """Mark the loops that can be shared, none of which lies in another one of them."""
    for function in program.functions.values():
        uses: dict[Value, list[Use]] = {}
        for loop in _outermost(function.body):
            uses = uses or uses_in(function)
            _look_at(program, loop, uses)


def only_indexed(operation: Operation, captured: Iterable[Value]) -> frozenset[Value]:
    """Arrays among the live-ins of which an iteration reads elements and nothing else: not the
    length, which is fetched from no other thread then."""
    others: set[Value] = set()
    for each in operations_in(operation.regions[0]):
        indexes = each.kind in ("element", "run_element")
        counts = indexes and not each["may_be_negative"]
        others.update(each.operands[1:] if counts else each.operands)
    return frozenset(v for v in captured if isinstance(v.type, ArrayType) and v not in others)


def _look_at(program: Program, loop: Operation, uses: Mapping[Value, list[Use]]) -> None:
    """Mark the loop, or those in it that can be shared if it cannot."""
    combined = _combinations(program, loop, uses)
    if combined is not None:
        loop.attributes["shared"] = combined
        return
    for region in loop.regions:
        for inner in _outermost(region):
            _look_at(program, inner, uses)


def _outermost(region: Region) -> Iterator[Operation]:
    """The ``for`` operations in a region that lie in no other one."""
    for operation in region.operations:
        if operation.kind == "for":
            yield operation
            continue
        for inner in operation.regions:
            yield from _outermost(inner)


def _combinations(
    program: Program, loop: Operation, uses: Mapping[Value, list[Use]]
) -> tuple[Combination, ...] | None:
    """How each value that the loop carries is combined; None if the loop cannot be shared."""
    body = loop.regions[0]
    if not _counts_by_one(loop) or _leaves(body):
        return None
    if any(isinstance(each.type, ListType) for each in live_ins([body])):
        return None  # which other threads cannot reach
    found = []
    ends = list(_ends_of_rounds(body, ["continue"]))
    for number, carried in enumerate(body.arguments[1:]):
        passed = [end.operands[number] for end in ends]
        how = _Reduction(uses).of(carried, [Use(end, number) for end in ends], passed)
        if how is None:
            return None
        found.append(how)
    stored = stored_fields(program, body)
    if stored is None or bool(stored) == bool(found):
        return None  # neither does anything, and what is combined may be what was stored
    return tuple(found)


def _counts_by_one(loop: Operation) -> bool:
    """Whether that is so, and threads may count to ends far apart. Bounds that are chosen by
    ``min`` or ``max`` are those of a few neighbours."""
    start, stop, step = loop.operands[:3]
    otherwise = loop.regions[1]
    is_plain = otherwise.terminator.operands == otherwise.arguments
    if constant_of(step) != 1 or len(otherwise.operations) > 1 or not is_plain:
        return False
    return constant_of(stop) is None and not _is_chosen(start) and not _is_chosen(stop)


def _is_chosen(value: Value) -> bool:
    computed = behind(value, lambda source: source.kind in ("convert", "unary", "binary"))
    return any(v.source is not None and v.source.kind in ("select", "if") for v in computed)


def _leaves(region: Region, inner: bool = False) -> bool:
    """Whether a round of a loop may end the loop, or its function."""
    for operation in region.operations:
        kind = kind_of(operation)
        if kind is None or kind.name == "return" or (kind.name == "break" and not inner):
            return True
        for each in operation.regions:
            is_own = kind.is_loop and each is not operation.regions[-1]
            if _leaves(each, inner or is_own):
                return True
    return False


def _ends_of_rounds(region: Region, kinds: Sequence[str]) -> Iterator[Operation]:
    """The operations of these kinds that end a round of the loop whose body the region is."""
    for operation in region.operations:
        if operation.kind in kinds:
            yield operation
        kind = kind_of(operation)
        for each in operation.regions:
            if kind is None or not kind.is_loop or each is operation.regions[-1]:
                yield from _ends_of_rounds(each, kinds)


class _Way(NamedTuple):
    """A value that ``carried`` must have become."""

    value: Value
    carried: Value


class _Reduction:
    """Follows what a loop carries from the beginning of a round to its end."""

    def __init__(self, uses: Mapping[Value, list[Use]]) -> None:
        self._uses = uses
        self._operators: set[Combination] = set()
        #: What holds a part of the result, and the uses that combine or pass it on.
        self._partial: set[Value] = set()
        self._allowed: set[Use] = set()

    def of(
        self, carried: Value, ends: Sequence[Use], passed: Sequence[Value]
    ) -> Combination | None:
        """How every round combines values into ``carried`` if it does nothing else with it; it
        hands on ``passed`` by ``ends``."""
        type = carried.type
        if not isinstance(type, ScalarType) or not type.is_integer or type.bits not in _WIDTHS:
            return None
        if not self._follow_all(carried, ends, passed) or len(self._operators) != 1:
            return None
        for value in self._partial:
            if any(use not in self._allowed for use in self._uses.get(value, ())):
                return None  # somebody looks at what is no more than a part
        (operator,) = self._operators
        return operator

    def _follow_all(self, carried: Value, ends: Sequence[Use], passed: Sequence[Value]) -> bool:
        self._partial.add(carried)
        self._allowed.update(ends)
        # A list, as chains of values are long.
        pending = [_Way(value, carried) for value in passed]
        # Ways part at every branch, and meet again where it began.
        followed: set[_Way] = set()
        while pending:
            way = pending.pop()
            if way.value is not way.carried and way not in followed:
                followed.add(way)
                further = self._further(way)
                if further is None:
                    return False
                self._partial.add(way.value)
                pending += further
        return True

    def _further(self, way: _Way) -> list[_Way] | None:
        """What must be ``way.carried`` with other values combined into it if ``way.value`` is; None
        if that is not."""
        value, carried = way
        source = value.source
        if source is None:
            return None
        if source.kind == "binary":
            return self._binary(source, carried)
        if source.kind == "select":
            return self._extreme(source, carried)
        if source.kind == "if":
            return self._arms(source, source.results.index(value), carried)
        kind = kind_of(source)
        if kind is not None and kind.is_loop:
            return self._inner_loop(source, source.results.index(value), carried)
        return None

    def _binary(self, source: Operation, carried: Value) -> list[_Way] | None:
        operator = _COMMUTATIVE.get(source["operator"])
        if operator is None:
            return None
        self._operators.add(operator)
        for number, operand in enumerate(source.operands):
            if self._leads_to(operand, carried):
                self._allowed.add(Use(source, number))
                return [_Way(operand, carried)]
        return None

    def _extreme(self, source: Operation, carried: Value) -> list[_Way] | None:
        """``second if second < first else first``, which is what ``min(first, second)`` becomes."""
        test, second, first = source.operands
        compare = test.source
        if compare is None or compare.kind != "compare" or compare.operands != [second, first]:
            return None
        extremes: Mapping[str, Combination] = {"lt": "min", "gt": "max"}
        operator = extremes.get(compare["operator"])
        if operator is None or len(self._uses[test]) > 1:
            return None
        self._operators.add(operator)
        for number, operand in enumerate((second, first)):
            if self._leads_to(operand, carried):
                self._allowed |= {Use(source, 1 + number), Use(compare, number)}
                return [_Way(operand, carried)]
        return None

    def _arms(self, source: Operation, number: int, carried: Value) -> list[_Way]:
        ends = [region.terminator for region in source.regions]
        yields = [Use(end, number) for end in ends if end.kind == "yield"]
        self._allowed.update(yields)
        return [_Way(end.operands[number], carried) for end, _ in yields]

    def _inner_loop(self, source: Operation, number: int, carried: Value) -> list[_Way]:
        """A loop within that goes on with what was combined before it."""
        place = number - len(source.results)
        self._allowed.add(Use(source, len(source.operands) + place))
        found = [_Way(source.operands[place], carried)]
        for region in source.regions:
            ends = list(_ends_of_rounds(region, ["continue", "break"]))
            if region is source.regions[-1]:
                ends = []  # those are of the loop around
            if region.terminator.kind in ("yield", "condition"):
                ends.append(region.terminator)
            self._partial.add(region.arguments[place])
            self._allowed.update(Use(end, len(end.operands) + place) for end in ends)
            found += [_Way(end.operands[place], region.arguments[place]) for end in ends]
        return found

    def _leads_to(self, value: Value, carried: Value) -> bool:
        """Whether ``value`` may be made from ``carried``; a guess, which following it confirms."""
        pending, seen = [value], set[Value]()
        while pending:
            each = pending.pop()
            if each is carried:
                return True
            if each in seen or each.source is None:
                continue
            seen.add(each)
            source = each.source
            if source.kind in ("binary", "select"):
                pending += source.operands
            elif source.kind == "if":
                number = source.results.index(each)
                ends = [region.terminator for region in source.regions]
                pending += [end.operands[number] for end in ends if end.kind == "yield"]
            elif source.kind in ("for", "while"):
                pending.append(source.operands[source.results.index(each) - len(source.results)])
        return False
