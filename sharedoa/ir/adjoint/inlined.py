"""Small functions in the place of their calls, before the way back is made.

What a function is given may depend on anything; where its body stands in its place, it is seen
which numbers are constants, and what was computed is computed again instead of kept. That gradients
want optimised programs: "Reverse-Mode Automatic Differentiation and Optimization of GPU Kernels via
Enzyme" (Moses et al., SC 2021), where it is the largest factor.
"""

from __future__ import annotations

from ..core import Function, Operation, Program, Region, Value, operations_in
from ..operations import Effects, effects_of, kind_of
from ..passes.calls import called_by
from ..rewrite import copy_operations, replace_uses

_MOST = 40
"""Operations of a function that stands where it is called."""
_LEAVES = Effects.RETURNS | Effects.LEAVES_LOOP | Effects.OWNS


def inline_small(program: Program) -> None:
    """Put the bodies of small functions in the place of direct calls, those first that others call.
    Functions that have a way back of their own, and those that call themselves, stay."""
    done: set[str] = set()
    begun: set[str] = set()

    def visit(symbol: str) -> None:
        begun.add(symbol)
        function = program.functions[symbol]
        for called in dict.fromkeys(called_by(function)):
            if called not in begun:
                visit(called)
        found: dict[Value, Value] = {}
        small = {s for s in done if _is_small(program.functions[s])}
        _region(program, function.body, small, found)
        replace_uses(function, {value: _last(value, found) for value in found})
        done.add(symbol)

    for symbol in list(program.functions):
        if symbol not in begun:
            visit(symbol)


def _is_small(function: Function) -> bool:
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


def _region(program: Program, region: Region, small: set[str], found: dict[Value, Value]) -> None:
    made: list[Operation] = []
    for operation in region.operations:
        for inner in operation.regions:
            _region(program, inner, small, found)
        if operation.kind != "call" or operation["symbol"] not in small:
            made.append(operation)
            continue
        called = program.functions[operation["symbol"]]
        values = dict(zip(called.parameters, operation.operands, strict=True))
        *inside, last = called.body.operations
        made += copy_operations(inside, values)
        if last.operands:
            (given,) = last.operands
            found[operation.result] = values.get(given, given)
    region.operations = made


def _last(value: Value, found: dict[Value, Value]) -> Value:
    while value in found:
        value = found[value]
    return value
