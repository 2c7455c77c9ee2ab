"""Loops that go along the elements of an array, and where the next one lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..location import Location
from ..model.scalars import boolean, weak_int
from ..model.types import InlineType
from .core import (
    Operation,
    Program,
    Region,
    Type,
    Value,
    constant_of,
    defined_in,
    element_of,
    unconverted,
)
from .operations import Effects, effects_of
from .passes.calls import callees
from .rewrite import make


class NextElement(NamedTuple):
    """What names an element of an array, or of an inline one: ``base`` is the array, or where it
    lies. ``like``: the operation that names it, perhaps in a function that is called."""

    base: Value
    path: Sequence[Operation]
    place: Value
    step: int
    like: Operation


def next_element(
    program: Program, loop: Operation | None, region: Region, value: Value
) -> NextElement | None:
    """The element of an array that rounds of the loop load ``value`` from, if they go along it."""
    if loop is None:
        return None
    found = _element(program, value, frozenset())
    if found is None:
        return None
    root, path, index, like = found
    step = _step_of(loop, region, index)
    inside = {each for part in loop.regions for each in defined_in(part)}
    if step is None or root in inside or like.operands[1].type != weak_int:
        return None
    return NextElement(root, path, index, step, like)


def _element(
    program: Program, value: Value, under_way: frozenset[str]
) -> tuple[Value, Sequence[Operation], Value, Operation] | None:
    """The array or object, what names the inline array in it, the index, and what names the
    element, if the value is loaded from one."""
    source = value.source
    if source is None:
        return None
    if source.kind == "load":
        element = source.operands[0].source
        if element is None or element.kind not in ("element", "inline_element"):
            return None
        base, index = element.operands
        path: list[Operation] = []
        if element.kind == "inline_element":
            while base.source is not None and base.source.kind in ("field", "member"):
                path.insert(0, base.source)
                base = base.source.operands[0]
            if not path or path[0].kind != "field":
                return None
        return unconverted(base), path, index, element
    symbols = callees(source)
    if len(symbols) != 1 or symbols[0] in under_way:
        return None
    callee = program.functions[symbols[0]]
    *before, last = callee.body.operations
    if last.kind != "return" or len(last.operands) != 1:
        return None
    if any(effects_of(each) & Effects.RETURNS for each in before):
        return None  # the array may have no elements then, and its object may be none
    found = _element(program, unconverted(last.operands[0]), under_way | {*symbols})
    if found is None:
        return None
    base, steps, index, element = found
    given = dict(zip(callee.parameters, source.operands, strict=True))
    if base not in given or unconverted(index) not in given:
        return None
    return unconverted(given[base]), steps, given[unconverted(index)], element


def _step_of(loop: Operation, region: Region, index: Value) -> int | None:
    """How much larger the index is in the next round, if that is always so much."""
    counter = index
    while counter.source is not None:
        source = counter.source
        if source.kind == "binary" and source["operator"] in ("add", "sub"):
            if constant_of(source.operands[1]) is None:
                return None
        elif source.kind != "convert":
            return None
        counter = source.operands[0]
    if loop.kind == "for" and region is loop.regions[0] and counter is region.arguments[0]:
        step = constant_of(loop.operands[2])
        return None if step is None else int(step)
    if loop.kind != "while" or counter not in region.arguments:
        return None
    last = region.terminator
    if last.kind != "continue":
        return None
    next = last.operands[region.arguments.index(counter)].source
    if next is None or next.kind != "binary" or next["operator"] not in ("add", "sub"):
        return None
    distance = constant_of(next.operands[1])
    if distance is None or unconverted(next.operands[0]) is not counter:
        return None
    return int(distance) if next["operator"] == "add" else -int(distance)


def load_next(element: NextElement, at: Location) -> list[Operation]:
    """Operations that load the next element, or the first one where that is outside."""
    made: list[Operation] = []

    def write(kind: str, operands: list[Value], type: Type, **attributes: Any) -> Value:
        made.append(make(kind, operands, at, [type], **attributes))
        return made[-1].result

    base = element.base
    for each in element.path:
        base = write(each.kind, [base], each.result.type, **each.attributes)
    counts = element.like.operands[1].type
    index = element.place
    if index.type != counts:
        index = write("convert", [index], counts)
    step = write("constant", [], counts, value=element.step)
    zero = write("constant", [], counts, value=0)
    if element.like.kind == "element":
        length = write("length", [base], weak_int)
    else:
        type = element_of(base)
        assert isinstance(type, InlineType)
        length = write("constant", [], counts, value=type.shape[0])
    next = write("binary", [index, step], counts, operator="add")
    for operator, bound in (("lt", length), ("ge", zero)):
        is_inside = write("compare", [next, bound], boolean, operator=operator)
        next = write("select", [is_inside, next, zero], counts)
    attributes = {**element.like.attributes, "may_be_negative": False}
    lvalue = write(element.like.kind, [base, next], element.like.result.type, **attributes)
    write("load", [lvalue], element_of(lvalue))
    return made
