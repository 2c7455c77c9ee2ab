"""Small functions in the place of their calls, before the way back is made.

What a function is given may depend on anything; where its body stands in its place, it is seen
which numbers are constants, and what was computed is computed again instead of kept. That gradients
want optimised programs: "Reverse-Mode Automatic Differentiation and Optimization of GPU Kernels via
Enzyme" (Moses et al., SC 2021), where it is the largest factor.
"""

from __future__ import annotations

from ..core import Operation, Program, Region, Value
from ..passes.calls import called_by
from ..rewrite import replace_uses
from ..small_functions import in_place, is_small


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
        small = {s for s in done if is_small(program.functions[s])}
        _region(program, function.body, small, found)
        replace_uses(function, {value: _last(value, found) for value in found})
        done.add(symbol)

    for symbol in list(program.functions):
        if symbol not in begun:
            visit(symbol)


def _region(program: Program, region: Region, small: set[str], found: dict[Value, Value]) -> None:
    made: list[Operation] = []
    for operation in region.operations:
        for inner in operation.regions:
            _region(program, inner, small, found)
        if operation.kind != "call" or operation["symbol"] not in small:
            made.append(operation)
            continue
        called = program.functions[operation["symbol"]]
        body, result = in_place(called, operation.operands, operation)
        made += body
        if result is not None:
            found[operation.result] = result
    region.operations = made


def _last(value: Value, found: dict[Value, Value]) -> Value:
    while value in found:
        value = found[value]
    return value
