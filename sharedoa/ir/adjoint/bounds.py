"""How many words a thread keeps at most, where that follows from what a launch is given: its loops
go over a kernel's arrays, or count to numbers that the kernel is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...model.scalars import ScalarType
from ..core import Function, Operation, Region, Value, constant_of
from ..passes.calls import callees

if TYPE_CHECKING:
    from .program import Plan

Known = dict[Value, "int | None"]
"""Numbers, and the lengths of arrays."""
_OPERATORS = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}
#: Integers of 32 bits, which is the least that are counted with, hold less.
_MOST = 1 << 31


class Bounds:
    """Of one program whose frames are known."""

    def __init__(self, plan: Plan, functions: Mapping[str, Function]) -> None:
        self._plan, self._functions = plan, functions
        self._kernel = plan.program.kernel.symbol
        self._found: dict[tuple[str, tuple[int | None, ...]], int | None] = {}

    def words(self, given: Sequence[int | None]) -> int | None:
        """``given``: of each parameter of the kernel the number, or how long the array is; None for
        others. None if it is not known how much a thread keeps."""
        return self._of(self._kernel, tuple(given))

    def _of(self, symbol: str, given: tuple[int | None, ...]) -> int | None:
        if self._plan.is_circular(symbol):
            return None
        key = symbol, given
        if key not in self._found:
            function = self._functions[symbol]
            known: Known = dict(zip(function.parameters, given, strict=True))
            inside = self._region(function.body, known)
            frame = self._plan.frame(symbol).size
            self._found[key] = None if inside is None else inside + frame
        return self._found[key]

    def _region(self, region: Region, known: Known) -> int | None:
        """What is kept behind the frames that are around."""
        total = 0
        for operation in region.operations:
            if operation in self._plan.plain:
                continue
            more = self._operation(operation, known)
            if more is None:
                return None
            total += more
        return total

    def _operation(self, operation: Operation, known: Known) -> int | None:
        if operation.kind in ("for", "while"):
            return self._loop(operation, known)
        if operation.regions:
            return _most([self._region(region, known) for region in operation.regions])
        called = [s for s in callees(operation) if s in self._functions]
        if not called or self._plan.callee_size(operation) is not None:
            return 0
        given = tuple(_number(operand, known) for operand in operation.operands)
        return _most([self._of(symbol, given) for symbol in called])

    def _loop(self, loop: Operation, known: Known) -> int | None:
        behind = self._region(loop.regions[-1], known)
        if behind is None or not self._plan.has_linked_rounds(loop):
            return behind
        frame = self._plan.round_frame(loop)
        if loop.kind == "while" or frame is None:
            return None
        start, stop, step = (_number(operand, known) for operand in loop.operands[:3])
        inside = self._region(loop.regions[0], known)
        if start is None or stop is None or not step or inside is None:
            return None
        return behind + len(range(start, stop, step)) * (frame.size + inside)


def _most(found: Sequence[int | None]) -> int | None:
    whole = [each for each in found if each is not None]
    return max(whole, default=0) if len(whole) == len(found) else None


def _number(value: Value, known: Known) -> int | None:
    """The integer that a value is, or the length of an array."""
    if value not in known:
        known[value] = _computed(value, known)
    return known[value]


def _computed(value: Value, known: Known) -> int | None:
    source = value.source
    if source is None or not source.results:
        return None
    constant = constant_of(value)
    if isinstance(constant, int):
        return int(constant)
    if source.kind == "length":
        return _number(source.operands[0], known)
    if not _counts(value):
        return None
    if source.kind == "convert" and _counts(source.operands[0]):
        return _number(source.operands[0], known)
    operator = _OPERATORS.get(source["operator"]) if source.kind == "binary" else None
    if operator is None:
        return None
    left, right = (_number(operand, known) for operand in source.operands)
    if left is None or right is None:
        return None
    found: int = operator(left, right)
    least = 0 if isinstance(value.type, ScalarType) and value.type.kind == "uint" else -_MOST
    return found if least <= found < _MOST else None  # or it wraps


def _counts(value: Value) -> bool:
    """Whether it is an integer that holds all numbers below ``_MOST``."""
    type = value.type
    return isinstance(type, ScalarType) and type.kind in ("int", "uint") and type.bits >= 32
