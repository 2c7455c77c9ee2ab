"""Functions that may stand in the place of their calls."""

from __future__ import annotations

from collections.abc import Sequence

from .core import Function, Operation, Value, operations_in, type_of
from .operations import Effects, effects_of, kind_of
from .rewrite import copy_operations, make

_MOST = 40
"""Operations of a function that stands where it is called."""
_LEAVES = Effects.RETURNS | Effects.LEAVES_LOOP | Effects.OWNS


def is_small(function: Function) -> bool:
    """Whether its body is a few operations that end with its only ``return``."""
    operations = [*operations_in(function)]
    *inside, last = function.body.operations
    if len(operations) > _MOST or last.kind != "return" or function.gradient is not None:
        return False
    return not any(effects_of(each) & _LEAVES or _is_loop(each) for each in inside)


def _is_loop(operation: Operation) -> bool:
    kind = kind_of(operation)
    inside = (each for region in operation.regions for each in region.operations)
    return kind is None or kind.is_loop or any(map(_is_loop, inside))


def in_place(
    function: Function, given: Sequence[Value], call: Operation
) -> tuple[list[Operation], Value | None]:
    """The operations of a small function in the place of a call, and its result, if it has one."""
    before: list[Operation] = []
    values: dict[Value, Value] = {}
    for parameter, value in zip(function.parameters, given, strict=True):
        if parameter.type != value.type:  # a receiver, of a subclass
            before.append(make("convert", [value], call.location, [type_of(parameter)]))
            value = before[-1].result
        values[parameter] = value
    *inside, last = function.body.operations
    found = copy_operations(inside, values)
    result = values.get(last.operands[0], last.operands[0]) if last.operands else None
    return [*before, *found], result
