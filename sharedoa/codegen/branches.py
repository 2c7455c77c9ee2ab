"""Branches. A test of several parts, ``if a and b``, goes where it leads as soon as it is known.

In the IR such a test is the result of another ``if``. As a value, a phi of ``b`` and false, it let
LLVM make ``count += 1`` in the branch an addition of ``b`` or zero by every thread: Game of Life
took 1.12 times as long on a GPU. So it is never a value: each of its arms branches on its own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from dispatch.dataclass import dataclass

from ..ir.core import Function, Operation, Region, Value, operations_in, regions_in
from .emitter import FunctionEmitter, Join, Way, Yields, emits


def tests_in(function: Function) -> set[Operation]:
    """Each ``if``, and ``not`` of one, whose result does nothing but say which way another one
    goes, which follows."""
    uses = Counter(value for each in operations_in(function) for value in each.operands)
    found: set[Operation] = set()
    arms: set[Region] = set()  # of those found
    for region in regions_in(function):
        # Backwards, as a test is one if what follows is.
        for test, user in reversed([*itertools.pairwise(region.operations)]):
            if len(test.results) != 1 or test.results != user.operands:
                continue
            is_of_test = user in found or (user.kind == "yield" and region in arms)
            decides = user.kind == "if" or is_of_test
            if decides and (test.kind == "if" or _is_not(test)) and uses[test.result] == 1:
                found.add(test)
                arms.update(test.regions)
    return found


def _is_not(operation: Operation) -> bool:
    return operation.kind == "unary" and operation["operator"] == "not"


@emits("if")
def _if(emitter: FunctionEmitter, operation: Operation) -> list[object]:
    end = Join(emitter, "if.end")
    last = operation.regions[1].operations[0]
    skip = Way(end, emitter.values(last.operands)) if last.kind == "yield" else None
    _write(emitter, operation, end, skip)
    return end.start()


def _write(
    emitter: FunctionEmitter, operation: Operation, end: Yields, skip: Way | None = None
) -> None:
    """The branch and its arms, which yield to ``end``; ``skip`` instead of an empty second one."""
    arms = [Join(emitter, name) for name in ("if.then", "if.else")]
    _decide(emitter, operation.operands[0], Way(arms[0]), skip or Way(arms[1]))
    _write_arms(emitter, operation, arms[: 1 if skip else 2], end)


def _write_arms(
    emitter: FunctionEmitter, operation: Operation, arms: Sequence[Join], end: Yields
) -> None:
    for arm, region in zip(arms, operation.regions, strict=False):
        arm.start()
        emitter.arms.append(end)
        emitter.run(region)
        emitter.arms.pop()


def _decide(emitter: FunctionEmitter, test: Value, then: Way, otherwise: Way) -> None:
    made = emitter.value(test)
    if not isinstance(made, Operation):
        then.comes()
        otherwise.comes()
        emitter.branch_on(made, then.join.block, otherwise.join.block)
    elif made.kind == "if":
        _write(emitter, made, _Decision(emitter, then, otherwise))
    else:
        _decide(emitter, made.operands[0], otherwise, then)


@dataclass(frozen=True)
class _Decision:
    """Where the arms of a test go, by what they yield."""

    emitter: FunctionEmitter
    then: Way
    otherwise: Way

    def take(self, values: Sequence[Value]) -> None:
        (test,) = values
        _decide(self.emitter, test, self.then, self.otherwise)


@emits("switch")
def _switch(emitter: FunctionEmitter, operation: Operation) -> list[object]:
    end = Join(emitter, "switch.end")
    arms = [Join(emitter, "switch.case") for _ in operation.regions]
    number = emitter.value(operation.operands[0])
    for arm in arms:
        arm.comes()
    switch = emitter.builder.switch(number, arms[-1].block)
    for arm, numbers in zip(arms, operation["cases"], strict=False):
        for each in numbers:
            switch.add_case(number.type(each), arm.block)
    _write_arms(emitter, operation, arms, end)
    return end.start()


@emits("yield")
def _yield(emitter: FunctionEmitter, operation: Operation) -> None:
    emitter.arms[-1].take(operation.operands)
