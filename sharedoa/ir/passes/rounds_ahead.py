"""In a short loop along an inline array, the elements of all rounds are loaded before the first.

On a GPU a round that tests what it has loaded waits for it, and so does the next one, as loads do
not pass branches. Where each round begins with the element that its counter names, of an array that
the program changes nowhere, the first one is sure to ask the object, so its other elements may be
read there, too: all are under way together. The first one counts as known when all are there
(``together``), so that neither LLVM nor ptxas moves the others back behind the tests.

    for %zero, %two, %one (%i) {                         %a = load (inline_element %l, %zero)
      %o = load (inline_element %l, %i)                  %b = load (inline_element %l, %one)
      %t = compare %o, %null                      ->     %k = together %a, %b
      if %t { break } ...                                for ... (%i) {
                                                           %is = compare %i, %zero
                                                           %o = select %is, %k, %b ...

LLVM writes such loops out, and what is selected is known then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...model.scalars import ScalarType, boolean
from ...model.types import InlineType, ReferenceType
from ..core import (
    Function,
    Lane,
    Operation,
    Program,
    Region,
    Remark,
    Value,
    defined_in,
    element_of,
    rounds_of,
    unconverted,
)
from ..field_loads import field_of
from ..operations import Effects, effects_of
from ..rewrite import make, replace_uses
from ..roles import Role, may_meet, role_of, stored_roles
from .calls import callees

MOST_ROUNDS = 8
_TEXT = "what the rounds of this loop begin with is loaded before the first one"


def load_rounds_ahead(program: Program) -> None:
    """Load elements before loops that go along inline arrays."""
    stored = stored_roles(program)
    for function in program.functions.values():
        if not any(isinstance(fact, Lane) for fact in function.known.values()):
            _look_in(program, function, function.body, stored)


def _look_in(program: Program, function: Function, region: Region, stored: frozenset[Role]) -> None:
    for operation in [*region.operations]:
        for inner in operation.regions:
            _look_in(program, function, inner, stored)
        found = _first_load(operation, stored) if operation.kind == "for" else None
        if found is not None:
            at = region.operations.index(operation)
            region.operations[at:at] = _write(function, operation, found)
            program.remarks.append(Remark(operation.location, _TEXT))


class _Found(NamedTuple):
    """The load of an element, the operations that name the array, from a field on, and the numbers
    of the elements that rounds load."""

    load: Operation
    array: Sequence[Operation]
    rounds: Sequence[int]


def _first_load(loop: Operation, stored: frozenset[Role]) -> _Found | None:
    """What each round begins with, if that is an element by the loop's counter, and tests follow
    that others wait for."""
    rounds, body = rounds_of(loop), loop.regions[0]
    if rounds is None or "shared" in loop.attributes or not 2 <= len(rounds[:9]) <= MOST_ROUNDS:
        return None
    if not any(each.kind in ("if", "switch") or callees(each) for each in body.operations):
        return None
    inside = defined_in(body)
    for operation in body.operations:
        if operation.regions or effects_of(operation) & ~Effects.READS:
            return None
        element = operation.operands[0].source if operation.kind == "load" else None
        if element is None or element.kind != "inline_element":
            continue
        lvalue, index = element.operands
        array, type = field_of(lvalue), element_of(lvalue)
        if array is None or unconverted(index) is not body.arguments[0]:
            continue
        assert isinstance(type, InlineType)
        is_whole = isinstance(operation.result.type, ScalarType | ReferenceType)
        is_inside = min(rounds) >= 0 and max(rounds) < type.shape[0]
        role = role_of(element.result)
        is_stored = any(may_meet(role, each) for each in stored)
        if is_whole and is_inside and not is_stored and array[0].operands[0] not in inside:
            return _Found(operation, array, rounds)
    return None


def _write(function: Function, loop: Operation, found: _Found) -> list[Operation]:
    """The operations before the loop, which is changed."""
    load, at, made = found.load, found.load.location, list[Operation]()
    element = load.operands[0].source
    assert element is not None
    base = found.array[0].operands[0]
    for each in found.array:
        constants = [_copy(operand.source, made) for operand in each.operands[1:]]
        made.append(make(each.kind, [base, *constants], at, [each.result.type], **each.attributes))
        base = made[-1].result
    early: list[Value] = []
    for number in found.rounds:
        made.append(make("constant", [], at, [element.operands[1].type], value=number))
        operands = [base, made[-1].result]
        made.append(
            make("inline_element", operands, at, [element.result.type], **element.attributes)
        )
        made.append(make("load", [made[-1].result], at, [load.result.type]))
        early.append(made[-1].result)
    made.append(make("together", early, at, [load.result.type]))
    early[0] = made[-1].result
    body = loop.regions[0]
    counter, chosen = body.arguments[0], early[-1]
    selections: list[Operation] = []
    for number, value in zip(found.rounds, early[:-1], strict=False):
        constant = make("constant", [], at, [counter.type], value=number)
        test = make("compare", [counter, constant.result], at, [boolean], operator="eq")
        chosen_here = make("select", [test.result, value, chosen], at, [load.result.type])
        selections += [constant, test, chosen_here]
        chosen = chosen_here.result
    place = body.operations.index(load)
    body.operations[place : place + 1] = selections
    replace_uses(function, {load.result: chosen})
    return made


def _copy(source: Operation | None, made: list[Operation]) -> Value:
    """The constant once more, where it can be seen."""
    assert source is not None
    made.append(make("constant", [], source.location, [source.result.type], **source.attributes))
    return made[-1].result
