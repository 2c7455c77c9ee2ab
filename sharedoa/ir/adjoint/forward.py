"""The way there: a function as it was, which also keeps in frames what the way back asks for.

Where a thread keeps more than is known when code is compiled, functions are told where the tape
goes on, and say where it does after them. A tape that is too short keeps nothing of use; the thread
goes on all the same, and says in the end how long it should have been.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from dispatch.dataclass import dataclass, field, replace

from ...model.scalars import i64, u64, weak_int
from ...model.types import VOID, ArrayType, TupleType
from ..core import Candidate, Function, LvalueType, Operation, Region, Value, rounds_of, type_of
from ..rewrite import copy_operations, make
from .code import Code
from .frames import (
    BROKEN,
    END,
    EXHAUSTED,
    NO_FRAME,
    PREVIOUS,
    RETURNED,
    Frame,
    callee_of,
    ended_of,
    last_of,
    rounds_at,
)
from .reverse import thread_number, thread_part

if TYPE_CHECKING:
    from .program import Plan


def forward_symbol(symbol: str) -> str:
    return f"{symbol}_forward"


@dataclass(frozen=True)
class _Framed:
    """What has a frame, from the innermost one on: where the frame is, by the number of its first
    word, and where it is written, which differs where the tape is too short."""

    frame: Frame
    base: Value
    written: Value
    #: Of a round, the loop.
    loop: Operation | None = None
    around: _Framed | None = None


@dataclass
class _Place:
    """Where code is written: what has a frame there, and where the tape goes on."""

    framed: _Framed
    top: Value | None
    #: The innermost loop, and the round that is around it, if the loop has frames.
    loop: Operation | None = None
    values: dict[Value, Value] = field(default_factory=dict)


class Forward:
    """One function on its way there."""

    def __init__(self, plan: Plan, function: Function) -> None:
        self._plan, self._function = plan, function
        self._frame = plan.frame(function.symbol)
        self._grows = plan.is_dynamic
        self._tape = Value(ArrayType(u64), "tape")
        self._room = Value(weak_int, "room")

    def made(self) -> Function:
        """The function with more parameters: the tape, the first word that is free, and, where
        threads keep more than is known, how many words there are; it then gives the next free one,
        too. The kernel gets the whole tape, how many words a thread has there, and then an array
        for how many each has come to need."""
        function, code = self._function, Code(self._function.location)
        parameters = [Value(each.type, each.name) for each in function.parameters]
        values = dict(zip(function.parameters, parameters, strict=True))
        is_kernel = function.kind == "kernel"
        self._used = Value(ArrayType(i64), "used")
        if is_kernel:
            whole, room = Value(ArrayType(u64), "tape"), Value(i64, "room")
            parameters += [whole, room]
            base = code.integer(0)
            self._tape = thread_part(code, whole, room, self._plan.lanes)
            if self._grows:
                parameters.append(self._used)
                self._room = code.value("convert", [room], weak_int)
        else:
            base = Value(weak_int, "base")
            parameters += [self._tape, base, *([self._room] if self._grows else [])]
        framed, top = self._new_frame(code, self._frame, base)
        place = _Place(framed, top, values=values)
        self._keep(code, place, function.parameters)
        self._run(code, place, function.body)
        result = VOID if is_kernel else self._plan.forward_result(function)
        return replace(
            function, symbol=forward_symbol(function.symbol), result=result,
            body=Region(parameters, code.operations),
        )  # fmt: skip

    # ------------------------------------------------------------ frames

    def _new_frame(
        self, code: Code, frame: Frame, base: Value, around: _Framed | None = None,
        loop: Operation | None = None,
    ) -> tuple[_Framed, Value | None]:  # fmt: skip
        """A frame that begins at ``base``, and where the tape goes on after it."""
        if not self._grows:
            return _Framed(frame, base, base, loop, around), None
        most = code.binary("sub", self._room, code.integer(frame.size))
        written = code.select(code.compare("lt", base, most), base, most)
        return _Framed(frame, base, written, loop, around), code.at(base, frame.size)

    def _within(
        self, code: Code, frame: Frame, at: _Framed, offset: Value, loop: Operation
    ) -> _Framed:
        """A frame within another one, so many words from its beginning."""
        base = code.binary("add", at.base, offset)
        same = at.base is at.written
        written = base if same else code.binary("add", at.written, offset)
        return _Framed(frame, base, written, loop, at)

    def _write(self, code: Code, framed: _Framed, place: int, value: Value) -> None:
        operands = [self._tape, code.at(framed.written, place), value]
        code.add("frame_write", operands, lanes=self._plan.lanes)

    def _note(self, code: Code, framed: _Framed, what: Hashable, value: Value) -> None:
        """Write a word that the frame has for something, if it has one."""
        place = framed.frame.places.get(what)
        if place is not None:
            self._write(code, framed, place, value)

    def _keep(self, code: Code, place: _Place, values: Sequence[Value]) -> None:
        """Write those of the values that are kept."""
        for value in values:
            self._note(code, place.framed, value, place.values[value])

    # ----------------------------------------------------------- regions

    def _run(self, code: Code, place: _Place, region: Region) -> None:
        for operation in region.operations:
            code.location = operation.location
            if operation in self._plan.plain:
                code.operations += copy_operations([operation], place.values)
                self._keep(code, place, operation.results)
                continue
            match operation.kind:
                case "call" | "call_virtual":
                    self._call(code, place, operation)
                case "for" | "while":
                    self._loop(code, place, operation)
                case "if" | "switch":
                    self._choose(code, place, operation)
                case "return":
                    self._return(code, place, operation)
                case "continue" | "break":
                    self._end_round(code, place, operation)
                case _:
                    self._copy(code, place, operation)
            if operation.results:
                self._keep(code, place, operation.results)

    def _values(self, place: _Place, operation: Operation) -> list[Value]:
        return [place.values[operand] for operand in operation.operands]

    def _add(
        self, code: Code, place: _Place, operation: Operation, operands: Sequence[Value],
        regions: Sequence[Region] = (), more: Sequence[Value] = (), **attributes: object,
    ) -> Operation:  # fmt: skip
        """The operation, with other operands and regions, and with more results of these types."""
        made = make(
            operation.kind, operands, operation.location,
            [each.type for each in (*operation.results, *more)], regions,
            **{**operation.attributes, **attributes},
        )  # fmt: skip
        for own, result in zip(operation.results, made.results, strict=False):
            result.name = own.name
            place.values[own] = result
        code.operations.append(made)
        return made

    def _copy(self, code: Code, place: _Place, operation: Operation) -> None:
        self._add(code, place, operation, self._values(place, operation))

    def _arm(self, place: _Place, region: Region) -> tuple[Region, _Place]:
        """A region of a branch, or the last one of a loop."""
        arguments = [Value(each.type, each.name) for each in region.arguments]
        code = Code(self._function.location)
        inner = replace(place)
        inner.values.update(zip(region.arguments, arguments, strict=True))
        self._keep(code, inner, region.arguments)
        self._run(code, inner, region)
        return Region(arguments, code.operations), inner

    def _choose(self, code: Code, place: _Place, operation: Operation) -> None:
        made, tops = [], []
        for region in operation.regions:
            arm, inner = self._arm(place, region)
            made.append(arm)
            tops.append(inner.top)
        moved = [top for top in tops if top is not place.top]
        if moved:
            for arm, top in zip(made, tops, strict=True):
                if arm.terminator.kind == "yield":
                    assert top is not None
                    arm.terminator.operands.append(top)
        more = [moved[0]] if moved and moved[0] is not None else []
        # Where no arm yields, an operation has no results.
        more = more if any(arm.terminator.kind == "yield" for arm in made) else []
        new = self._add(code, place, operation, self._values(place, operation), made, more)
        if more:
            place.top = new.results[-1]

    # ------------------------------------------------------------- calls

    def _call(self, code: Code, place: _Place, operation: Operation) -> None:
        plan, framed = self._plan, place.framed
        if plan.gradient_of(operation) is not None:
            self._copy(code, place, operation)
            return
        size = plan.callee_size(operation)
        if size is None:
            assert place.top is not None
            base = place.top
            self._note(code, framed, callee_of(operation), base)
        else:
            base = code.at(framed.base, framed.frame.word(callee_of(operation), size))
        operands = [*self._values(place, operation), self._tape, base]
        operands += [self._room] if self._grows else []
        attributes = dict(operation.attributes)
        if operation.kind == "call":
            attributes["symbol"] = forward_symbol(attributes["symbol"])
        else:
            attributes["candidates"] = tuple(
                Candidate(each.cls, forward_symbol(each.symbol)) for each in operation["candidates"]
            )
        type = type_of(operation.result)
        if not self._grows:
            place.values[operation.result] = code.value(
                operation.kind, operands, type, **attributes
            )
            return
        results = (weak_int,) if type == VOID else (type, weak_int)
        made = code.value(operation.kind, operands, TupleType(results), **attributes)
        if type != VOID:
            value = code.value("tuple_item", [made], type, index=0)
            place.values[operation.result] = value
        else:
            place.values[operation.result] = made
        if size is None:
            last = len(results) - 1
            place.top = code.value("tuple_item", [made], weak_int, index=last)

    def _return(self, code: Code, place: _Place, operation: Operation) -> None:
        framed: _Framed | None = place.framed
        while framed is not None:
            self._note_end(code, framed, operation)
            if framed.loop is not None and framed.around is not None:
                self._note(code, framed.around, last_of(framed.loop), framed.base)
                ended = code.integer(RETURNED)
                self._note(code, framed.around, ended_of(framed.loop), ended)
            framed = framed.around
        given = self._values(place, operation)
        if self._grows:
            assert place.top is not None
            if self._function.kind == "kernel":
                self._note_use(code, place.top)
            else:
                given.append(place.top)
                types = TupleType(tuple(type_of(each) for each in given))
                given = [code.value("make_tuple", given, types)]
        code.add("return", given)

    def _note_use(self, code: Code, top: Value) -> None:
        """Say how many words the thread has come to need."""
        operands = [self._used, thread_number(code)]
        place = code.value("element", operands, LvalueType(i64), may_be_negative=False)
        code.add("store", [code.value("convert", [top], i64), place])

    def _note_end(self, code: Code, framed: _Framed, terminator: Operation) -> None:
        if END in framed.frame.places:
            self._note(code, framed, END, code.integer(framed.frame.ends[terminator]))

    # ------------------------------------------------------------- loops

    def _end_round(self, code: Code, place: _Place, operation: Operation) -> None:
        given = self._values(place, operation)
        if place.loop is not None:  # it has frames
            self._note_end(code, place.framed, operation)
            if operation.kind == "break":
                around = place.framed.around
                assert around is not None
                self._note(code, around, ended_of(place.loop), code.integer(BROKEN))
            given += self._passed_on(place)
        code.add(operation.kind, given)

    def _passed_on(self, place: _Place) -> list[Value]:
        """What a round with a frame passes on, beside what the loop carries: the frame, and where
        the tape goes on."""
        return [place.framed.base, *([] if place.top is None else [place.top])]

    def _loop(self, code: Code, place: _Place, loop: Operation) -> None:
        frame = self._plan.round_frame(loop)
        if frame is None or self._plan.counts_again(loop):
            self._plain_loop(code, place, loop)
            return
        before, top = code.integer(NO_FRAME), place.top
        carried = [before, *([] if top is None else [top])]
        regions = [
            self._round(place, loop, frame, number, len(carried))
            for number in range(len(loop.regions))
        ]
        operands = [*self._values(place, loop), *carried]
        made = self._add(code, place, loop, operands, regions, carried)
        last, *rest = made.results[len(loop.results) :]
        if rest:
            place.top = rest[0]
        self._note(code, place.framed, last_of(loop), last)

    def _plain_loop(self, code: Code, place: _Place, loop: Operation) -> None:
        """One whose rounds keep nothing, or through which nothing leads back: what its calls keep
        is of no use."""
        regions = []
        for region in loop.regions:
            arm, _ = self._arm(replace(place, loop=None), region)
            regions.append(arm)
        self._add(code, place, loop, self._values(place, loop), regions)

    def _round(
        self, place: _Place, loop: Operation, frame: Frame, number: int, more: int
    ) -> Region:
        """One of the regions of a loop with frames. Those after the test of a ``while`` have its
        frame; the last one has that of what is around."""
        region, code = loop.regions[number], Code(loop.location)
        arguments = [Value(each.type, each.name) for each in region.arguments]
        added = [Value(weak_int, name) for name in ("frame", "top")[:more]]
        inner = replace(place, loop=loop, top=added[1] if more > 1 else None)
        inner.values.update(zip(region.arguments, arguments, strict=True))
        if number == len(loop.regions) - 1:
            inner.loop = place.loop
            self._note(code, place.framed, ended_of(loop), code.integer(EXHAUSTED))
            self._keep(code, inner, region.arguments)
            self._run(code, inner, region)
            if code.operations[-1].kind == "yield":
                code.operations[-1].operands += [added[0], *([inner.top] if inner.top else [])]
            return Region([*arguments, *added], code.operations)
        if number == 0:
            inner.framed = self._begin_round(code, inner, loop, frame, added[0])
            if loop.kind == "while":
                self._test(code, inner, region)
                return Region([*arguments, *added], code.operations)
        else:
            inner.framed = replace(
                self._framed_again(code, frame, added[0]), loop=loop, around=place.framed
            )
        self._keep(code, inner, region.arguments)
        self._run(code, inner, region)
        return Region([*arguments, *added], code.operations)

    def _framed_again(self, code: Code, frame: Frame, base: Value) -> _Framed:
        framed, _ = self._new_frame(code, frame, base)
        return framed

    def _begin_round(
        self, code: Code, inner: _Place, loop: Operation, frame: Frame, previous: Value
    ) -> _Framed:
        around = inner.framed
        if self._plan.has_linked_rounds(loop):
            assert inner.top is not None
            framed, inner.top = self._new_frame(code, frame, inner.top, around, loop)
            self._note(code, framed, PREVIOUS, previous)
            return framed
        rounds = rounds_of(loop)
        assert rounds is not None
        offset = around.frame.word(rounds_at(loop), len(rounds) * frame.size)
        first = code.at(around.base, offset)
        size = code.integer(frame.size)
        is_first = code.compare("lt", previous, code.integer(0))
        base = code.select(is_first, first, code.binary("add", previous, size))
        return self._within(code, frame, around, code.binary("sub", base, around.base), loop)

    def _test(self, code: Code, inner: _Place, region: Region) -> None:
        """The test of a ``while``: if it fails, the round has ended with it."""
        *operations, condition = region.operations
        self._keep(code, inner, region.arguments)
        self._run(code, inner, Region([], operations))
        self._note_end(code, inner.framed, condition)
        code.add("condition", [*self._values(inner, condition), *self._passed_on(inner)])
