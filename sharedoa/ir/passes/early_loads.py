"""What is loaded of an object behind tests is loaded with the first of its fields: in loops that
end nobody knows when; and behind a kernel's tests what conditions ask, or what is loaded anyway.

On a GPU a test of what was loaded waits for it, and what is loaded behind the test waits again. A
round that asks an object for one field after another waits as often as it asks, and few threads go
so far, so that nothing else hides it. Where a round loads the first field of an object, that object
is one: its other fields may be read there, too, whatever comes of it. So they are, all together,
and the first one's value is known when all are there (``together``). What was loaded is not kept:
where it is needed it is loaded again, from the first-level cache, or LLVM knows it to be the same.
So nothing has to be known of stores and of other threads.

    %c = load (field %o <name = "car">)            %c = load (field %o <name = "car">)
    %t = compare %c, %null                         %e = load (field %o <name = "exits">)
    if %t { break } { yield }              ->      %k = together %c, %e
    %e = load (field %o <name = "exits">)          %t = compare %k, %null
                                                   if %t { break } { yield }
                                                   %e.2 = load (field %o <name = "exits">)

The same for an object that the next round begins with; and where rounds go along the elements of an
array, the next element is loaded with the first field of this one. Memory that is read so is that
of an object whose field is read there, or of an element that is inside. Outside of loops all
threads come to what is behind no test, of which few may go on, and find out by themselves what
their own objects are: there loads stay where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ...model.layout import Layout
from ...model.scalars import ScalarType
from ...model.types import ReferenceType
from ..core import (
    Function,
    Lane,
    Operation,
    Program,
    Region,
    Remark,
    Value,
    operations_in,
    regions_in,
    rounds_of,
    unconverted,
)
from ..field_loads import MOST_ELEMENTS, FieldLoads, Place
from ..job import Job
from ..next_elements import NextElement, load_next, next_element
from ..operations import Effects, effects_of, kind_of
from ..rewrite import make, replace_uses
from ..small_functions import in_place, is_small
from .calls import Inside, called_by, callees

MOST_PLACES = 6
"""Loaded with a first field: each takes a register, and memory moves 32 bytes for it."""
_TEXT = "with the first field of an object, what is asked for behind tests is loaded: "


class _First(NamedTuple):
    """What the operation that first loads a field of an object loads at once, and what to load with
    it."""

    object: Value
    at_once: Collection[Place]
    places: Sequence[Place]
    next: NextElement | None


def load_early(program: Program, job: Job) -> None:
    """Load fields of objects, in loops of unknown length, with the first of them."""
    seeker, called = _Seeker(program, job.layout), _called_in_loops(program)
    for function in program.functions.values():
        if any(isinstance(fact, Lane) for fact in function.known.values()):
            continue
        rounds = [(*each, False) for each in _rounds(function, function.symbol in called)]
        if function is program.kernel:
            rounds += [(region, None, True) for region in _behind_tests(function)]
        homes = _homes(function) if rounds else {}
        found = [
            (region, first)
            for region, loop, once in rounds
            for first in seeker.firsts(function, homes, region, loop, once)
        ]
        writer = _Writer(program, seeker.loads, function)
        for region, first in found:
            writer.write(region, first)


# ------------------------------------------------------------------ where


def _is_long(operation: Operation) -> bool:
    """Whether it is a loop of which nobody knows how many rounds a thread runs."""
    kind = kind_of(operation)
    is_loop = kind is not None and kind.is_loop and "shared" not in operation.attributes
    return is_loop and (operation.kind != "for" or rounds_of(operation) is None)


def _called_in_loops(program: Program) -> set[str]:
    """Functions that such loops call."""
    found: set[str] = set()
    pending = [
        symbol
        for function in program.functions.values()
        for operation in operations_in(function)
        if _is_long(operation)
        for symbol in _called(operation)
    ]
    while pending:
        symbol = pending.pop()
        if symbol not in found:
            found.add(symbol)
            pending += called_by(program.functions[symbol])
    return found


def _called(operation: Operation) -> Iterator[str]:
    for region in operation.regions:
        for each in operations_in(region):
            yield from callees(each)


def _rounds(function: Function, is_called: bool) -> Iterator[tuple[Region, Operation | None]]:
    """Regions that are run in such loops, and the loop whose rounds they are, if they are one's."""
    pending: list[tuple[Region, Operation | None, bool]] = [(function.body, None, is_called)]
    while pending:
        region, loop, is_inside = pending.pop()
        if is_inside:
            yield region, loop
        for operation in region.operations:
            is_long = _is_long(operation)
            for inner in operation.regions:
                is_round = is_long and inner is not operation.regions[-1]
                pending.append((inner, operation if is_round else None, is_inside or is_round))


def _behind_tests(function: Function) -> Iterator[Region]:
    """Regions that are run by threads for which a test came out so, once each."""
    pending = [(function.body, False)]
    while pending:
        region, is_behind = pending.pop()
        if is_behind:
            yield region
        for operation in region.operations:
            kind = kind_of(operation)
            if kind is not None and not kind.is_loop:
                pending += [(inner, True) for inner in operation.regions]


# ------------------------------------------------------------------ what


class _Order:
    """Of one region: at which of its operations others are, and how many of those before an
    operation branch, and have loops."""

    def __init__(self, region: Region, branches: Inside, loops: Inside, changes: Inside) -> None:
        self.place = {operation: n for n, operation in enumerate(region.operations)}
        for number, operation in enumerate(region.operations):
            for inner in operation.regions:
                self.place.update(dict.fromkeys(operations_in(inner), number))
        self.branches = [*accumulate(map(branches.of, region.operations), initial=0)]
        self.loops = [*accumulate(map(loops.of, region.operations), initial=0)]
        #: Those that do more than find out something.
        self.changing = {n for n, each in enumerate(region.operations) if changes.of(each)}


class _Seeker:
    """Looks for objects of which more than one field is loaded."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self._program, self._layout = program, layout
        self.loads = FieldLoads(program)
        self._branches = Inside(program, lambda o: bool(o.regions or effects_of(o) & _BRANCHING))
        self._loops = Inside(program, _is_loop)
        self._changes = Inside(program, lambda o: bool(effects_of(o) & ~_FINDING_OUT))

    def firsts(
        self,
        function: Function,
        homes: Mapping[Value, Region],
        region: Region,
        loop: Operation | None,
        once: bool,
    ) -> Iterator[_First]:
        """The objects that the region makes, or is given, with what to load of each. ``once``: the
        region is outside of loops."""
        made = [value for operation in region.operations for value in operation.results]
        order = None
        for value in [*region.arguments, *made]:
            if not isinstance(value.type, ReferenceType):
                continue
            first = self.loads.first_in(region, value)
            if first is None:
                continue
            order = order or self._order(region)
            at_once = {*(self.loads.certain(first, value) or ())}
            ancestry = {*value.type.cls.ancestry()}
            places = [
                place
                for place in self._wanted(function, value, first, order, homes, once)
                if place not in at_once and place.owner in ancestry and self._is_cheap(place)
            ]
            following = None
            if order.branches[-1] > order.branches[order.place[first]]:
                following = next_element(self._program, loop, region, value)
            if (places or following) and len(places) <= MOST_PLACES:
                yield _First(value, at_once, places, following)

    def _is_cheap(self, place: Place) -> bool:
        """Whether it is needed, or lies beside others of the object: elements of which one is meant
        have a row each, and memory moves 32 bytes for each row. The first one is meant most, as
        arrays are filled from there."""
        is_beside = self._layout.addressing(place.owner, str(place.steps[0])).scale == 1
        return place.is_known or is_beside or not any(step in place.steps for step in _LATER)

    def _wanted(
        self,
        function: Function,
        value: Value,
        first: Operation,
        here: _Order,
        homes: Mapping[Value, Region],
        once: bool,
    ) -> list[Place]:
        """What is loaded of the object behind a branch, but not behind loops; ``once``: in any case
        or to find out something."""
        wanted: dict[Place, None] = {}
        top = {*homes[value].operations}
        for found in self.loads.found(function, value):
            operation, order, begin = found.operation, here, here.place[first]
            if unconverted(found.value) is not value:  # in another round, or region
                order, begin = self._order(homes[found.value]), 0
            place, places = order.place.get(operation), found.places
            if place is None or place < begin:
                continue
            is_behind_a_loop = order.loops[place + 1] > order.loops[begin]
            if once and operation in top:
                places = self.loads.certain(operation, value) or ()
            elif is_behind_a_loop or (once and not self._is_question(value, order, here, place)):
                continue
            is_at_once = order is here and operation is not first and operation in top
            if not is_at_once or here.branches[place] > here.branches[begin]:
                wanted.update(dict.fromkeys(places))
        return [*wanted]

    def _is_question(self, value: Value, order: _Order, here: _Order, place: int) -> bool:
        """Whether an operation of a region does nothing but find out something of an object that
        was looked up: threads' own ones are asked first who goes on."""
        is_own = value.source is not None and value.source.kind == "run_element"
        return order is here and place not in here.changing and not is_own

    def _order(self, region: Region) -> _Order:
        return _Order(region, self._branches, self._loops, self._changes)


_LATER = range(1, MOST_ELEMENTS)
"""Elements behind the first one."""
_BRANCHING = Effects.REPORTS | Effects.RAISES
_FINDING_OUT = Effects.READS | Effects.CALLS | Effects.ASKS_THREAD | Effects.RETURNS


def _is_loop(operation: Operation) -> bool:
    kind = kind_of(operation)
    return kind is None or kind.is_loop


def _homes(function: Function) -> dict[Value, Region]:
    """The regions that values are made in, or given to."""
    found: dict[Value, Region] = {}
    for region in regions_in(function):
        found.update(dict.fromkeys(region.arguments, region))
        for operation in region.operations:
            found.update(dict.fromkeys(operation.results, region))
    return found


# ------------------------------------------------------------------ writing


class _Writer:
    """Writes what is loaded early into one function."""

    def __init__(self, program: Program, loads: FieldLoads, function: Function) -> None:
        self._program, self._loads, self._function = program, loads, function
        #: What stands in the place of results of calls that are gone.
        self._now: dict[Value, Value] = {}

    def write(self, region: Region, first: _First) -> None:
        object = unconverted(self._current(first.object))
        operation = self._first_load(region, object)
        if operation is None:
            return
        at = operation.location
        made: list[Operation] = []
        early: list[Value] = []
        itself = self._loads.certain(operation, object) or ()
        places = [place for place in first.places if place not in itself]
        for place in places:
            made += place.load(object, at)
            early.append(made[-1].result)
        if first.next is not None:
            base, index = map(self._current, (first.next.base, first.next.place))
            made += load_next(first.next._replace(place=index, base=base), at)
            early.append(made[-1].result)
        if not early:
            return
        value = operation.result
        together = make("together", [value, *early], at, [value.type])
        replace_uses(self._function, {value: together.result})
        together.operands[0] = value
        where = region.operations.index(operation)
        region.operations[where : where + 1] = [*made, operation, together]
        text = ", ".join(f"{p.owner.name}.{'.'.join(map(str, p.steps))}" for p in places)
        self._program.remarks.append(Remark(at, _TEXT + (text or "the next element")))

    def _first_load(self, region: Region, object: Value) -> Operation | None:
        """The first operation that loads a field of the object, and gives a number or reference.
        Small functions stand in the place of their calls, so that it is the load itself."""
        begin = 0
        while True:
            left = range(begin, len(region.operations))
            loading = (
                n for n in left if self._loads.certain(region.operations[n], object) is not None
            )
            where = next(loading, None)
            if where is None:
                return None
            found = region.operations[where]
            if found.kind != "load" and self._put_in_place(region, where, found):
                continue
            if isinstance(found.result.type, ScalarType | ReferenceType):
                return found
            begin = where + 1

    def _put_in_place(self, region: Region, where: int, call: Operation) -> bool:
        """Have a small function in the place of its call; whether it is one."""
        (symbol,) = callees(call)
        function = self._program.functions[symbol]
        if function is self._function or function.known or not is_small(function, True):
            return False
        body, result = in_place(function, call.operands, call)
        region.operations[where : where + 1] = body
        if result is not None:
            self._now[call.result] = result
            replace_uses(self._function, {call.result: result})
        return True

    def _current(self, value: Value) -> Value:
        while value in self._now:
            value = self._now[value]
        return value
