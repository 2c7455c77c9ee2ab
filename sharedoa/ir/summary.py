"""What a function does to the world, with all that it calls: which memory it reads, changes and
adds to, through which of its parameters, and what else others could notice.

A summary says what may happen, so a write that is made now and then is a write. Memory is told by
roles (``roles``), objects and arrays by where they come from (``origins``). A function with an
operation that nobody declared does everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from dispatch.dataclass import dataclass

from .core import Function, Lane, LvalueType, Operation, Program, Value, operations_in
from .operations import EVERYTHING as EVERY_EFFECT
from .operations import Effects, kind_of
from .origins import ANYTHING, NOBODY, Origins, Via, origins_in
from .passes.calls import called_by, callees, is_known
from .roles import EVERYTHING, Role, role_of

How = Literal["read", "write", "add", "min", "max"]
"""``add``, ``min`` and ``max`` are atomics (``add`` subtracts, too) whose result nobody looks at:
the order of several of one kind makes no difference, but for how floats are rounded."""

#: What summaries say beside accesses and calls.
NOTICED = (
    Effects.ASKS_THREAD | Effects.LINGERS | Effects.REPORTS | Effects.WAITS | Effects.LIVES
    | Effects.OWNS | Effects.UNKNOWN
)  # fmt: skip
_COMMUTATIVE: Mapping[str, How] = {"add": "add", "sub": "add", "min": "min", "max": "max"}


class Access(NamedTuple):
    """Something that may be done to memory in a role of the object or array ``via``."""

    how: How
    role: Role
    via: Via


@dataclass(frozen=True)
class Summary:
    """``effects`` are those of ``NOTICED``; ``LINGERS`` is also that of functions that call each
    other in a circle. ``returns``: where references in the result come from."""

    accesses: frozenset[Access] = frozenset()
    effects: Effects = Effects.NOTHING
    returns: Origins = NOBODY

    def of(self, *how: How) -> frozenset[Access]:
        """The accesses of these kinds."""
        return frozenset(access for access in self.accesses if access.how in how)


#: Of a function that may do anything.
ANY_EFFECT = Summary(
    frozenset([Access("read", EVERYTHING, ANYTHING), Access("write", EVERYTHING, ANYTHING)]),
    EVERY_EFFECT & NOTICED,
    frozenset([ANYTHING]),
)


def summarize(program: Program) -> dict[str, Summary]:
    """The summary of each function of a program, by symbol."""
    calls = {symbol: {*called_by(function)} for symbol, function in program.functions.items()}
    ordered, circular = _callees_first(calls)
    found = dict.fromkeys(program.functions, Summary())
    reader = _Reader(program, found)
    for symbol in ordered:
        found[symbol] = reader.summary(program.functions[symbol], Effects.NOTHING)
    changed = True
    while changed:
        changed = False
        for symbol in circular:
            new = reader.summary(program.functions[symbol], Effects.LINGERS)
            changed |= new != found[symbol]
            found[symbol] = new
    return found


def _callees_first(calls: Mapping[str, Collection[str]]) -> tuple[list[str], list[str]]:
    """Functions after those that they call; and the rest, which lead into circles of calls."""
    callers: dict[str, list[str]] = {symbol: [] for symbol in calls}
    missing = {symbol: len(called) for symbol, called in calls.items()}
    for symbol, called in calls.items():
        for each in called:
            callers[each].append(symbol)
    ordered = [symbol for symbol, count in missing.items() if not count]
    for symbol in ordered:  # which grows
        for caller in callers[symbol]:
            missing[caller] -= 1
            if not missing[caller]:
                ordered.append(caller)
    done = {*ordered}
    return ordered, [symbol for symbol in calls if symbol not in done]


class _Reader:
    def __init__(self, program: Program, found: Mapping[str, Summary]) -> None:
        self._program, self._found = program, found

    def summary(self, function: Function, effects: Effects) -> Summary:
        """Of one function, by what is found of its callees; it has ``effects`` in any case."""
        operations = [*operations_in(function)]
        if not all(map(is_known, operations)):
            return ANY_EFFECT
        origins = origins_in(function, self._of_call)
        used = {operand for operation in operations for operand in operation.operands}
        accesses: set[Access] = set()
        returns: set[Via] = set()
        for operation in operations:
            kind = kind_of(operation)
            assert kind is not None
            effects |= kind.effects & NOTICED
            if Effects.RETURNS in kind.effects:
                returns.update(*(origins.get(operand, NOBODY) for operand in operation.operands))
            for way in ways_of(operation, used):
                accesses.update(_accesses(way, operation, origins))
            for symbol in callees(operation):
                callee = self._found[symbol]
                effects |= callee.effects
                ways = {access.via for access in callee.accesses}
                seen = {via: self._seen_from(operation, symbol, via, origins) for via in ways}
                for how, role, via in callee.accesses:
                    accesses.update(Access(how, role, each) for each in seen[via])
        return Summary(_widest(accesses), effects, frozenset(returns))

    def _of_call(self, operation: Operation, origins: Mapping[Value, Origins]) -> Origins:
        found: set[Via] = set()
        for symbol in callees(operation):
            for via in self._found[symbol].returns:
                found.update(self._seen_from(operation, symbol, via, origins))
        return frozenset(found)

    def _seen_from(
        self, operation: Operation, symbol: str, via: Via, origins: Mapping[Value, Origins]
    ) -> Iterable[Via]:
        """What a callee's ``via`` is for the function that has the call."""
        if via.parameter is None:
            return [ANYTHING]
        if isinstance(self._program.functions[symbol].known.get(via.parameter), Lane):
            return [ANYTHING]  # another object than the one that is passed
        given = origins.get(operation.operands[via.parameter], NOBODY)
        return given if via.is_own else [each.beyond for each in given]


def ways_of(operation: Operation, used: Collection[Value]) -> list[How]:
    """What an operation does to the memory that it names; ``used``: the values that anybody looks
    at."""
    kind = kind_of(operation)
    assert kind is not None
    if Effects.ATOMIC in kind.effects:
        way = _COMMUTATIVE.get(operation.attributes.get("operator", ""))
        is_used = any(result in used for result in operation.results)
        return ["read", "write"] if way is None or is_used else [way]
    found: list[How] = []
    if Effects.READS in kind.effects and not kind.reads_class:
        found.append("read")
    if Effects.WRITES in kind.effects:
        found.append("write")
    return found


def _accesses(how: How, operation: Operation, origins: Mapping[Value, Origins]) -> Iterator[Access]:
    """To what lies at the operation's lvalues; without any, to all memory."""
    lvalues = [each for each in operation.operands if isinstance(each.type, LvalueType)]
    for lvalue in lvalues:
        for via in origins.get(lvalue, NOBODY):
            yield Access(how, role_of(lvalue), via)
    if not lvalues:
        yield Access(how, EVERYTHING, ANYTHING)


def _widest(accesses: set[Access]) -> frozenset[Access]:
    """Without those through an object where another one goes through all that it may be."""
    return frozenset(
        access
        for access in accesses
        if not any(
            wider != access.via and access._replace(via=wider) in accesses
            for wider in (access.via.beyond, ANYTHING)
        )
    )
