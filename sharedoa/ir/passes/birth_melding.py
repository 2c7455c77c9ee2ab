"""Branches that make objects of several classes in the same way make them together.

Threads of a warp that make objects of different classes would go one way after another, and in each
wait for the birth table and for their places. So what two arms do alike is done once, with what
differs chosen before; from where they differ on each thread goes its own way.

    if %t {                                         %entry = select %t, 0, 1
      %a = new %n <cls = A, entry = 0>              %o = new_of %n, %entry <ways = A or B>
      store 1, %a.x; store 2, %a.y                  %x = select %t, 1, 3
    } else {                                   ->   store %x, %o.x
      %b = new %n <cls = B, entry = 1>              if %t { store 2, %o.y }
      store 3, %b.x
    }

An arm that makes an object if a test of its own holds, or else does nothing, is alike to one that
makes one, by those threads that are to make one (``if ... elif ...`` without ``else``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.classes import common_base
from ...model.scalars import ScalarType, boolean, i32
from ...model.types import ReferenceType
from ..core import Operation, Program, Region, Type, Value, operations_in
from ..operations import PURE, cost_of, kind_of
from ..rewrite import copy_operations, copy_region, make

_BIRTHS = frozenset({"new", "new_of"})
_MOST_COST = 64
"""Of what is computed for both arms, as machine instructions."""
_NEVER_FAILS = frozenset({"add", "sub", "mul", "and", "or", "xor"})
"""Binary operators that may be computed of whatever there is."""
_IN_PAIRS = frozenset({"if", "field", "element", "member", "inline_element", "load", "store"})
"""Operations of which each arm has one. They stay in their order."""


def meld_births(program: Program) -> None:
    for function in program.functions.values():
        if any(each.kind == "new" for each in operations_in(function)):
            _meld_in(function.body)


def _meld_in(region: Region) -> None:
    following: list[Operation] = []
    for operation in region.operations:
        for inner in operation.regions:
            _meld_in(inner)
        following += _together(operation) or [operation]
    region.operations = following


def _together(branch: Operation) -> list[Operation] | None:
    """What stands instead of a branch; None if it stays. The results are the same values."""
    if branch.kind != "if" or not all(map(_makes_objects, branch.regions)):
        return None
    arms = _Arms(branch)
    try:
        made, results = arms.met(*(region.operations for region in branch.regions))
    except _DifferError:
        return None
    if not arms.births or arms.cost > _MOST_COST:
        return None
    for result, value in zip(branch.results, results, strict=True):
        same = make("convert", [value], branch.location)
        same.results, result.source = [result], same
        made.append(same)
    return made


def _makes_objects(region: Region) -> bool:
    return any(each.kind in _BIRTHS for each in operations_in(region))


class _DifferError(Exception):
    """The arms do not do the same."""


class _Arms:
    """The arms of a branch on their way to one."""

    def __init__(self, branch: Operation) -> None:
        (self._test,), self._at = branch.operands, branch.location
        #: What the values of each arm are now.
        self._now: tuple[dict[Value, Value], dict[Value, Value]] = {}, {}
        #: New objects, by the references that the arms have to them.
        self._objects: dict[tuple[Value, Value], Value] = {}
        self.births = self.cost = 0

    def met(
        self, one: Sequence[Operation], other: Sequence[Operation]
    ) -> tuple[list[Operation], Sequence[Value]]:
        """What both arms do, and what they pass on. Raises _DifferError."""
        made: list[Operation] = []
        rests = [*one], [*other]
        while True:
            for rest, now in zip(rests, self._now, strict=True):
                while _is_computed(rest[0]):
                    self.cost += cost_of(rest[0])
                    made += copy_operations([rest.pop(0)], now)
            ends = rests[0][0], rests[1][0]
            if ends[0].kind == ends[1].kind == "yield":
                pairs = zip(*(end.operands for end in ends), strict=True)
                return made, [self._either(made, *pair) for pair in pairs]
            joined = self._tried(self._joined, *ends)
            if joined is None:
                break
            made += joined
            for rest in rests:
                rest.pop(0)
        if any(rest[-1].kind != "yield" for rest in rests):
            raise _DifferError
        guarded = self._tried(self._guarded, *rests)
        if guarded is not None:
            return made + guarded, []
        apart = self._apart(*rests)
        return [*made, apart], apart.results

    def _tried(self, how: Any, one: Any, other: Any) -> list[Operation] | None:
        births, cost = self.births, self.cost
        try:
            return how(one, other)
        except _DifferError:
            self.births, self.cost = births, cost
            return None

    # ------------------------------------------------------------------ alike

    def _joined(self, one: Operation, other: Operation) -> list[Operation]:
        """What both do, once."""
        if one.kind in _BIRTHS and other.kind in _BIRTHS:
            return self._born(one, other)
        is_same = one.kind == other.kind and one.attributes == other.attributes
        types = [result.type for result in one.results]
        if not is_same or one.kind not in _IN_PAIRS:
            raise _DifferError
        if types != [result.type for result in other.results]:
            raise _DifferError
        made: list[Operation] = []
        pairs = zip(one.operands, other.operands, strict=True)
        operands = [self._either(made, *pair) for pair in pairs]
        regions = []
        for one_region, other_region in zip(one.regions, other.regions, strict=True):
            within, passed = self.met(one_region.operations, other_region.operations)
            regions.append(Region([], [*within, make("yield", passed, self._at)]))
        found = make(one.kind, operands, one.location, types, regions, **one.attributes)
        for now, each in zip(self._now, (one, other), strict=True):
            now.update(zip(each.results, found.results, strict=True))
        return [*made, found]

    def _born(self, one: Operation, other: Operation) -> list[Operation]:
        made: list[Operation] = []
        ways = {**_ways(one), **_ways(other)}
        base = common_base([cls for cls, *_ in ways.values()])
        thread = self._either(made, one.operands[0], other.operands[0])
        # Who finds no room is told of one line for each class.
        if base is None or len(ways) < len(_ways(one)) + len(_ways(other)):
            raise _DifferError
        entries = [
            now.get(each.operands[1], each.operands[1])
            if each.kind == "new_of"
            else self._add(made, "constant", [], i32, value=each["entry"])
            for now, each in zip(self._now, (one, other), strict=True)
        ]
        entry = self._add(made, "select", [self._test, *entries], i32)
        new = self._add(made, "new_of", [thread, entry], ReferenceType(base), ways=ways)
        own = [self._add(made, "convert", [new], each.result.type) for each in (one, other)]
        for now, each, value in zip(self._now, (one, other), own, strict=True):
            now[each.result] = value
        self._objects[own[0], own[1]] = new
        self.births += 1
        return made

    def _either(self, made: list[Operation], one: Value, other: Value) -> Value:
        """The value of the arm that a thread takes."""
        one, other = self._now[0].get(one, one), self._now[1].get(other, other)
        if one is other:
            return one
        if (one, other) in self._objects:
            return self._objects[one, other]
        if one.type != other.type or not isinstance(one.type, (ScalarType, ReferenceType)):
            raise _DifferError
        self.cost += 1
        return self._add(made, "select", [self._test, one, other], one.type)

    # ------------------------------------------------------------------ not alike

    def _guarded(self, *rests: Sequence[Operation]) -> list[Operation]:
        """If one arm does something where a test of its own holds, and nothing else, that together
        with what the other does."""
        side = next((side for side, rest in enumerate(rests) if _only_if(rest)), None)
        if side is None or rests[1 - side][-1].operands:
            raise _DifferError
        branch, births = rests[side][0], self.births
        made: list[Operation] = []
        own = branch.operands[0]
        tests = [
            self._now[side].get(own, own),
            self._add(made, "constant", [], boolean, value=True),
        ]
        if side == 1:
            tests.reverse()
        does = self._add(made, "select", [self._test, *tests], boolean)
        arms = [*rests]
        arms[side] = branch.regions[0].operations
        within, _ = self.met(*arms)
        if self.births == births:
            raise _DifferError
        nothing = Region([], [make("yield", [], self._at)])
        region = Region([], [*within, make("yield", [], self._at)])
        return [*made, make("if", [does], self._at, regions=[region, nothing])]

    def _apart(self, *rests: Sequence[Operation]) -> Operation:
        """Threads go on each on their own way."""
        regions = [
            copy_region(Region([], [*rest]), now)
            for rest, now in zip(rests, self._now, strict=True)
        ]
        types = [value.type for value in regions[0].terminator.operands]
        return make("if", [self._test], self._at, types, regions)

    def _add(
        self,
        made: list[Operation],
        kind: str,
        operands: Sequence[Value],
        type: Type,
        **attributes: Any,
    ) -> Value:
        made.append(make(kind, operands, self._at, [type], **attributes))
        return made[-1].result


def _ways(birth: Operation) -> dict[int, tuple[Any, ...]]:
    """By entry: the class, and where in the source it is made."""
    if birth.kind == "new_of":
        return dict(birth["ways"])
    return {birth["entry"]: (birth["cls"], *birth.location)}


def _is_computed(operation: Operation) -> bool:
    """Whether it may be computed of whatever there is, where nobody needs it, too."""
    kind = kind_of(operation)
    if kind is None or operation.regions or kind.effects != PURE or kind.is_terminator:
        return False
    if operation.kind == "binary":
        return operation["operator"] in _NEVER_FAILS
    return kind.is_total


def _only_if(operations: Sequence[Operation]) -> bool:
    """Whether that is a branch with one arm, which passes on nothing."""
    branch, *rest = operations
    if branch.kind != "if" or branch.results or len(rest) != 1 or rest[0].operands:
        return False
    then, otherwise = branch.regions
    return then.terminator.kind == "yield" and [o.kind for o in otherwise.operations] == ["yield"]
