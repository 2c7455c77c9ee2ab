"""What rounds of a shared loop ask of an object of the thread whose rounds they are is loaded by
that thread, once, before the loop.

Other threads run the rounds. They would fetch which object it is, load its fields, and wait for
them in every round; now they fetch what was loaded. That is done where as few words are fetched.

    for 0, %n, 1 <shared> (%k) {                    %edges = load (field %vertex <name = "edges">)
      %edges = load (field %vertex ...)       ->    for 0, %n, 1 <shared> (%k) {
      ... element %edges, %k ... }                    ... element %edges, %k ... }

An object is asked before the loop if it was asked something there in any case, and for what nobody
stores to. Small functions stand where they are called with such objects.
"""

from __future__ import annotations

from collections.abc import Callable

from ...location import Location
from ...model.scalars import ScalarType
from ...model.types import ArrayType, ReferenceType
from ..before_loop import BeforeLoop, asked_before, count_up, shared_loops_of
from ..core import (
    Function,
    Operation,
    Program,
    Region,
    Value,
    live_ins,
    operations_in,
    unconverted,
)
from ..field_loads import FieldLoads
from ..rewrite import copy_operations, make, replace_uses
from ..roles import Role, stored_roles
from ..small_functions import put_in_place
from ..uniformity import is_of_launch
from .calls import is_known
from .shared_loops import only_indexed
from .unused import remove_unused_in

_TEXT = "loaded once before this loop, which threads share: "


def load_of_owners(program: Program) -> None:
    """Load fields of objects that shared loops ask, before these loops."""
    if not all(map(is_known, operations_in(program))):
        return
    loads, stored = FieldLoads(program), stored_roles(program)
    for function in program.functions.values():
        for loop, before in [*shared_loops_of(function)]:
            draft = _Draft(program, function, loop)
            if not draft.objects:
                continue
            once = draft.load(stored, asked_before(loads, before))
            if not once.made or _words(draft.loop, function) > _words(loop, function):
                continue
            region = before[-1].region
            place = region.operations.index(loop)
            region.operations[place : place + 1] = [*once.made, draft.loop]
            replace_uses(function, dict(zip(loop.results, draft.loop.results, strict=True)))
            program.remarks.append(once.remark(_TEXT, loop))


class _Draft:
    """A copy of a loop, in which small functions stand where they are given ``objects``, which its
    rounds ask and which may be others in each thread."""

    def __init__(self, program: Program, function: Function, loop: Operation) -> None:
        self.objects = {
            value
            for value in live_ins(loop.regions)
            if isinstance(value.type, ReferenceType) and not is_of_launch(value, function)
        }
        (self.loop,) = copy_operations([loop], {})
        self._body = self.loop.regions[0]
        if self.objects:
            put_in_place(program, function, self._body, self._is_asked)

    def _is_asked(self, call: Operation) -> bool:
        return any(unconverted(operand) in self.objects for operand in call.operands)

    def load(self, stored: frozenset[Role], is_there: Callable[[Value], bool]) -> BeforeLoop:
        """What loads their fields; the loop goes on with that."""
        once = BeforeLoop(stored, self.loop, lambda each: each in self.objects and is_there(each))
        loads = [each for each in operations_in(self._body) if each.kind == "load"]
        known = {each.result: once.loaded(each) for each in loads}
        replace_uses(self._body, {old: new for old, new in known.items() if new is not None})
        count_up(self.loop)
        remove_unused_in(Region([], [self.loop, make("return", self.loop.results, self._at)]))
        return once

    @property
    def _at(self) -> Location:
        return self.loop.location


def _words(loop: Operation, function: Function) -> int:
    """How many words a round fetches from the thread whose round it is."""
    captured = [each for each in live_ins(loop.regions) if not is_of_launch(each, function)]
    indexed = only_indexed(loop, captured)
    return sum(map(_words_of, captured)) - 2 * len(indexed)


def _words_of(value: Value) -> int:
    if isinstance(value.type, ScalarType):
        return -(-value.type.bits // 32)
    return 4 if isinstance(value.type, ArrayType) else 2
