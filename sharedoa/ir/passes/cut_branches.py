"""Branches around loops that the threads of a warp share.

So that threads that skip a loop help with those of the others, an ``if`` that shared loops stand in
is cut at the loops: the parts before and after each are run by the threads for which the test
holds, the loop by all of them, with no iterations for the others.

    if %test {                      %n, %m = if %test { A; yield %n, %m } else { yield 0, 0 }
      A                             %s = for %n, %m ... <shared>
      %s = for ... <shared>    ->   if %test { B }
      B
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core import (
    Function,
    LvalueType,
    Operation,
    Program,
    Region,
    Value,
    constant_of,
    live_ins,
    operations_in,
)
from ..rewrite import make, replace_uses, uses_in
from ..uniformity import is_of_launch


def cut_branches(program: Program) -> None:
    """Cut the branches that threads of a warp may take differently."""
    for function in program.functions.values():
        if any("shared" in operation.attributes for operation in operations_in(function)):
            _cut_in(function, function.body)


def _cut_in(function: Function, region: Region) -> None:
    following: list[Operation] = []
    for operation in region.operations:
        for inner in operation.regions:
            _cut_in(function, inner)
        if _is_to_be_cut(function, operation):
            made, replaced = _Cut(operation).made()
            following += made
            replace_uses(function, replaced)
        else:
            following.append(operation)
    region.operations = following


def _is_to_be_cut(function: Function, operation: Operation) -> bool:
    """Whether shared loops stand in an ``if`` that threads of a warp may answer differently, whose
    arms come to their ends."""
    if operation.kind != "if" or is_of_launch(operation.operands[0], function):
        return False
    within = [inner for region in operation.regions for inner in region.operations]
    if not any("shared" in inner.attributes for inner in within):
        return False
    ends = all(region.terminator.kind == "yield" for region in operation.regions)
    return ends and not any(_crosses(region) for region in operation.regions)


def _crosses(region: Region) -> bool:
    """Whether an lvalue is made before a shared loop and used behind it; none can be passed on."""
    lvalues: set[Value] = set()
    hidden: set[Value] = set()
    for operation in region.operations:
        if "shared" in operation.attributes:
            hidden |= lvalues
        lvalues.update(v for v in operation.results if isinstance(v.type, LvalueType))
        if not hidden.isdisjoint([*operation.operands, *live_ins(operation.regions)]):
            return True
    return False


class _Cut:
    def __init__(self, branch: Operation) -> None:
        self._branch = branch
        self._test = branch.operands[0]
        self._at = branch.location
        self._made: list[Operation] = []

    def made(self) -> tuple[list[Operation], dict[Value, Value]]:
        """What stands instead of the branch, and what its results are then."""
        then, otherwise = (self._arm(region) for region in self._branch.regions)
        pairs = zip(self._branch.results, then, otherwise, strict=True)
        return self._made, {old: self._add("select", [self._test, *arms]) for old, *arms in pairs}

    def _arm(self, region: Region) -> list[Value]:
        """The operations of an arm; what it yields, which is anything in the other threads."""
        is_then = region is self._branch.regions[0]
        *rest, end = region.operations
        while any("shared" in each.attributes for each in rest):
            place = next(n for n, each in enumerate(rest) if "shared" in each.attributes)
            before, loop, rest = rest[:place], rest[place], rest[place + 1 :]
            after = Region([], [loop, *rest, end])
            moved = self._part(before, after, is_then)
            self._end_at_start(loop, is_then, {*moved.values()})
            self._made.append(loop)
        self._part(rest, Region([], [end]), is_then)
        return [*end.operands]

    def _part(
        self, operations: list[Operation], after: Region, is_then: bool
    ) -> dict[Value, Value]:
        """Run operations in the threads of the arm. What they make and ``after`` uses are results,
        zero in the other threads."""
        constants = [each for each in operations if each.kind in ("constant", "zero")]
        self._made += constants
        operations = [each for each in operations if each not in constants]
        if not operations:
            return {}
        used = uses_in(after)
        needed = [v for operation in operations for v in operation.results if v in used]
        own = Region([], [*operations, make("yield", needed, self._at)])
        zeros = [make("zero", [], self._at, [value.type]) for value in needed]
        nothing = make("yield", [zero.result for zero in zeros], self._at)
        others = Region([], [*zeros, nothing])
        regions = [own, others] if is_then else [others, own]
        branch = make("if", [self._test], self._at, [v.type for v in needed], regions)
        self._made.append(branch)
        moved = dict(zip(needed, branch.results, strict=True))
        replace_uses(after, moved)
        return moved

    def _end_at_start(self, loop: Operation, is_then: bool, zero_in_others: set[Value]) -> None:
        """Let the loop end where it starts in the threads that skip the arm."""
        start, stop = loop.operands[:2]
        nowhere: Value | None = start
        if constant_of(start) is None:
            if start not in zero_in_others:
                loop.operands[0] = self._only_here(start, self._zero(start), is_then)
            nowhere = None if stop in zero_in_others else self._zero(stop)
        if nowhere is not None:
            loop.operands[1] = self._only_here(stop, nowhere, is_then)

    def _zero(self, like: Value) -> Value:
        made = make("constant", [], self._at, [like.type], value=0)
        self._made.append(made)
        return made.result

    def _only_here(self, value: Value, elsewhere: Value, is_then: bool) -> Value:
        arms = [value, elsewhere] if is_then else [elsewhere, value]
        return self._add("select", [self._test, *arms])

    def _add(self, kind: str, operands: Sequence[Value]) -> Value:
        made = make(kind, operands, self._at, [operands[-1].type])
        self._made.append(made)
        return made.result
