"""The way back through loops: their rounds from the last to the first.

Each round has a frame of its own. Where it is known how many rounds there are, their frames lie one
after another within that of what is around, and the way back counts; else each frame has the number
of the one before it, and the way back follows them. A round of a ``while`` begins with its test, so
the last one may be no more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dispatch.dataclass import dataclass

from ...model.scalars import ScalarType, weak_int
from ..core import Operation, Region, Type, Value, constant_of, rounds_of, type_of
from ..operations import Effects, effects_in, effects_of
from .code import Code
from .frames import (
    EXHAUSTED,
    NO_FRAME,
    PREVIOUS,
    Frame,
    ended_of,
    last_of,
    rounds_at,
)
from .leaves import Path, float_leaves

if TYPE_CHECKING:
    from .reverse import Backward, Framed, Given


@dataclass(eq=False)
class Round:
    """What a round's terminators pass adjoints on from: those of what the next round began with, of
    what the loop gives, and of what its last region begins with."""

    carried: Sequence[Given]
    results: Sequence[Given]
    exhausted: Sequence[Given]


@dataclass(frozen=True)
class _Carried:
    """A float that is carried from round to round."""

    number: int
    path: Path
    type: ScalarType


def reverse_loop(to: Backward, loop: Operation) -> None:
    results = [to.take(result) for result in loop.results]
    if not any(results) and not (to.plan.touches(loop) or effects_of(loop) & Effects.RETURNS):
        to.leave(loop)
        return
    leaves = [
        _Carried(number, path, type)
        for number, result in enumerate(loop.results)
        for path, type in float_leaves(type_of(result)).items()
    ]
    exhausted = _otherwise(to, loop, results, leaves)
    begins = 3 if loop.kind == "for" else 0
    initial = loop.operands[begins:]
    carried = [Value(each.type, "adjoint") for each in leaves]
    frame = Frame()
    if not to.plan.counts_rounds(loop):
        frame.word(PREVIOUS)  # where frames lie side by side, no more than a place of its own
    round = Round(_by_number(loop, leaves, carried), results, _by_number(loop, leaves, exhausted))
    body = _Body(to, loop, leaves, round, frame)
    if loop.kind == "for":
        begun: Sequence[Value] = exhausted
    else:  # which its last round gets
        begun = [to.code.number(0.0, each.type) for each in leaves]
    to.plan.note_round_frame(loop, frame)
    made = body.emit(carried, begun)
    for each, result in zip(leaves, made, strict=False):
        to.give(initial[each.number], each.path, result)
    for (value, path), result in zip(body.outside, made[len(leaves) :], strict=True):
        to.give(value, path, result)


def _by_number(
    loop: Operation, leaves: Sequence[_Carried], adjoints: Sequence[Value]
) -> list[Given]:
    found: list[Given] = [{} for _ in loop.results]
    for each, adjoint in zip(leaves, adjoints, strict=True):
        found[each.number][each.path] = adjoint
    return found


def _otherwise(
    to: Backward, loop: Operation, results: Sequence[Given], leaves: Sequence[_Carried]
) -> list[Value]:
    """The reverse of what runs when no round is left: the adjoints of what it begins with."""
    region = loop.regions[-1]
    scope = to.arm(region, results)

    def found(each: _Carried) -> Value:
        given = scope.adjoints.get(region.arguments[each.number], {})
        return given.get(each.path) or scope.back.number(0.0, each.type)

    adjoints = [found(each) for each in leaves]
    if not may_end_early(loop):
        outside = to.passed_out(scope)
        to.code.operations += scope.operations
        for (value, path), adjoint in outside.items():
            to.give(value, path, adjoint)
        return adjoints
    ended = to.word(to.scope.framed, ended_of(loop))
    test = to.code.compare("eq", ended, to.code.integer(EXHAUSTED))
    other = to.within()
    nothing = [other.back.number(0.0, each.type) for each in leaves]
    return to.merge("if", [test], [scope, other], [adjoints, nothing])


def may_end_early(loop: Operation) -> bool:
    """Whether it may end while rounds are left."""
    effects = Effects.NOTHING
    for region in loop.regions[:-1]:
        effects |= effects_in(region) & Effects.RETURNS
    return bool(effects) or _has_break(loop.regions[:-1])


def _has_break(regions: Sequence[Region]) -> bool:
    for region in regions:
        for operation in region.operations:
            if operation.kind == "break":
                return True
            if operation.kind not in ("for", "while") and _has_break(operation.regions):
                return True
    return False


class _Body:
    """A round on its way back."""

    def __init__(
        self,
        to: Backward,
        loop: Operation,
        leaves: Sequence[_Carried],
        round: Round,
        frame: Frame,
    ) -> None:
        from .reverse import Framed, number_ends

        self._to, self._loop, self._leaves, self._frame = to, loop, leaves, frame
        self._cursor = Value(weak_int, "frame")
        #: Of counted rounds, the number of the round, and what the loop counts.
        self._number = Value(weak_int, "round")
        framed = Framed(frame, self._cursor, round)
        number_ends(frame, loop.regions[:-1])
        scope = framed.scope = to.within(framed)
        outer, to.scope = to.scope, scope
        self._scope, self._outer = scope, outer
        self._counts = to.plan.counts_rounds(loop)
        if loop.kind == "for":
            self._for(framed)
        else:
            self._while(framed)
        first = loop.regions[0].arguments[1 if loop.kind == "for" else 0 :]
        found = [to.take(argument) for argument in first]
        self._carried = [
            found[each.number].get(each.path) or scope.back.number(0.0, each.type)
            for each in leaves
        ]
        to.scope = outer
        self._given = to.passed_out(scope)

    @property
    def outside(self) -> list[tuple[Value, Path]]:
        return [*self._given]

    def _for(self, framed: Framed) -> None:
        to, body = self._to, self._loop.regions[0]
        to.own(body.arguments)
        if self._counts:
            code, type = self._scope.again, body.arguments[0].type
            step = constant_of(self._loop.operands[2])
            assert step is not None
            counter = code.binary("mul", self._number, code.integer(int(step)))
            counter = code.binary("add", counter, self._bound(0))
            if type != weak_int:
                counter = code.value("convert", [counter], type)
            self._scope.known[body.arguments[0]] = counter
        to.sequence(body.operations)

    def _bound(self, number: int) -> Value:
        """Where the counting of the way there began or ended, outside of the loop."""
        scope = self._to.scope if self._to.scope is not self._scope else self._outer
        operand = self._loop.operands[number]
        known = constant_of(operand)
        if known is not None:
            return scope.again.integer(int(known))
        found = self._to.primal(operand)
        if found.type == weak_int:
            return found
        return scope.again.value("convert", [found], weak_int)

    def _while(self, framed: Framed) -> None:
        to, (test, body, _) = self._to, self._loop.regions
        *operations, condition = test.operations
        to.note_branch(self._loop, condition.operands[0])
        to.own(test.arguments)
        to.own(result for each in operations for result in each.results)
        passed = condition.operands[1:]
        to.same.update(zip(body.arguments, passed, strict=True))
        inner = to.within()
        to.scope, before = inner, to.scope
        to.sequence(body.operations)
        to.scope = before
        assert framed.round is not None
        # What a body's argument gets, the value gets that the test has passed on.
        adjoints = [inner.adjoints.pop(each, {}) for each in body.arguments]
        other = to.within()
        ways: tuple[list[Value], list[Value]] = [], []
        for each in self._leaves:
            found = adjoints[each.number].get(each.path)
            ways[0].append(found or inner.back.number(0.0, each.type))
            ways[1].append(framed.round.exhausted[each.number][each.path])
        failed = to.ended_with(framed, condition)
        came = to.code.negation(failed)
        merged = to.merge("if", [came], [inner, other], ways)
        for each, adjoint in zip(self._leaves, merged, strict=False):
            to.give(passed[each.number], each.path, adjoint)
        to.reverse_all(operations)

    # ------------------------------------------------------------ the loop

    def emit(self, carried: Sequence[Value], begun: Sequence[Value]) -> list[Value]:
        """The loop over the rounds; what it gives: the adjoints of what the first round began with,
        then those of values from outside."""
        to, code = self._to, self._scope.back
        sums = [Value(adjoint.type, "sum") for adjoint in self._given.values()]
        added = [
            code.binary("add", total, adjoint)
            for total, adjoint in zip(sums, self._given.values(), strict=True)
        ]
        passed = [*self._carried, *added]
        start = [*begun, *(to.code.value("zero", [], each.type) for each in sums)]
        if self._counts:
            return self._counted([*carried, *sums], passed, start)
        return self._followed([*carried, *sums], passed, start)

    def _first_frame(self) -> Value:
        framed, rounds = self._to.scope.framed, rounds_of(self._loop)
        assert rounds is not None
        place = framed.frame.word(rounds_at(self._loop), len(rounds) * self._frame.size)
        return self._to.code.at(framed.base, place)

    def _counted(
        self, arguments: Sequence[Value], passed: Sequence[Value], start: Sequence[Value]
    ) -> list[Value]:
        to, code, rounds = self._to, self._to.code, rounds_of(self._loop)
        if rounds is None:  # and no frames
            first, last = to.scope.framed.base, self._last_round()
        else:
            first, last = self._first_frame(), code.integer(len(rounds) - 1)
        bounds = [last, code.integer(-1), code.integer(-1)]
        size = code.integer(self._frame.size)
        begin, scope = Code(code.location), self._scope
        distance = begin.binary("mul", self._number, size)
        place = begin.add("binary", [first, distance], operator="add")
        place.results, self._cursor.source = [self._cursor], place
        scope.back.add("continue", passed)
        body = Region([self._number, *arguments], [*begin.operations, *scope.operations])
        return code.add(
            "for", [*bounds, *start], _types(start), [body, _passing_on(to, start)]
        ).results

    def _last_round(self) -> Value:
        """The number of the last of rounds that were counted."""
        code = self._to.scope.again
        step = constant_of(self._loop.operands[2])
        assert step
        way = code.binary("sub", self._bound(1), self._bound(0))
        way = code.binary("sub", way, code.integer(1 if step > 0 else -1))
        # Where there are none, this may be any number below 0.
        return way if step == 1 else code.binary("floordiv", way, code.integer(int(step)))

    def _followed(
        self, arguments: Sequence[Value], passed: Sequence[Value], start: Sequence[Value]
    ) -> list[Value]:
        to, scope = self._to, self._scope
        code, back = to.code, self._scope.back
        if to.plan.has_linked_rounds(self._loop):
            place = back.at(self._cursor, self._frame.word(PREVIOUS))
            previous = to.read(back, place, weak_int)
        else:
            first = self._first_frame()
            before = back.binary("sub", self._cursor, back.integer(self._frame.size))
            is_first = back.compare("eq", self._cursor, first)
            previous = back.select(is_first, back.integer(NO_FRAME), before)
        last = to.word(to.scope.framed, last_of(self._loop))
        back.add("continue", [previous, *passed])
        start = [last, *start]
        test = _passing_on(to, start, "condition")
        body = Region([self._cursor, *arguments], scope.operations)
        otherwise = _passing_on(to, start)
        return code.add("while", start, _types(start), [test, body, otherwise]).results[1:]


def _types(values: Sequence[Value]) -> list[Type]:
    return [value.type for value in values]


def _passing_on(to: Backward, values: Sequence[Value], kind: str = "yield") -> Region:
    """A region that passes on what it gets; as a test, while the first value is a frame."""
    arguments, code = [Value(value.type) for value in values], Code(to.code.location)
    given = list(arguments)
    if kind == "condition":
        given.insert(0, code.compare("ge", arguments[0], code.integer(0)))
    code.add(kind, given)
    return Region(arguments, code.operations)
