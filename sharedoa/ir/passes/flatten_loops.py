"""Loops of few rounds that only look at objects become straight code, so that what all rounds load
is under way at once.

On a GPU a branch behind a load waits for it, so nine neighbours that are asked one after another,
each by a few loads behind tests, wait as long as all these loads together. Here the rounds are
written out, tests become selections, and functions that only compute and load stand where they are
called. What would be loaded behind a test that fails is not: the object is then ``nothing``, memory
of zeros that is always there.

    for %a, %b, %one, %n (%i, %c) {            %x = field (select %t, %o, nothing) <name = "x">
      %o = ...; %t = compare %o, %null         %u = load %x
      %d = if %t {                     ->      %d = select %t, (binary %c, %u), %c
        %x = field %o; %u = load %x            ... as often as there may be rounds
        yield (binary %c, %u)
      } { yield %c }
      continue %d }

A call that may run several methods, all of which only look, stays a call, behind its tests, after
all that does not need what it gives: loads of later rounds are under way before anybody asks of
which class an object is.

How many rounds there are must be known, or at most how many, as from max(x - 1, ...) to
min(x + 2, ...). In the latter case the loop stays, for those that have no rounds, beside the
straight code, in which rounds that are too many do once more what the last one does, and what they
compute is dropped. So every place that is read is read by the loop, too, or is ``nothing``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...model.scalars import ScalarType, boolean
from ...model.tiles import LANES
from ...model.types import InlineType, ReferenceType
from ..core import (
    Function,
    Lane,
    LvalueType,
    Operation,
    Program,
    Region,
    Remark,
    Type,
    Value,
    behind,
    constant_of,
    element_of,
    live_ins,
    operations_in,
    rounds_of,
    unconverted,
)
from ..job import Job
from ..operations import PURE, Effects, cost_of, effects_of, kind_of
from ..rewrite import copy_operations, make, replace_uses, way_of
from .calls import callees

MOST_ROUNDS = 16
"""Of all loops within each other."""
MOST_COST = 640
"""Machine instructions, roughly, of the straight code."""
_COST_OF_LOAD = 12
"""So many instructions behind tests for each load, at most: they run in every round then."""
_DONE = "the rounds of this loop are straight code: what all of them load is under way at once"
_MUCH = "they compute much for what they load"
_STALE = "what is read depends on what rounds pass on"
_SEVERAL = "a call may run several methods, or leads back to itself"
_LOOKING = {PURE, Effects.READS, Effects.RETURNS}
Path = tuple[Value, ...]
"""The tests that must hold where something is, the first one outermost."""


def flatten_loops(program: Program, job: Job) -> None:
    """Write out the loops in which something is loaded behind a test."""
    for function in program.functions.values():
        _flatten_in(program, job, function, function.body)


def _flatten_in(program: Program, job: Job, function: Function, region: Region) -> None:
    following: list[Operation] = []
    for operation in region.operations:
        made = None
        if operation.kind == "for" and _has_loads_behind_tests(program, operation):
            made = _flattened(program, job, operation)
        if made is None:
            following.append(operation)
            for inner in operation.regions:
                _flatten_in(program, job, function, inner)
            continue
        following += made.operations
        replace_uses(function, dict(zip(operation.results, made.results, strict=True)))
    region.operations = following


class _Made(NamedTuple):
    operations: list[Operation]
    results: Sequence[Value]


def _has_loads_behind_tests(program: Program, loop: Operation) -> bool:
    """Whether LLVM would leave loads behind branches: in rounds whose number is not known, or
    behind tests. A first look, at the loop and what it calls."""
    pending, seen = [(loop.regions[0], rounds_of(loop) is None)], set()
    while pending:
        region, is_behind = pending.pop()
        for operation in region.operations:
            if operation.kind == "load" and is_behind:
                return True
            inner = is_behind or (operation.kind == "for" and rounds_of(operation) is None)
            pending += [(each, inner or operation.kind == "if") for each in operation.regions]
            for symbol in callees(operation):
                if (symbol, is_behind) not in seen:
                    seen.add((symbol, is_behind))
                    pending.append((program.functions[symbol].body, is_behind))
    return False


class _CannotError(Exception):
    """The loop stays as it is; why, if that is worth telling."""


def _flattened(program: Program, job: Job, loop: Operation) -> _Made | None:
    writer = _Writer(program, job)
    try:
        results = writer.loop(loop, _Scope(), (), 1)
        before, nonempty = writer.tests()
    except _CannotError as error:
        if error.args:
            text = f"the rounds of this loop stay one after another, as {error.args[0]}"
            program.remarks.append(Remark(loop.location, text))
        return None
    program.remarks.append(Remark(loop.location, _DONE))
    if nonempty is None:
        return _Made(writer.in_order(), results)
    at = loop.location
    types = [result.type for result in loop.results]
    straight = [*writer.in_order(), make("yield", results, at)]
    as_it_was = [loop, make("yield", loop.results, at)]
    choice = make("if", [nonempty], at, types, [Region([], straight), Region([], as_it_was)])
    return _Made([*before, choice], choice.results)


class _Scope:
    """What values of the loop are in the straight code. ``stale``: those that may be others than in
    the loop where a round is too many."""

    def __init__(self, values: Mapping[Value, Value] = {}, stale: Collection[Value] = ()) -> None:
        self._values, self._stale = dict(values), set(stale)

    def __getitem__(self, value: Value) -> Value:
        return self._values.get(value, value)

    def set(self, value: Value, found: Value, is_stale: bool) -> None:
        self._values[value] = found
        (self._stale.add if is_stale else self._stale.discard)(value)

    def is_stale(self, values: Iterable[Value]) -> bool:
        return not self._stale.isdisjoint(values)

    def inner(self) -> _Scope:
        return _Scope(self._values, self._stale)


class _Writer:
    """Writes operations of a loop, and of what it calls, one after another to ``made``."""

    def __init__(self, program: Program, job: Job) -> None:
        self._program, self._job = program, job
        self.made: list[Operation] = []
        self._same: dict[tuple[Any, ...], Value] = {}
        #: Of all, and of what is behind tests; and how many loads there are.
        self._cost = self._tested_cost = self._loads = 0
        #: Tests that loops have rounds.
        self._nonempty: list[Value] = []
        self._under_way: list[str] = []
        #: What objects are where they are read, behind which tests: themselves, or nothing.
        self._objects: dict[Value, list[tuple[Path, Value]]] = {}
        #: Bytes that fields of one object reach.
        self._bytes = 0
        self._nothings: list[Operation] = []
        #: Calls behind tests.
        self._late: list[Operation] = []

    # ---------------------------------------------------------------- writing

    def _write(
        self, kind: str, operands: Sequence[Value], like: Operation, type: Type, **attributes: Any
    ) -> Value:
        """The result of an operation, which is written unless there is the same already."""
        key = way_of(kind, operands, [type], attributes)
        found = self._same.get(key)
        if found is None:
            operation = make(kind, operands, like.location, [type], **attributes)
            self._cost += cost_of(operation)
            self.made.append(operation)
            found = self._same[key] = operation.result
        return found

    def _constant(self, value: int | bool, type: Type, like: Operation) -> Value:
        return self._write("constant", [], like, type, value=value)

    def _select(self, test: Value, then: Value, otherwise: Value, like: Operation) -> Value:
        if then is otherwise:
            return then
        if not isinstance(then.type, (ScalarType, ReferenceType)):
            raise _CannotError("they pass on values of several parts")
        return self._write("select", [test, then, otherwise], like, then.type)

    def _all(self, tests: Sequence[Value], like: Operation) -> Value:
        # No "and", as what is computed where the tests before do not hold is not to be looked at.
        found, *others = tests
        for test in others:
            found = self._select(found, test, self._constant(False, boolean, like), like)
        return found

    def tests(self) -> tuple[list[Operation], Value | None]:
        """Take out the tests that loops have rounds, with what they are computed from; the value
        that says whether all hold, None where that is known. Raises _CannotError if the whole is
        not worth it."""
        if self._cost > MOST_COST or self._tested_cost > _COST_OF_LOAD * self._loads:
            raise _CannotError(_MUCH)
        if not self._nonempty:
            return [], None
        outermost = self._nonempty[0].source
        assert outermost is not None
        all_hold = self._all([*dict.fromkeys(self._nonempty)], outermost)
        written = set(self.made)
        needed = {v.source for v in behind(all_hold, lambda operation: operation in written)}
        before = [operation for operation in self.made if operation in needed]
        if not all(map(_is_total, before)):
            raise _CannotError("how many there are may be computed of anything")
        self.made = [operation for operation in self.made if operation not in needed]
        return before, all_hold

    def in_order(self) -> list[Operation]:
        """What was written, with calls, and what needs what they give, after all else."""
        late, given = dict.fromkeys(self._late), {v for each in self._late for v in each.results}
        for operation in self.made:
            if not given.isdisjoint([*operation.operands, *live_ins(operation.regions)]):
                late[operation] = None
                given.update(operation.results)
        behind = [operation for operation in self.made if operation in late]
        return [*(operation for operation in self.made if operation not in late), *behind]

    # ---------------------------------------------------------------- loops

    def loop(self, loop: Operation, around: _Scope, path: Path, outer: int) -> list[Value]:
        """Write all rounds of a loop; its results. ``outer``: how often that is done."""
        start, stop, step, *carried = (around[operand] for operand in loop.operands)
        body, otherwise = loop.regions
        if "shared" in loop.attributes or around.is_stale(loop.operands[:3]):
            raise _CannotError
        # What rounds carry is made of what they read around them, too.
        is_stale = around.is_stale([*loop.operands[3:], *live_ins(loop.regions)])
        known = [constant_of(bound) for bound in (start, stop, step)]
        if None not in known and known[2]:
            counted = range(*(int(number) for number in known if number is not None))
            if len(counted[: MOST_ROUNDS + 1]) * outer > MOST_ROUNDS:
                raise _CannotError
            for number in counted:
                at = self._constant(number, body.arguments[0].type, loop)
                given = [at, *carried]
                carried = self._round(loop, around, given, is_stale, path, outer * len(counted))
        else:
            carried = self._bounded(loop, around, [start, stop, step, *carried], path, outer)
        scope = around.inner()
        for argument, value in zip(otherwise.arguments, carried, strict=True):
            scope.set(argument, value, is_stale)
        return self._region(otherwise, scope, path, "yield", outer)

    def _bounded(
        self, loop: Operation, around: _Scope, operands: list[Value], path: Path, outer: int
    ) -> list[Value]:
        """Rounds of which there may be less, if there is one at all."""
        start, stop, step, *carried = operands
        most = most_rounds(start, stop)
        if path or most is None or constant_of(step) != 1 or not 0 < most * outer <= MOST_ROUNDS:
            raise _CannotError
        counts, number = start.type, loop.regions[0].arguments[0].type
        one = self._constant(1, counts, loop)
        last = self._write("binary", [stop, one], loop, counts, operator="sub")
        is_one = self._write("compare", [start, stop], loop, boolean, operator="lt")
        self._nonempty.append(is_one)
        at, is_stale = start, around.is_stale(loop.operands[3:])
        for count in range(most):
            if count:
                distance = self._constant(count, counts, loop)
                next = self._write("binary", [start, distance], loop, counts, operator="add")
                is_within = self._write("compare", [next, stop], loop, boolean, operator="lt")
                # The sum may overflow, but only behind the last round.
                is_one = is_within if count == 1 else self._all([is_one, is_within], loop)
                at = self._select(is_one, next, last, loop)
            counter = at if counts == number else self._write("convert", [at], loop, number)
            new = self._round(loop, around, [counter, *carried], is_stale, path, outer * most)
            if count:
                pairs = zip(new, carried, strict=True)
                new = [self._select(is_one, here, before, loop) for here, before in pairs]
            carried, is_stale = new, True
        return carried

    def _round(
        self,
        loop: Operation,
        around: _Scope,
        given: Sequence[Value],
        is_stale: bool,
        path: Path,
        outer: int,
    ) -> list[Value]:
        body, scope = loop.regions[0], around.inner()
        for place, (argument, value) in enumerate(zip(body.arguments, given, strict=True)):
            scope.set(argument, value, is_stale and place > 0)
        return self._region(body, scope, path, "continue", outer)

    # ---------------------------------------------------------------- operations

    def _region(
        self, region: Region, scope: _Scope, path: Path, end: str, outer: int
    ) -> list[Value]:
        """Write a region; what it passes on by a terminator of the kind ``end``."""
        *within, last = region.operations
        if last.kind != end:
            raise _CannotError("they may be left")
        for operation in within:
            cost = self._cost
            found = self._operation(operation, scope, path, outer)
            if path and not operation.regions:
                self._tested_cost += self._cost - cost
            if self._cost > MOST_COST:
                raise _CannotError(_MUCH)
            used = [*operation.operands, *live_ins(operation.regions)]
            is_stale = scope.is_stale(used)
            for result, value in zip(operation.results, found, strict=True):
                scope.set(result, value, is_stale)
        return [scope[operand] for operand in last.operands]

    def _operation(
        self, operation: Operation, scope: _Scope, path: Path, outer: int
    ) -> Sequence[Value]:
        if operation.kind == "for":
            return self.loop(operation, scope, path, outer)
        if operation.kind == "if":
            return self._choice(operation, scope, path, outer)
        if operation.kind in ("call", "call_virtual"):
            return self._call(operation, scope, path, outer)
        if operation.kind == "load":
            place = self._place(operation.operands[0], scope, path)
            self._loads += 1
            return [self._write("load", [place], operation, operation.result.type)]
        if operation.regions or effects_of(operation) != PURE or len(operation.results) != 1:
            raise _CannotError("they do more than compute and load")
        if isinstance(operation.result.type, LvalueType):
            return operation.results  # it is written where it is read
        if not _is_total(operation):
            if path:
                raise _CannotError("what is computed behind a test may fault")
            if scope.is_stale(operation.operands):
                raise _CannotError(_STALE)
        given = [scope[operand] for operand in operation.operands]
        type, attributes = operation.result.type, operation.attributes
        return [self._write(operation.kind, given, operation, type, **attributes)]

    def _choice(self, choice: Operation, scope: _Scope, path: Path, outer: int) -> Sequence[Value]:
        test = scope[choice.operands[0]]
        known = constant_of(test)
        if known is not None:
            arm = choice.regions[0 if known else 1]
            return self._region(arm, scope.inner(), path, "yield", outer)
        if scope.is_stale(choice.operands) and any(map(_reads, choice.regions)):
            raise _CannotError(_STALE)
        is_false = self._write(
            "compare", [test, self._constant(False, boolean, choice)], choice, boolean,
            operator="eq",
        )  # fmt: skip
        then, otherwise = (
            self._region(region, scope.inner(), (*path, way), "yield", outer)
            for region, way in zip(choice.regions, (test, is_false), strict=True)
        )
        pairs = zip(then, otherwise, strict=True)
        return [self._select(test, one, other, choice) for one, other in pairs]

    def _call(self, call: Operation, scope: _Scope, path: Path, outer: int) -> list[Value]:
        symbols = callees(call)
        if call.kind == "call_virtual" and not self._job.mode.closed_world:
            raise _CannotError("a call finds its method when it runs")
        if len(symbols) > 1 and all(map(self._only_looks, symbols)):
            return self._late_call(call, scope, path)
        if len(symbols) != 1 or symbols[0] in self._under_way:
            raise _CannotError(_SEVERAL)
        callee = self._program.functions[symbols[0]]
        if any(isinstance(fact, Lane) for fact in callee.known.values()):
            raise _CannotError
        inner = _Scope()
        for parameter, operand in zip(callee.parameters, call.operands, strict=True):
            value = scope[operand]
            if parameter.type != value.type:  # a receiver, of a subclass
                value = self._write("convert", [value], call, parameter.type)
            inner.set(parameter, value, scope.is_stale([operand]))
        self._under_way.append(symbols[0])
        found = self._region(callee.body, inner, path, "return", outer)
        self._under_way.pop()
        return found

    def _only_looks(self, symbol: str) -> bool:
        """Whether the function does nothing but compute and load, without loops and calls."""
        function = self._program.functions[symbol]
        return not any(isinstance(fact, Lane) for fact in function.known.values()) and all(
            not operation.regions and effects_of(operation) in _LOOKING
            for operation in operations_in(function)
        )

    def _late_call(self, call: Operation, scope: _Scope, path: Path) -> list[Value]:
        """A call that may run several methods, where its tests hold; its results are not to be
        used where they do not."""
        if scope.is_stale(call.operands):
            raise _CannotError(_STALE)
        types = [result.type for result in call.results]
        if not all(isinstance(type, ScalarType) for type in types):
            raise _CannotError("they pass on values of several parts")
        at = call.location
        (made,) = copy_operations([call], {each: scope[each] for each in call.operands})
        self._cost += max(map(self._cost_of, callees(call)))
        if path:
            none = [make("constant", [], at, [type], value=0) for type in types]
            ways = (
                Region([], [*done, make("yield", [v for each in done for v in each.results], at)])
                for done in ([made], none)
            )
            made = make("if", [self._all(path, call)], at, types, [*ways])
        self.made.append(made)
        self._late.append(made)
        return made.results

    def _cost_of(self, symbol: str) -> int:
        return sum(map(cost_of, operations_in(self._program.functions[symbol])))

    # ---------------------------------------------------------------- memory

    def _place(self, lvalue: Value, scope: _Scope, path: Path) -> Value:
        """The lvalue, as it may be read here."""
        place = lvalue.source
        if place is None or scope.is_stale(place.operands):
            raise _CannotError(_STALE)
        given = [scope[operand] for operand in place.operands]
        if place.kind == "field":
            given[0] = self._object(given[0], place, path)
        elif place.kind in ("member", "inline_element"):
            given[0] = self._place(place.operands[0], scope, path)
            if path and place.kind == "inline_element" and not _is_inside(*given):
                raise _CannotError("an index behind a test may be outside")
        elif place.kind != "element" or path:
            raise _CannotError("an element of an array is read behind a test")
        return self._write(place.kind, given, place, lvalue.type, **place.attributes)

    def _object(self, object: Value, field: Operation, path: Path) -> Value:
        """An object whose field is read here; nothing where the tests do not hold. If they did and
        another field was read before, it was one."""
        known = self._objects.setdefault(unconverted(object), [])
        found = next((each for tests, each in known if path[: len(tests)] == tests), None)
        if found is None:
            found = object
            if path:
                nothing = self._write("nothing", [], field, object.type, bytes=0)
                assert nothing.source is not None
                self._nothings.append(nothing.source)
                found = self._select(self._all(path, field), object, nothing, field)
            known.append((path, found))
        layout, owner = self._job.layout, field["owner"]
        reach = layout.record(owner).size * (LANES if layout.is_tiled(owner) else 1)
        self._bytes = max(self._bytes, reach)
        for each in self._nothings:
            each.attributes["bytes"] = self._bytes
        if found.type != object.type:
            found = self._write("convert", [found], field, object.type)
        return found


def _reads(region: Region) -> bool:
    return any(
        operation.kind == "load" or callees(operation) or any(map(_reads, operation.regions))
        for operation in region.operations
    )


def _is_inside(array: Value, index: Value) -> bool:
    """Whether it is known that an inline array has such an element."""
    number, type = constant_of(index), element_of(array)
    return number is not None and isinstance(type, InlineType) and 0 <= number < type.shape[0]


_TOTAL_OPERATORS = frozenset({"add", "sub", "mul", "and", "or", "xor"})


def _is_total(operation: Operation) -> bool:
    """Whether it may be computed of whatever there is."""
    if operation.kind != "binary":
        kind = kind_of(operation)
        return kind is not None and kind.is_total
    operator, type = operation["operator"], operation.result.type
    is_float = isinstance(type, ScalarType) and type.kind == "float"
    return operator in _TOTAL_OPERATORS or (is_float and operator == "truediv")


# -------------------------------------------------------------------- bounds


def most_rounds(start: Value, stop: Value) -> int | None:
    """How many rounds a loop from ``start`` to ``stop`` by one has at most, if both are a known
    distance from one number: rounds are then as many or none, as one of the two sums may overflow
    and not the other one, which leaves ``stop`` below ``start``."""
    found = [
        high - low
        for base, low in _near(start, "gt")
        for other, high in _near(stop, "lt")
        if base is other
    ]
    return max(min(found), 0) if found else None


def _near(value: Value, operator: str) -> list[tuple[Value | None, int]]:
    """Numbers with a distance from them that the value is not below (``gt``: of maxima) or not
    above (``lt``: of minima); None is 0."""
    found: list[tuple[Value | None, int]] = []
    pending = [value]
    while pending:
        each = pending.pop()
        source = each.source
        if source is not None and source.kind == "select":
            test, *both = source.operands
            asked = test.source
            is_extreme = asked is not None and asked.kind == "compare" and asked.operands == both
            if is_extreme and asked is not None and asked["operator"] == operator:
                pending += both
                continue
        number = constant_of(each)
        if number is not None:
            found.append((None, int(number)))
            continue
        found.append((each, 0))
        if source is not None and source.kind == "binary" and source["operator"] in ("add", "sub"):
            base, distance = source.operands[0], constant_of(source.operands[1])
            if distance is not None and abs(distance) <= MOST_ROUNDS:
                found.append((base, int(distance if source["operator"] == "add" else -distance)))
    return found
