"""Threads of a few warps of a launch, run together: statements, loops and calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..frontend import tree
from ..heap.heap import Heap
from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType, Type, ValueType
from .expressions import evaluate, locate, read, scalars, split, touch
from .lanes import (
    Arrays,
    Flags,
    Numbers,
    Objects,
    Parts,
    Scalars,
    Value,
    Weights,
    merged,
    only_in,
)
from .memory import HeapMemory
from .touches import WARP, Touches

WARPS = 16
"""Sampled of a launch at equal distances, and as many at growing ones from its beginning, where
programs keep what is left of objects that went."""
ROUNDS = 4
"""Iterations of a loop that are run; they stand for all of them. What a warp touches in so many is
counted once, as much as its part of the first-level cache has room for."""
_GUESSED_ROUNDS = 4.0
"""Of a loop of which nobody knows how long it is."""
_MOST_NODES = 6000
"""Expressions and statements; enough for nine neighbours that take two virtual calls each."""
_DEEPEST = 12


class _Enough(Exception):
    """What was found so far must do."""


@dataclass
class _Loop:
    """How often lanes have left the iteration that is running, and the loop."""

    continued: Weights
    broken: Weights


@dataclass
class _Frame:
    """A function that is running."""

    variables: dict[tree.Variable, Value]
    returned: Flags
    result: Value = None
    loops: list[_Loop] = field(default_factory=list)


def sample(
    program: tree.Program, heap: Heap, size: tuple[int, int], arguments: Sequence[Any]
) -> Touches:
    """What a few warps touch of a launch of ``size`` threads along both axes with ``arguments``, in
    the heap as it is now, whose lock the caller holds. Raises DeviceError if an earlier launch
    failed."""
    threads = Threads(program, heap, size)
    parameters = zip(program.kernel.parameters, arguments, strict=True)
    with np.errstate(all="ignore"):
        return threads.run([_given(threads, each.type, value) for each, value in parameters])


def _given(threads: Threads, type: Type, value: Any) -> Value:
    """An argument of the launch in each lane."""
    lanes = threads.lanes
    if isinstance(type, ArrayType):
        every = np.ones(lanes, bool)
        # Once: launches of other threads may end what is known of it.
        run = value._run if isinstance(type.element, ReferenceType) else None
        if run is not None:
            return Objects(run, len(value), every)
        address = np.full(lanes, value._address, np.uint64)
        return Arrays(address, np.full(lanes, len(value), np.int64), every)
    if isinstance(type, ReferenceType):
        place = 0 if value is None else value._heap.encoding.address(value._reference)
        return threads.all_lanes(np.full(lanes, place, np.uint64))
    if isinstance(type, ScalarType):
        return threads.all_lanes(np.full(lanes, type(value), type.dtype))
    # Those of other compilers may be given as tuples.
    if isinstance(type, ValueType) and isinstance(value, type.python_class):
        parts = type.fields.items()
        return Parts({name: _given(threads, each, getattr(value, name)) for name, each in parts})
    return None


class Threads:
    """The sampled threads of one launch. ``index`` are their numbers along both axes, ``size``
    those of all threads; lanes beyond the end of a row of threads run nothing."""

    def __init__(self, program: tree.Program, heap: Heap, size: tuple[int, int]) -> None:
        self.size = size
        self.memory = HeapMemory(heap)
        self.index, self._weights = _spread(size)
        self.lanes = len(self._weights)
        self.touches = Touches()
        self._functions = program.functions
        self._kernel = program.kernel
        self._frames: list[_Frame] = []
        self._nodes = 0

    def run(self, arguments: Sequence[Value]) -> Touches:
        """Run the kernel; what it touched."""
        # Expressions may be nested deeper than CPython goes where functions call each other, too.
        with suppress(_Enough, RecursionError):
            self.call(self._kernel.symbol, arguments, self._weights)
        return self.touches

    @property
    def variables(self) -> dict[tree.Variable, Value]:
        return self._frames[-1].variables

    def all_lanes(self, values: Numbers) -> Scalars:
        return Scalars(values, np.ones(self.lanes, bool))

    def count(self) -> None:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise _Enough

    # ------------------------------------------------------------------ calls

    def call(self, symbol: str, arguments: Sequence[Value], weights: Weights) -> Value:
        """Run a function in the lanes that have a weight; what it returns there."""
        if not weights.any() or len(self._frames) >= _DEEPEST:
            return None
        function = self._functions[symbol]
        variables = dict(zip(function.parameters, arguments, strict=True))
        frame = _Frame(variables, np.zeros(self.lanes, bool))
        self._frames.append(frame)
        self._run(function.body, weights)
        self._frames.pop()
        return frame.result

    # ------------------------------------------------------------------ statements

    def _run(self, statements: Sequence[tree.Statement], weights: Weights) -> Weights:
        """How often lanes come to the end of ``statements``."""
        for node in statements:
            if not weights.any():
                break
            self.count()
            weights = self._step(node, weights)
        return weights

    def _step(self, node: tree.Statement, weights: Weights) -> Weights:
        if isinstance(node, tree.Assign):
            self._assign(node.variable, evaluate(self, node.value, weights), weights)
        elif isinstance(node, tree.Store):
            evaluate(self, node.value, weights)
            touch(self, locate(self, node.place, weights), weights, is_write=True)
        elif isinstance(node, tree.AugmentedStore):
            self._augmented_store(node, weights)
        elif isinstance(node, tree.Evaluate):
            evaluate(self, node.value, weights)
        elif isinstance(node, tree.If):
            return self._if(node, weights)
        elif isinstance(node, tree.ForRange):
            return self._for_range(node, weights)
        elif isinstance(node, tree.While):
            return self._while(node, weights)
        elif isinstance(node, tree.Return):
            return self._return(node, weights)
        elif isinstance(node, tree.Break):
            self._frames[-1].loops[-1].broken += weights
            return np.zeros_like(weights)
        elif isinstance(node, tree.Continue):
            self._frames[-1].loops[-1].continued += weights
            return np.zeros_like(weights)
        return weights  # assertions, prints and barriers touch nothing that counts

    def _assign(self, variable: tree.Variable, value: Value, weights: Weights) -> None:
        variables, lanes = self.variables, weights > 0
        known = variables.get(variable)
        variables[variable] = (
            merged(known, value, lanes) if variable in variables else only_in(value, lanes)
        )

    def _augmented_store(self, node: tree.AugmentedStore, weights: Weights) -> None:
        place = locate(self, node.place, weights)
        touch(self, place, weights, is_write=False)
        self.variables[node.old] = read(self, place, weights)
        evaluate(self, node.value, weights)
        touch(self, place, weights, is_write=True)

    def _return(self, node: tree.Return, weights: Weights) -> Weights:
        frame, lanes = self._frames[-1], weights > 0
        if node.value is not None:
            value = evaluate(self, node.value, weights)
            first = not frame.returned.any()
            frame.result = only_in(value, lanes) if first else merged(frame.result, value, lanes)
        frame.returned = frame.returned | lanes
        return np.zeros_like(weights)

    def _if(self, node: tree.If, weights: Weights) -> Weights:
        then, otherwise = split(evaluate(self, node.test, weights), weights)
        frame = self._frames[-1]
        if not ((then > 0) & (otherwise > 0)).any():
            return self._run(node.then, then) + self._run(node.otherwise, otherwise)
        # Where nobody knows, neither way sees what the other one assigns; of two values that are
        # as likely afterwards the second is as good as the first.
        before = dict(frame.variables)
        first = self._run(node.then, then)
        after_first, frame.variables = frame.variables, before
        second = self._run(node.otherwise, otherwise)
        only_first = (first > 0) & (second == 0)
        for variable, value in after_first.items():
            if value is not frame.variables.get(variable):
                old = frame.variables.get(variable)
                frame.variables[variable] = merged(old, value, only_first)
        return first + second

    # ------------------------------------------------------------------ loops

    def _for_range(self, node: tree.ForRange, weights: Weights) -> Weights:
        start, stop, step = (
            scalars(self, bound, weights) for bound in (node.start, node.stop, node.step)
        )
        if start is None or step is None:
            return self._rounds(node, weights, [(None, weights * _GUESSED_ROUNDS)])
        rounds = np.full(self.lanes, _GUESSED_ROUNDS)
        if stop is not None:
            known = start.known & stop.known & step.known
            rounds = np.where(known, _length(start.values, stop.values, step.values), rounds)
        run = np.minimum(np.ceil(rounds), ROUNDS)
        often = weights * rounds / np.maximum(run, 1)
        known = start.known & step.known
        each = (
            (Scalars(start.values + number * step.values, known), often * (run > number))
            for number in range(int(run.max(initial=0)))
        )
        return self._rounds(node, weights, each)

    def _rounds(
        self, node: tree.ForRange, weights: Weights, rounds: Iterable[tuple[Value, Weights]]
    ) -> Weights:
        """Run iterations of a loop, each with its number and how often lanes run it that have not
        left the loop."""
        loop = self._enter()
        # Parts of what comes to the loop: what is in it, and what has left it by ``break``.
        inside, left = np.ones(self.lanes), np.zeros(self.lanes)
        for number, every in rounds:
            often = every * inside
            if not often.any():
                continue
            loop.continued, loop.broken = np.zeros(self.lanes), np.zeros(self.lanes)
            self._assign(node.variable, number, often)
            further = self._run(node.body, often) + loop.continued
            part = inside / np.where(often > 0, often, 1.0)
            left += loop.broken * part
            inside = np.where(often > 0, further * part, inside)
        self._leave()
        return self._run(node.otherwise, weights * inside) + weights * left

    def _while(self, node: tree.While, weights: Weights) -> Weights:
        loop = self._enter()
        often, ended = weights, np.zeros_like(weights)
        for _ in range(ROUNDS):
            often, done = split(evaluate(self, node.test, often), often)
            ended = ended + done
            if not often.any():
                break
            loop.continued = np.zeros_like(weights)
            often = self._run(node.body, often) + loop.continued
        self._leave()
        return self._run(node.otherwise, ended + often) + loop.broken

    def _enter(self) -> _Loop:
        loop = _Loop(np.zeros(self.lanes), np.zeros(self.lanes))
        self._frames[-1].loops.append(loop)
        return loop

    def _leave(self) -> None:
        self._frames[-1].loops.pop()


def _spread(size: tuple[int, int]) -> tuple[tuple[Numbers, Numbers], Weights]:
    """Threads of some warps, or all that there are, along both axes, and how many of the launch
    each stands for. A warp lies along the first axis."""
    a_row = -(-size[0] // WARP)
    every = a_row * size[1]
    even = ((2 * number + 1) * every // (2 * WARPS) for number in range(WARPS))
    growing = (number**2 for number in range(WARPS))
    # ``np.unique`` would import ``numpy.ma`` at its first call: 10 ms.
    chosen = np.array(sorted(each for each in {*even, *growing} if each < every), np.int64)
    bounds = np.concatenate([[0], (chosen[1:] + chosen[:-1] + 1) // 2, [every]])
    y, first = np.divmod(chosen, a_row)
    x = (first[:, None] * WARP + np.arange(WARP)).reshape(-1)
    weights = np.repeat(np.diff(bounds).astype(np.float64), WARP)
    return (x, np.repeat(y, WARP)), np.where(x < size[0], weights, 0.0)


def _length(start: Numbers, stop: Numbers, step: Numbers) -> Numbers:
    """``len(range(start, stop, step))``; 0 for a step of 0."""
    rises = step > 0
    goes_on = np.where(rises, start < stop, (start > stop) & (step < 0))
    # Differences and negations wrap to the right unsigned number.
    distance, stride = (
        np.where(rises, forwards, -forwards).view(np.uint64).astype(np.float64)
        for forwards in (stop - start, step)
    )
    return np.where(goes_on, np.ceil(distance / np.maximum(stride, 1.0)), 0.0)
