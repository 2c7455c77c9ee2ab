"""Which parameters a kernel uses as objects in every launch, so that None for them is a mistake.

What is uncertain is not claimed: what stands in branches, in loops, behind a ``return`` or an
``assert``. The one branch that is looked into is the usual one around a kernel, ``if i < len(a)``,
which some thread enters if ``a`` has elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model.types import ReferenceType
from .core import Function, Operation, Program, Region, Value, unconverted
from .operations import Effects, effects_of

_LEAVES = Effects.RETURNS | Effects.RAISES | Effects.UNKNOWN


def certain_receivers(program: Program) -> dict[int, tuple[int, ...]]:
    """The kernel's parameters, by number, that it uses as objects whenever the arrays that are the
    parameters of the numbers in the value have elements."""
    kernel = program.kernel
    numbers = {parameter: number for number, parameter in enumerate(kernel.parameters)}
    found = _Uses(program.functions).of(kernel)
    return {numbers[v]: tuple(sorted(numbers[array] for array in arrays)) for v, arrays in found}


class _Uses:
    def __init__(self, functions: dict[str, Function]) -> None:
        self._functions = functions
        self._always: dict[str, frozenset[int]] = {}

    def of(self, function: Function) -> list[tuple[Value, frozenset[Value]]]:
        """The parameters, and of each the arrays that must have elements."""
        found: dict[Value, frozenset[Value]] = {}
        pending: list[tuple[Region, frozenset[Value]]] = [(function.body, frozenset())]
        while pending:
            region, needed = pending.pop()
            for operation in region.operations:
                for used in self._used_by(operation):
                    if used in function.parameters and isinstance(used.type, ReferenceType):
                        found.setdefault(used, needed)
                if operation.kind == "if":
                    array = _guarding(operation.operands[0])
                    if array is not None and array in function.parameters:
                        pending.append((operation.regions[0], needed | {array}))
                elif operation.kind == "while":
                    pending.append((operation.regions[0], needed))  # the first test
                if effects_of(operation) & _LEAVES:
                    break
        return list(found.items())

    def _used_by(self, operation: Operation) -> Iterator[Value]:
        """Values that are used as objects whenever ``operation`` is run."""
        if operation.kind in ("call_virtual", "field"):
            yield unconverted(operation.operands[0])
        elif operation.kind == "call":
            for number in self._always_used(operation["symbol"]):
                yield unconverted(operation.operands[number])

    def _always_used(self, symbol: str) -> frozenset[int]:
        """The parameters that a function uses as objects in every call, by number."""
        known = self._always.get(symbol)
        if known is None:
            self._always[symbol] = frozenset()  # of a function that calls itself nothing is claimed
            function = self._functions[symbol]
            numbers = {parameter: number for number, parameter in enumerate(function.parameters)}
            known = frozenset(numbers[v] for v, needed in self.of(function) if not needed)
            self._always[symbol] = known
        return known


def _guarding(test: Value) -> Value | None:
    """The array ``a`` of ``i < len(a)``, where ``i`` is the thread's index; else None."""
    compare = test.source
    if compare is None or compare.kind != "compare" or compare["operator"] != "lt":
        return None
    left, right = (unconverted(operand).source for operand in compare.operands)
    is_index = left is not None and left.kind == "thread_index"
    if is_index and right is not None and right.kind == "length":
        return right.operands[0]
    return None
