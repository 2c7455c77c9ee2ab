"""Some threads of a launch, run at once, and the fields that they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np

from ..context_managers import contextmanager
from ..heap.heap import Heap
from ..ir.core import LvalueType, Operation, Program, Region
from ..ir.operations import Effects, kind_of
from ..model.classes import ClassType
from ..model.record import scalar_parts
from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType, ValueType
from .control import CONTROL, INNER_ROUNDS, ROUNDS, Environment, Join, Step, Ways
from .grouping import WARP, Touches
from .lanes import ALL, Arrays, Later, Lazy, Numbers, Scalars, Value, Weights, now
from .memory import HeapMemory
from .values import EVALUATE, LENIENT

WARPS = 16
"""Sampled of a launch at equal distances, and as many at growing ones from its beginning, where
programs keep what is left of objects that went."""
_MOST_OPERATIONS = 2000
"""And touches; enough for nine neighbours that take two virtual calls each."""
_DEEPEST = 12
#: What operations may do beside touching what they are given lvalues of.
_HARMLESS = (
    Effects.READS
    | Effects.WRITES
    | Effects.ATOMIC
    | Effects.ASKS_THREAD
    | Effects.REPORTS
    | Effects.RAISES
    | Effects.WAITS
)


class Enough(Exception):
    """What was found so far must do."""


def sample(
    program: Program, heap: Heap, size: tuple[int, int], arguments: Sequence[Any], apart: int = 1
) -> Touches:
    """What a few warps touch of a launch of ``size`` threads along both axes with ``arguments``, in
    the heap as it is now, whose lock the caller holds; ``program``: as before any pass; ``apart``:
    how far apart in number the threads of a warp are (``ir.regrouping``). Raises DeviceError if an
    earlier launch failed."""
    threads = Threads(program, heap, size, apart)
    parameters = zip(program.kernel.parameters, arguments, strict=True)
    with np.errstate(all="ignore"):
        return threads.run([given_value(each.type, value) for each, value in parameters])


def given_value(type: Any, value: Any) -> Value:
    """An argument of the launch."""
    if isinstance(type, ArrayType):
        # Once: launches of other threads may end what is known of it.
        run = value._run if isinstance(type.element, ReferenceType) else None
        address = np.uint64(0 if run is not None else value._address)
        return Arrays(address, np.int64(len(value)), ALL, run)
    if isinstance(type, ReferenceType):
        place = 0 if value is None else value._heap.encoding.address(value._reference)
        return Scalars(np.uint64(place))
    if isinstance(type, ScalarType):
        return Scalars(type.dtype.type(type(value)))
    # Those of other compilers may be given as tuples.
    if isinstance(type, ValueType) and isinstance(value, type.python_class):
        return {name: given_value(each, getattr(value, name)) for name, each in type.fields.items()}
    return None


class Threads:
    """The sampled threads of one launch. ``index`` are their numbers along both axes, ``size``
    those of all threads; lanes beyond the end of a row of threads run nothing. ``symbols``: of the
    program's functions."""

    def __init__(self, program: Program, heap: Heap, size: tuple[int, int], apart: int = 1) -> None:
        self.size = size
        self.memory = HeapMemory(heap)
        self.index, self._weights = _spread(size, apart)
        self.symbols = [*program.functions]
        self.callees = cache(self._callees)
        self._program = program
        self._touches = Touches()
        self._most_rounds = ROUNDS
        self._depth, self._left = 0, _MOST_OPERATIONS
        self._accesses = cache(_accesses)
        self._parts = cache(lambda type: [*scalar_parts(self.memory.dtype(type), 0)])

    def run(self, arguments: Sequence[Value]) -> Touches:
        """Run the kernel; what it touched."""
        # Regions may be nested deeper than CPython goes where functions call each other, too.
        with suppress(Enough, RecursionError):
            self.run_function(self._program.kernel.symbol, arguments, self._weights)
        return self._touches

    def _callees(self, operation: Operation) -> dict[ClassType, int]:
        """By class, one more than the place in ``symbols`` of what a virtual call runs."""
        numbers = {symbol: number for number, symbol in enumerate(self.symbols, 1)}
        return {each.cls: numbers[each.symbol] for each in operation["candidates"]}

    @contextmanager
    def in_loop(self) -> Iterator[int]:
        """For a loop: how many rounds it should have at most."""
        before, self._most_rounds = self._most_rounds, INNER_ROUNDS
        yield before
        self._most_rounds = before

    def run_function(self, symbol: str, arguments: Sequence[Lazy], weights: Weights) -> Join:
        """Run a function in the lanes that have a weight; what it returns."""
        returned = Join()
        if self._depth < _DEEPEST:
            self._depth += 1
            body = self._program.functions[symbol].body
            environment = dict(zip(body.arguments, arguments, strict=True))
            self.run_region(body, environment, {"return": returned}, weights)
            self._depth -= 1
        return returned

    def run_region(
        self, region: Region, environment: Environment, ways: Ways, weights: Weights
    ) -> None:
        """Run a region in the lanes that have a weight, of which there are some."""
        for operation in region.operations:
            kind = operation.kind
            self._left -= 1
            if self._left < 0:
                raise Enough
            given = [environment[operand] for operand in operation.operands]
            if kind in CONTROL:
                step = Step(self, operation, given, environment, ways, weights)
                after = CONTROL[kind](step)
                if after is None:
                    return
                weights = after
            elif kind in ways:
                ways[kind].arrive(weights, given)
            else:
                for is_write in self._accesses(operation):
                    self._touch(operation, given, weights, is_write)
                compute = partial(self._compute, operation) if kind in EVALUATE else None
                for result in operation.results:
                    environment[result] = None if compute is None else Later(compute, *given)

    def _compute(self, operation: Operation, *given: Value) -> Value:
        if None in given and operation.kind not in LENIENT:
            return None
        return EVALUATE[operation.kind](self, operation, *given)

    def _touch(
        self, operation: Operation, given: Sequence[Lazy], weights: Weights, is_write: bool
    ) -> None:
        """Note that an operation reads or writes what lies at the lvalues that it is given."""
        for operand, value in zip(operation.operands, given, strict=True):
            lvalue = now(value) if isinstance(operand.type, LvalueType) else None
            if lvalue is None or lvalue.owner is None:
                continue
            often = weights if lvalue.known is ALL else weights * lvalue.known
            for distance, size in self._parts(lvalue.type):
                self._left -= 1
                part = lvalue.part(lvalue.type, np.uint64(distance)) if distance else lvalue
                self._touches.add(part, size, often, is_write)


def _accesses(operation: Operation) -> Sequence[bool]:
    """Whether an operation reads (False) and writes (True) what it is given lvalues of. Ends the
    sampling if it may do anything, or something that is not known here."""
    kind = kind_of(operation)
    if kind is None or operation.regions or kind.effects & ~_HARMLESS:
        raise Enough
    reads = [False] if Effects.READS in kind.effects else []
    return [*reads, True] if kind.changes else reads


def _spread(size: tuple[int, int], apart: int = 1) -> tuple[tuple[Numbers, Numbers], Weights]:
    """Threads of some warps, or all that there are, along both axes, and how many of the launch
    each stands for. A warp lies along the first axis, every ``apart``-th thread there."""
    a_row = -(-size[0] // (WARP * apart)) * apart
    every = a_row * size[1]
    even = ((2 * number + 1) * every // (2 * WARPS) for number in range(WARPS))
    growing = (number**2 for number in range(WARPS))
    # ``np.unique`` would import ``numpy.ma`` at its first call: 10 ms.
    chosen = np.array(sorted(each for each in {*even, *growing} if each < every), np.int64)
    bounds = np.concatenate([[0], (chosen[1:] + chosen[:-1] + 1) // 2, [every]])
    y, first = np.divmod(chosen, a_row)
    piece, within = np.divmod(first, apart)
    x = (((piece * WARP)[:, None] + np.arange(WARP)) * apart + within[:, None]).reshape(-1)
    weights = np.repeat(np.diff(bounds).astype(np.float64), WARP)
    return (x, np.repeat(y, WARP)), np.where(x < size[0], weights, 0.0)
