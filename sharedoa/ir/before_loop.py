"""What rounds of a loop compute that is the same in all of them, and may be computed before it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType
from .core import (
    Function,
    Operation,
    Region,
    Remark,
    Value,
    constant_of,
    defined_in,
    operations_in,
    unconverted,
)
from .field_loads import FieldLoads, field_of
from .rewrite import copy_operations
from .roles import Role, may_meet, role_of

_LOADED = ScalarType, ReferenceType, ArrayType
_COMPUTING = ("constant", "convert", "length")
_MOST = 12
"""Operations that lead to such a value."""


class Around(NamedTuple):
    """A region around a loop, and which of its operations the loop is, or is in."""

    region: Region
    operation: Operation


Before = list[Around]
"""All of them, the outermost first."""


def shared_loops_of(function: Function) -> Iterator[tuple[Operation, Before]]:
    """The loops that threads share. Those of a region may be changed when they are given."""
    pending: list[tuple[Region, Before]] = [(function.body, [])]
    while pending:
        region, around = pending.pop()
        for operation in [*region.operations]:
            before = [*around, Around(region, operation)]
            if "shared" in operation.attributes:
                yield operation, before
            else:
                pending += [(inner, before) for inner in operation.regions]


def is_counter(value: Value, loop: Operation) -> bool:
    """Whether it is the number of a loop's round, in some integer type that has room for it where
    the loop counts up from zero."""
    counter, bounds = loop.regions[0].arguments[0], loop.operands[0].type
    assert isinstance(bounds, ScalarType)
    while value is not counter:
        source, type = value.source, value.type
        if source is None or source.kind != "convert" or not isinstance(type, ScalarType):
            return False
        if not type.is_integer or type.bits < bounds.bits:
            return False
        value = source.operands[0]
    return True


def count_up(loop: Operation) -> None:
    """Note that elements whose index is the number of a round have none that is negative."""
    if constant_of(loop.operands[0]) != 0:
        return
    for each in operations_in(loop.regions[0]):
        if "may_be_negative" in each.attributes and is_counter(each.operands[1], loop):
            each.attributes["may_be_negative"] = False


def asked_before(loads: FieldLoads, before: Before) -> Callable[[Value], bool]:
    """Whether a field of an object is loaded before a loop in any case."""
    return cache(
        lambda object: any(
            loads.certain(each, object) is not None
            for region, inner in before
            for each in region.operations[: region.operations.index(inner)]
        )
    )


class BeforeLoop:
    """Of one loop. ``stored``: all that the program writes to (``roles``); ``is_there``: whether an
    object may be asked before the loop."""

    def __init__(
        self, stored: frozenset[Role], loop: Operation, is_there: Callable[[Value], bool]
    ) -> None:
        self._stored, self._is_there = stored, is_there
        self._inside = defined_in(Region([], [loop]))
        #: What loads fields before the loop, and what these are called.
        self.made: list[Operation] = []
        self.names: list[str] = []
        self._loaded: dict[Hashable, Value] = {}

    def loaded(self, load: Operation) -> Value | None:
        """What a round loads, if it is a field that is the same in all of them: loaded once, by the
        operations ``made``."""
        chain, known = self.asked(load), self.operations(load.result)
        if not chain or not known or not isinstance(load.result.type, _LOADED):
            return None
        object, cls = unconverted(chain[0].operands[0]), chain[0]["owner"]
        steps = (each.attributes.get("name") or constant_of(each.operands[1]) for each in chain)
        key = object, cls, *steps
        if key not in self._loaded:
            values: dict[Value, Value] = {}
            self.made += copy_operations(known, values)
            self._loaded[key] = values[load.result]
            self.names.append(f"{cls.name}.{chain[0]['name']}")
        return self._loaded[key]

    def remark(self, text: str, loop: Operation) -> Remark:
        return Remark(loop.location, text + ", ".join(dict.fromkeys(self.names)))

    def is_outside(self, value: Value) -> bool:
        return value not in self._inside

    def operations(self, value: Value) -> Sequence[Operation] | None:
        """What computes a value of a round, in order, if it is the same in all rounds and may be
        computed before the first one, or without one; None if not."""
        found: dict[Operation, None] = {}
        pending = [value]
        while pending:
            each = pending.pop()
            if self.is_outside(each):
                continue
            source = each.source
            if source is None or len(found) > _MOST:
                return None
            if source.kind == "load":
                chain = self.asked(source)
                if chain is None:
                    return None
                found |= dict.fromkeys([source, *reversed(chain)])
                pending += [operand for part in chain for operand in part.operands]
            elif source.kind in _COMPUTING:
                found[source] = None
                pending += source.operands
            elif source not in found:
                return None
        return _in_order(found)

    def asked(self, load: Operation) -> Sequence[Operation] | None:
        """What names the field that a round loads, if it is one of an object which is there before
        the loop, and nobody stores to it."""
        chain = field_of(load.operands[0])
        if chain is None:
            return None
        object = unconverted(chain[0].operands[0])
        if not isinstance(object.type, ReferenceType):
            return None
        if chain[0]["owner"] not in object.type.cls.ancestry():
            return None  # of a class that the object may have in some rounds only
        role = role_of(load.operands[0])
        if any(may_meet(role, each) for each in self._stored):
            return None
        return chain if self._is_there(object) else None


def _in_order(found: dict[Operation, None]) -> list[Operation]:
    """Operations after those that make what they use."""
    ordered: dict[Operation, None] = {}

    def add(operation: Operation) -> None:
        for operand in operation.operands:
            if operand.source in found and operand.source not in ordered:
                add(operand.source)
        ordered[operation] = None

    for each in found:
        if each not in ordered:
            add(each)
    return [*ordered]
