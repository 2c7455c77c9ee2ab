"""Branches, loops and calls of sampled threads: where lanes go, how often, and where they meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ir.core import Operation
from ..ir.core import Value as Named
from .lanes import ALL, Later, Lazy, Numbers, Scalars, Value, Weights, joined, now, only_in

if TYPE_CHECKING:
    from .threads import Threads

ROUNDS, INNER_ROUNDS = 4, 2
"""Iterations of a loop, and of one within another one, that are run; they stand for all of them.
What a warp touches in so many is counted once, as much as its part of the first-level cache has
room for."""
_GUESSED_ROUNDS = 4.0
"""Default trip count: of a loop of which nobody knows how long it is."""


class Join:
    """Where ways meet: how often lanes come there, None before any does, and with which values."""

    def __init__(self) -> None:
        self.weights: Weights | None = None
        self.values: Sequence[Lazy] = ()

    def arrive(self, weights: Weights, values: Sequence[Lazy]) -> None:
        """Of lanes that come on several ways, the last one counts."""
        before = self.weights
        if before is None:
            self.weights, self.values = weights, values
        else:
            both = weights * before
            self.values = latest(self.values, values, weights, both)
            self.weights = before + weights


def latest(
    old: Sequence[Lazy], new: Sequence[Lazy], weights: Weights, both: Weights
) -> Sequence[Lazy]:
    """Values of ``new`` in lanes with ``weights``, of ``old`` elsewhere."""

    def join(a: Value, b: Value) -> Value:
        return joined(a, b, weights > 0, both > 0)

    return [b if a is b else Later(join, a, b) for a, b in zip(old, new, strict=True)]


#: Where terminators lead, by kind.
Ways = Mapping[str, Join]
Environment = dict[Named, Lazy]


class Step(NamedTuple):
    """An operation with regions, or a call, in the lanes that have a weight."""

    threads: Threads
    operation: Operation
    given: Sequence[Lazy]
    environment: Environment
    ways: Ways
    weights: Weights

    def enter(self, number: int, arguments: Sequence[Lazy], weights: Weights, **ways: Join) -> None:
        """Run one of its regions, which leads to ``ways`` before those around it."""
        region = self.operation.regions[number]
        self.environment.update(zip(region.arguments, arguments, strict=True))
        self.threads.run_region(region, self.environment, {**self.ways, **ways}, weights)

    def leave(self, join: Join) -> Weights | None:
        """Its results are what comes to ``join``; how often lanes do, None if none does."""
        if join.weights is not None:
            self.environment.update(zip(self.operation.results, join.values, strict=True))
        return join.weights

    def call(self, callees: Sequence[tuple[str, Weights]]) -> Weights:
        """Run functions, each in some lanes; all lanes come back. What those give that did not
        return is not known."""
        join, results = Join(), self.operation.results
        for symbol, weights in callees:
            returned = self.threads.run_function(symbol, self.given, weights)
            if returned.weights is not None:
                join.arrive(returned.weights, returned.values)
        came = (0.0 if join.weights is None else join.weights) + (self.weights == 0) > 0
        made: list[Lazy] = [Later(lambda v: only_in(v, came), value) for value in join.values]
        self.environment.update(zip(results, made or [None] * len(results), strict=True))
        return self.weights


def split(test: Scalars | None, weights: Weights) -> tuple[Weights | None, Weights | None]:
    """How often lanes go either way, None for a way that none goes; those of which nobody knows go
    both, half as often."""
    if test is None:
        return weights / 2, weights / 2
    then = weights * test.values
    if test.known is not ALL:
        then = np.where(test.known, then, weights / 2)
    return _some(then), _some(weights - then)


def _some(weights: Weights) -> Weights | None:
    return weights if weights.any() else None


def _if(step: Step) -> Weights | None:
    join = Join()
    for number, weights in enumerate(split(now(step.given[0]), step.weights)):
        if weights is not None:
            step.enter(number, (), weights, **{"yield": join})
    return step.leave(join)


# -------------------------------------------------------------------- loops


def _for(step: Step) -> Weights | None:
    join, weights = Join(), step.weights
    carried: Sequence[Lazy] = step.given[3:]
    # The part of what comes to the loop that is in it still.
    inside = np.ones(len(weights))
    with step.threads.in_loop() as most:
        for number, every in _rounds(step, most):
            often = every * inside
            if not often.any():
                continue
            again, broken = Join(), Join()
            step.enter(0, [number, *carried], often, **{"continue": again, "break": broken})
            part = inside / np.where(often > 0, often, 1.0)
            if broken.weights is not None:
                join.arrive(weights * broken.weights * part, broken.values)
            further = np.zeros(len(weights)) if again.weights is None else again.weights
            inside = np.where(often > 0, further * part, inside)
            if again.weights is not None:
                carried = latest(carried, again.values, further, 0.0 * further)
    ended = _some(weights * inside)
    if ended is not None:
        step.enter(1, carried, ended, **{"yield": join})
    return step.leave(join)


def _rounds(step: Step, most: int) -> Iterator[tuple[Value, Weights]]:
    """The counter in some rounds of a ``for``, and how often lanes run each."""
    start, stop, stride = map(now, step.given[:3])
    if start is None or stride is None:
        yield None, step.weights * _GUESSED_ROUNDS
        return
    known = start.known & stride.known
    rounds: Any = _GUESSED_ROUNDS
    if stop is not None:
        length = trip_count(start.values, stop.values, stride.values)
        rounds = np.where(known & stop.known, length, _GUESSED_ROUNDS)
    run = np.minimum(np.ceil(rounds), most)
    often = step.weights * rounds / np.maximum(run, 1)
    for number in range(int(run.max(initial=0))):
        yield Scalars(start.values + number * stride.values, known), often * (run > number)


def trip_count(start: Numbers, stop: Numbers, step: Numbers) -> Numbers:
    """``len(range(start, stop, step))``; 0 for a step of 0."""
    rises = step > 0
    goes_on = np.where(rises, start < stop, (start > stop) & (step < 0))
    # Differences and negations wrap to the right unsigned number.
    distance, stride = (
        np.where(rises, forwards, -forwards).view(np.uint64).astype(np.float64)
        for forwards in (stop - start, step)
    )
    return np.where(goes_on, np.ceil(distance / np.maximum(stride, 1.0)), 0.0)


def _while(step: Step) -> Weights | None:
    join, done = Join(), Join()
    often: Weights | None = step.weights
    carried = step.given
    with step.threads.in_loop() as most:
        for _ in range(most):
            if often is None:
                break
            answered, again = Join(), Join()
            step.enter(0, carried, often, condition=answered)
            if answered.weights is None:
                often = None
                break
            answer, *carried = answered.values
            often, over = split(now(answer), answered.weights)
            if over is not None:
                done.arrive(over, carried)
            if often is not None:
                step.enter(1, carried, often, **{"continue": again, "break": join})
                often, carried = again.weights, again.values
    if often is not None:
        done.arrive(often, carried)
    if done.weights is not None:
        step.enter(2, done.values, done.weights, **{"yield": join})
    return step.leave(join)


# -------------------------------------------------------------------- calls


def _call(step: Step) -> Weights:
    return step.call([(step.operation["symbol"], step.weights)])


def _call_virtual(step: Step) -> Weights:
    receiver = now(step.given[0])
    if receiver is None:
        return step.call([])
    threads = step.threads
    callees = threads.callees(step.operation)
    chosen = threads.memory.by_class(receiver, step.operation, lambda cls: callees.get(cls, 0))
    found = []
    for number in np.flatnonzero(np.bincount(np.atleast_1d(chosen))).tolist():
        own = _some(step.weights * (chosen == number)) if number else None
        if own is not None:
            found.append((threads.symbols[number - 1], own))
    return step.call(found)


#: How often lanes come out of an operation, None where none does.
CONTROL: dict[str, Callable[[Step], Weights | None]] = {
    "if": _if, "for": _for, "while": _while, "call": _call, "call_virtual": _call_virtual,
}  # fmt: skip
