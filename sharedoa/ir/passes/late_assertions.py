"""Assertions are looked at when what follows them is under way.

Whether an assertion holds is mostly asked of what was just loaded, and a thread that has failed
reports it and goes on. On a GPU a branch to the report waits for memory, and what follows waits
behind it, though it needs nothing of the answer. So an assertion comes behind what follows it in
its region. Rounds of a loop only note the number of the first one that failed, which is reported
behind the loop; so LLVM may write several rounds out, and their loads are under way together.

    for ... (%p) {                                %f = for ... 0 (%p, %g) {
      %o = load (field %p <name = "owner">)         %o = load (field %p <name = "owner">)
      assert (compare %o, %null)             ->     store %me, %p.owner
      store %me, %p.owner                           %t = compare %o, %null
      continue }                                    continue (select %t, %g, (%g == 0 ? 1 : %g)) }
                                                  assert (compare %f, 1 <operator = "ne">)

Functions with assertions that are small stand where they are called. The first failure of a thread
stays its first one. An assertion stays before what reports, prints, waits for other threads, makes
or ends objects, may go on for ever, or ends the region.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.scalars import boolean, i32
from ..core import Lane, Operation, Program, Region, Remark, Type, Value, operations_in
from ..operations import Effects, effects_of
from ..rewrite import make
from ..small_functions import put_in_place
from .calls import Inside, callees, is_known
from .shared_loops import ends_of_rounds

_ENDS = Effects.RETURNS | Effects.LEAVES_LOOP
_STOPS = (
    Effects.LINGERS | Effects.REPORTS | Effects.RAISES | Effects.WAITS | Effects.LIVES
    | Effects.OWNS | Effects.UNKNOWN
)  # fmt: skip
_TEXT = "assertions in this loop are reported behind it"


def delay_assertions(program: Program) -> None:
    """Have assertions behind what follows them."""
    asserting = {
        symbol
        for symbol, function in program.functions.items()
        if any(map(_is_assertion, operations_in(function)))
    }
    if not asserting or not all(map(is_known, operations_in(program))):
        return
    stops = Inside(program, lambda operation: bool(effects_of(operation) & _STOPS))
    for function in program.functions.values():
        if not any(isinstance(fact, Lane) for fact in function.known.values()):
            put_in_place(
                program, function, function.body, lambda call: asserting.issuperset(callees(call))
            )
    for function in program.functions.values():
        _Delay(program, stops).region(function.body)


def _is_assertion(operation: Operation) -> bool:
    """Whether it is one that says the same whenever it fails."""
    return operation.kind == "assert" and len(operation.operands) == 1


class _Delay:
    def __init__(self, program: Program, stops: Inside) -> None:
        self._program, self._stops = program, stops

    def region(self, region: Region) -> None:
        """Delay the assertions of a region, and of those within."""
        waiting: list[Operation] = []
        following: list[Operation] = []
        for operation in region.operations:
            for inner in operation.regions:
                self.region(inner)
            if _is_assertion(operation):
                waiting.append(operation)
                continue
            carried = self._carried(operation)
            loop = _Loop(operation, carried) if carried else None
            if operation is region.terminator or not self._passes(operation):
                following += waiting
                waiting.clear()
            if loop is None:
                following.append(operation)
                continue
            self._program.remarks.append(Remark(operation.location, _TEXT))
            following += [*loop.before, operation, *loop.behind]
            waiting += carried
        region.operations = following

    def _passes(self, operation: Operation) -> bool:
        """Whether an assertion may come behind it."""
        return not effects_of(operation) & _ENDS and not self._stops.of(operation)

    def _carried(self, loop: Operation) -> Sequence[Operation]:
        """The assertions at the end of the rounds of a loop, if they may be behind it."""
        if loop.kind != "for" or "shared" in loop.attributes or effects_of(loop) & _ENDS:
            return ()
        body, after = loop.regions
        *inside, end = body.operations
        if end.kind != "continue" or after.terminator.kind != "yield":
            return ()
        first = len(inside)
        while first and _is_assertion(inside[first - 1]):
            first -= 1
        # Those of a round come behind all of the next ones, and behind what follows the last one.
        passed = [*inside[:first], *after.operations]
        return () if any(map(self._stops.of, passed)) else inside[first:]


class _Loop:
    """Has the rounds of a loop note which assertion failed first. ``before`` and ``behind``: what
    comes before the loop, and between it and the assertions."""

    def __init__(self, loop: Operation, assertions: Sequence[Operation]) -> None:
        self._at = loop.location
        self.before: list[Operation] = []
        self.behind: list[Operation] = []
        none = self._add(self.before, "constant", [], i32, value=0)
        body, after = loop.regions
        given, left = Value(i32), Value(i32)
        body.operations[-1 - len(assertions) : -1] = self._noted(given, none, assertions)
        for end in ends_of_rounds(body, ["continue", "break"]):
            end.operands.append(self._failed if end is body.terminator else given)
        body.arguments.append(given)
        after.arguments.append(left)
        after.terminator.operands.append(left)
        loop.operands.append(none)
        loop.results.append(Value(i32, source=loop))
        for number, assertion in enumerate(assertions, 1):
            failed = self._add(self.behind, "constant", [], i32, value=number)
            operands = [loop.results[-1], failed]
            holds = self._add(self.behind, "compare", operands, boolean, operator="ne")
            assertion.operands = [holds]

    def _noted(
        self, given: Value, none: Value, assertions: Sequence[Operation]
    ) -> Sequence[Operation]:
        """Which one failed first, after a round."""
        made: list[Operation] = []
        self._failed = given
        for number, assertion in enumerate(assertions, 1):
            (test,) = assertion.operands
            this = self._add(made, "constant", [], i32, value=number)
            is_first = self._add(made, "compare", [self._failed, none], boolean, operator="eq")
            noted = self._add(made, "select", [is_first, this, self._failed], i32)
            self._failed = self._add(made, "select", [test, self._failed, noted], i32)
        return made

    def _add(
        self,
        to: list[Operation],
        kind: str,
        operands: Sequence[Value],
        type: Type,
        **attributes: Any,
    ) -> Value:
        to.append(make(kind, operands, self._at, [type], **attributes))
        return to[-1].result
