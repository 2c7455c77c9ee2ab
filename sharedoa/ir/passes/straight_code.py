"""The rounds of a loop, written one after another as straight code (``flatten_loops``).

Tests become selections, and functions that only compute and load stand where they are called. Where
control may have left, by ``break``, ``continue`` or ``return``, all is computed as if it had not,
and what comes of it is dropped. So that the loads behind do not wait for those that the leaving
depends on, they are read unless the object is null, or the index outside; that takes references
that never lead to memory which was given back (``Facts.mapped``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ...model.scalars import ScalarType, boolean
from ...model.tiles import LANES
from ...model.types import InlineType, ReferenceType
from ..core import (
    Lane,
    LvalueType,
    Operation,
    Program,
    Region,
    Type,
    Value,
    behind,
    constant_of,
    element_of,
    live_ins,
    operations_in,
    root_of,
    unconverted,
)
from ..job import Job
from ..operations import PURE, Effects, cost_of, effects_of, kind_of
from ..rewrite import make
from .calls import callees
from .round_counts import MOST_ROUNDS, most_rounds

MOST_COST = 640
"""Machine instructions, roughly, of the straight code."""
_COST_OF_LOAD = 12
"""So many instructions behind tests for each load, at most: they run in every round then."""
MUCH = "they compute much for what they load"
STALE = "what is read depends on what rounds pass on"
_MOVED = "what is read where they were left may be no memory any more"
Path = tuple[Value, ...]
"""The tests that must hold where something is, the first one outermost."""


class CannotError(Exception):
    """The loop stays as it is; why, if that is worth telling."""


class Scope:
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

    def inner(self) -> Scope:
        return Scope(self._values, self._stale)


class _Target:
    """What ``break``, ``continue`` or ``return`` leads to: whether control has gone there (None: it
    never has), and with which values."""

    def __init__(self, kind: str, path: Path, rounds: int) -> None:
        self.kind = kind
        #: Where it is: behind how many tests, and in how many rounds that may be too many.
        self.tests, self.rounds = len(path), rounds
        self.left: Value | None = None
        self.values: list[Value] = []


class Writer:
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
        self._function = _Target("return", (), 0)
        self._targets = [self._function]
        #: Whether rounds that may be too many, of loops within each other, are none.
        self._rounds: list[Value] = []
        #: Arrays that have an element.
        self._arrays: set[Value] = set()
        #: What objects are where they are read, behind which tests: themselves, or nothing.
        self._objects: dict[Value, list[tuple[Path, Value]]] = {}
        #: Bytes that fields of one object reach.
        self._bytes = 0
        self._nothings: list[Operation] = []

    # ---------------------------------------------------------------- writing

    def _write(
        self, kind: str, operands: Sequence[Value], like: Operation, type: Type, **attributes: Any
    ) -> Value:
        """The result of an operation, which is written unless there is the same already."""
        key = (kind, *operands, type, *sorted(attributes.items()))
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
            raise CannotError("they pass on values of several parts")
        return self._write("select", [test, then, otherwise], like, then.type)

    def _all(self, tests: Sequence[Value], like: Operation) -> Value:
        # No "and", as what is computed where the tests before do not hold is not to be looked at.
        found, *others = tests
        for test in others:
            found = self._select(found, test, self._constant(False, boolean, like), like)
        return found

    def _not(self, test: Value, like: Operation) -> Value:
        false = self._constant(False, boolean, like)
        return self._write("compare", [test, false], like, boolean, operator="eq")

    def tests(self) -> tuple[list[Operation], Value | None]:
        """Take out the tests that loops have rounds, with what they are computed from; the value
        that says whether all hold, None where that is known. Raises CannotError if the whole is
        not worth it."""
        if self._cost > MOST_COST or self._tested_cost > _COST_OF_LOAD * self._loads:
            raise CannotError(MUCH)
        if not self._nonempty:
            return [], None
        outermost = self._nonempty[0].source
        assert outermost is not None
        all_hold = self._all([*dict.fromkeys(self._nonempty)], outermost)
        written = set(self.made)
        needed = {v.source for v in behind(all_hold, lambda operation: operation in written)}
        before = [operation for operation in self.made if operation in needed]
        if not all(map(_is_total, before)):
            raise CannotError("how many there are may be computed of anything")
        self.made = [operation for operation in self.made if operation not in needed]
        return before, all_hold

    # ---------------------------------------------------------------- leaving

    def left(self) -> tuple[Value | None, list[Value]]:
        """Whether the function around the loop is left, if it may be, and with which values."""
        return self._function.left, self._function.values

    def _may_have_left(self) -> bool:
        return any(target.left is not None for target in self._targets)

    def _enter(self, kind: str, path: Path) -> _Target:
        self._targets.append(_Target(kind, path, len(self._rounds)))
        return self._targets[-1]

    def _leave(self, last: Operation, values: list[Value], path: Path) -> None:
        """Control goes to the target that a terminator names, unless it has left before."""
        places = [n for n, each in enumerate(self._targets) if each.kind == last.kind]
        if not places:
            raise CannotError
        target, *within = self._targets[places[-1] :]
        tests = [*self._rounds[target.rounds :], *path[target.tests :]]
        lefts = (each.left for each in (target, *within))
        tests += [self._not(left, last) for left in lefts if left is not None]
        always = self._constant(True, boolean, last)
        leaves = self._all(tests, last) if tests else always
        if target.left is None:
            target.left, target.values = leaves, values
            return
        target.left = self._select(leaves, always, target.left, last)
        pairs = zip(values, target.values, strict=True)
        target.values = [self._select(leaves, new, before, last) for new, before in pairs]

    def _arrive(
        self, target: _Target, values: list[Value] | None, like: Operation
    ) -> list[Value] | None:
        """What the target is given by all ways that lead to it, of which ``values`` are those of
        the one that leaves nothing."""
        assert self._targets.pop() is target
        if target.left is None:
            return values
        if values is None:
            return target.values
        pairs = zip(target.values, values, strict=True)
        return [self._select(target.left, gone, here, like) for gone, here in pairs]

    # ---------------------------------------------------------------- loops

    def loop(self, loop: Operation, around: Scope, path: Path, outer: int) -> list[Value] | None:
        """Write all rounds of a loop; its results, None if it is always left for good. ``outer``:
        how often that is done."""
        start, stop, step, *carried = (around[operand] for operand in loop.operands)
        body, otherwise = loop.regions
        if "shared" in loop.attributes or around.is_stale(loop.operands[:3]):
            raise CannotError
        is_stale = around.is_stale(loop.operands[3:])
        left = self._enter("break", path)
        now: list[Value] | None = carried
        known = [constant_of(bound) for bound in (start, stop, step)]
        if None not in known and known[2]:
            counted = range(*(int(number) for number in known if number is not None))
            if len(counted[: MOST_ROUNDS + 1]) * outer > MOST_ROUNDS:
                raise CannotError
            for number in counted:
                if now is not None:
                    given = [self._constant(number, body.arguments[0].type, loop), *now]
                    now = self._round(loop, around, given, is_stale, path, outer * len(counted))
        else:
            now = self._bounded(loop, around, [start, stop, step, *carried], path, outer)
        if now is not None:
            scope = around.inner()
            for argument, value in zip(otherwise.arguments, now, strict=True):
                scope.set(argument, value, is_stale)
            now = self._region(otherwise, scope, path, "yield", outer)
        return self._arrive(left, now, loop)

    def _bounded(
        self, loop: Operation, around: Scope, operands: list[Value], path: Path, outer: int
    ) -> list[Value] | None:
        """Rounds of which there may be less, if there is one at all."""
        start, stop, step, *carried = operands
        most = most_rounds(start, stop)
        if path or most is None or constant_of(step) != 1 or not 0 < most * outer <= MOST_ROUNDS:
            raise CannotError
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
            self._rounds += [is_one] if count else []
            new = self._round(loop, around, [counter, *carried], is_stale, path, outer * most)
            del self._rounds[len(self._rounds) - min(count, 1) :]
            if new is None:  # and so are the rounds behind, if this is one
                return carried if count else None
            if count:
                pairs = zip(new, carried, strict=True)
                new = [self._select(is_one, here, before, loop) for here, before in pairs]
            carried, is_stale = new, True
        return carried

    def _round(
        self,
        loop: Operation,
        around: Scope,
        given: Sequence[Value],
        is_stale: bool,
        path: Path,
        outer: int,
    ) -> list[Value] | None:
        body, scope = loop.regions[0], around.inner()
        for place, (argument, value) in enumerate(zip(body.arguments, given, strict=True)):
            scope.set(argument, value, is_stale and place > 0)
        left = self._enter("continue", path)
        return self._arrive(left, self._region(body, scope, path, "continue", outer), loop)

    # ---------------------------------------------------------------- operations

    def _region(
        self, region: Region, scope: Scope, path: Path, end: str, outer: int
    ) -> list[Value] | None:
        """Write a region; what it passes on by a terminator of the kind ``end``, None if it never
        comes to that."""
        *within, last = region.operations
        for operation in within:
            cost = self._cost
            found = self._operation(operation, scope, path, outer)
            if found is None:
                return None
            if (path or self._may_have_left()) and not operation.regions:
                self._tested_cost += self._cost - cost
            if self._cost > MOST_COST:
                raise CannotError(MUCH)
            used = [*operation.operands, *live_ins(operation.regions)]
            is_stale = scope.is_stale(used)
            for result, value in zip(operation.results, found, strict=True):
                scope.set(result, value, is_stale)
        given = [scope[operand] for operand in last.operands]
        if last.kind == end:
            return given
        self._leave(last, given, path)
        return None

    def _operation(
        self, operation: Operation, scope: Scope, path: Path, outer: int
    ) -> Sequence[Value] | None:
        if operation.kind == "for":
            return self.loop(operation, scope, path, outer)
        if operation.kind == "if":
            return self._choice(operation, scope, path, outer)
        if operation.kind in ("call", "call_virtual"):
            return self._call(operation, scope, path, outer)
        if operation.kind == "load":
            place = self._place(operation.operands[0], scope, path)
            self._loads += 1
            root = root_of(place)
            is_sound = root is not None and root.kind == "field"
            if self._may_have_left() and not (
                is_sound or isinstance(element_of(place), ScalarType)
            ):
                raise CannotError(_MOVED)  # nobody may have written it yet
            return [self._write("load", [place], operation, operation.result.type)]
        if operation.regions or effects_of(operation) != PURE or len(operation.results) != 1:
            raise CannotError("they do more than compute and load")
        if isinstance(operation.result.type, LvalueType):
            return operation.results  # it is written where it is read
        if (path or self._may_have_left()) and not _is_total(operation):
            raise CannotError("what is computed behind a test may fault")
        given = [scope[operand] for operand in operation.operands]
        type, attributes = operation.result.type, operation.attributes
        made = self._write(operation.kind, given, operation, type, **attributes)
        if operation.kind == "run_element" and self._may_have_left():
            made = self._of_run(made, operation, given)
        return [made]

    def _choice(
        self, choice: Operation, scope: Scope, path: Path, outer: int
    ) -> Sequence[Value] | None:
        test = scope[choice.operands[0]]
        known = constant_of(test)
        if known is not None:
            arm = choice.regions[0 if known else 1]
            return self._region(arm, scope.inner(), path, "yield", outer)
        if scope.is_stale(choice.operands) and any(map(_reads, choice.regions)):
            raise CannotError(STALE)
        is_false = self._not(test, choice)
        then, otherwise = (
            self._region(region, scope.inner(), (*path, way), "yield", outer)
            for region, way in zip(choice.regions, (test, is_false), strict=True)
        )
        if then is None or otherwise is None:
            return otherwise if then is None else then
        pairs = zip(then, otherwise, strict=True)
        return [self._select(test, one, other, choice) for one, other in pairs]

    def _call(self, call: Operation, scope: Scope, path: Path, outer: int) -> list[Value] | None:
        symbols = callees(call)
        if len(symbols) != 1 or symbols[0] in self._under_way:
            raise CannotError("a call may run several methods, or leads back to itself")
        if call.kind == "call_virtual" and not self._job.mode.closed_world:
            raise CannotError("a call finds its method when it runs")
        callee = self._program.functions[symbols[0]]
        if any(isinstance(fact, Lane) for fact in callee.known.values()):
            raise CannotError
        inner = Scope()
        for parameter, operand in zip(callee.parameters, call.operands, strict=True):
            value = scope[operand]
            if parameter.type != value.type:  # a receiver, of a subclass
                value = self._write("convert", [value], call, parameter.type)
            inner.set(parameter, value, scope.is_stale([operand]))
        self._under_way.append(symbols[0])
        left = self._enter("return", path)
        found = self._arrive(left, self._region(callee.body, inner, path, "return", outer), call)
        self._under_way.pop()
        return found

    # ---------------------------------------------------------------- memory

    def _place(self, lvalue: Value, scope: Scope, path: Path) -> Value:
        """The lvalue, as it may be read here."""
        place = lvalue.source
        if place is None or scope.is_stale(place.operands):
            raise CannotError(STALE)
        given = [scope[operand] for operand in place.operands]
        if place.kind == "field":
            given[0] = self._object(given[0], place, path)
        elif place.kind in ("member", "inline_element"):
            given[0] = self._place(place.operands[0], scope, path)
            is_behind = path or self._may_have_left()
            if is_behind and place.kind == "inline_element" and not _has_element(*given):
                raise CannotError("an index behind a test may be outside")
        elif place.kind != "element":
            raise CannotError
        elif path or self._may_have_left():
            array, index = given
            if array not in self._arrays or "neighbour" in place.attributes:
                raise CannotError("an element of an array is read behind a test")
            first = self._constant(0, index.type, place)
            given[1] = self._select(self._is_inside(given, place), index, first, place)
        else:
            self._arrays.add(given[0])
        return self._write(place.kind, given, place, lvalue.type, **place.attributes)

    def _object(self, object: Value, field: Operation, path: Path) -> Value:
        """An object whose field is read here; nothing where the tests do not hold. If they did and
        another field was read before, it was one."""
        known = self._objects.setdefault(unconverted(object), [])
        found = next((each for tests, each in known if path[: len(tests)] == tests), None)
        if found is None:
            found = object
            if self._may_have_left():
                if field["owner"].foreign is not None or not self._is_mapped():
                    raise CannotError(_MOVED)
                null = self._write("zero", [], field, object.type)
                is_one = self._write("compare", [object, null], field, boolean, operator="is_not")
                path, found = (), self._or_nothing(is_one, object, field)
            elif path:
                found = self._or_nothing(self._all(path, field), object, field)
            known.append((path, found))
        layout, owner = self._job.layout, field["owner"]
        reach = layout.record(owner).size * (LANES if layout.is_tiled(owner) else 1)
        self._bytes = max(self._bytes, reach)
        for each in self._nothings:
            each.attributes["bytes"] = self._bytes
        if found.type != object.type:
            found = self._write("convert", [found], field, object.type)
        return found

    def _is_mapped(self) -> bool:
        """Whether fields of objects that are refer to objects that are, or were, or to none."""
        kinds = map(kind_of, operations_in(self._program))
        makes = any(kind is None or Effects.LIVES in kind.effects for kind in kinds)
        return not makes and self._job.facts.mapped()

    def _or_nothing(self, test: Value, object: Value, like: Operation) -> Value:
        nothing = self._write("nothing", [], like, object.type, bytes=0)
        assert nothing.source is not None
        self._nothings.append(nothing.source)
        return self._select(test, object, nothing, like)

    def _of_run(self, object: Value, element: Operation, given: Sequence[Value]) -> Value:
        """An element of a run where control may have left, so that the index may be any."""
        if "lane" in element.attributes:
            raise CannotError
        found = self._or_nothing(self._is_inside(given, element), object, element)
        self._objects.setdefault(found, []).append(((), found))
        return found

    def _is_inside(self, given: Sequence[Value], element: Operation) -> Value:
        """Whether an array has the element of an index."""
        array, index = given
        type = index.type
        length = self._write("length", [array], element, type)
        first = self._constant(0, type, element)
        if element["may_be_negative"]:
            first = self._write("binary", [first, length], element, type, operator="sub")
        is_low = self._write("compare", [index, first], element, boolean, operator="lt")
        is_high = self._write("compare", [index, length], element, boolean, operator="lt")
        return self._select(is_low, self._constant(False, boolean, element), is_high, element)


def _reads(region: Region) -> bool:
    return any(
        operation.kind == "load" or callees(operation) or any(map(_reads, operation.regions))
        for operation in region.operations
    )


def _has_element(array: Value, index: Value) -> bool:
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
