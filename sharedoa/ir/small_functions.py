"""Functions that may stand in the place of their calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .core import Function, Lane, Operation, Program, Region, Value, operations_in, type_of
from .operations import Effects, effects_of, kind_of
from .passes.calls import callees
from .rewrite import copy_operations, make, replace_uses

_MOST = 40
"""Operations of a function that stands where it is called."""
_MOST_IN_ALL = 2000
"""The same of all that are put in place of the calls of one region, and of calls in those: each of
a chain of methods may call the next one several times. With so many code is made in half a second.
"""
_LEAVES = Effects.RETURNS | Effects.LEAVES_LOOP | Effects.OWNS


def is_small(function: Function, may_return_early: bool = False) -> bool:
    """Whether its body is a few operations that end with its only ``return``, but for those that
    end an arm of a branch, if such may be."""
    operations = [*operations_in(function)]
    *inside, last = function.body.operations
    if len(operations) > _MOST or last.kind != "return" or function.gradient is not None:
        return False
    for each in inside:
        leaves = effects_of(each) & _LEAVES
        is_early = may_return_early and leaves == Effects.RETURNS and _returns_in_an_arm(each)
        if (leaves and not is_early) or _is_loop(each):
            return False
    return True


def _returns_in_an_arm(choice: Operation) -> bool:
    """Whether it is a branch of which one arm ends the function, and nothing within does."""
    if choice.kind != "if":
        return False
    ends = [arm.terminator.kind for arm in choice.regions]
    inside = (each for arm in choice.regions for each in arm.operations[:-1])
    return sorted(ends) == ["return", "yield"] and not any(effects_of(o) & _LEAVES for o in inside)


def _is_loop(operation: Operation) -> bool:
    kind = kind_of(operation)
    inside = (each for region in operation.regions for each in region.operations)
    return kind is None or kind.is_loop or any(map(_is_loop, inside))


def put_in_place(
    program: Program, function: Function, region: Region, is_wanted: Callable[[Operation], bool]
) -> None:
    """Have small functions where ``function`` calls them in a region, and in those within, if
    nothing else may be called there and ``is_wanted`` says so of the call."""
    _Putting(program, is_wanted).region(region, (function,))


class _Putting:
    def __init__(self, program: Program, is_wanted: Callable[[Operation], bool]) -> None:
        self._program, self._is_wanted = program, is_wanted
        self._left = _MOST_IN_ALL

    def region(self, region: Region, around: tuple[Function, ...]) -> None:
        """``around``: the functions whose bodies it is in, which may call themselves."""
        operations: list[Operation] = []
        for each in region.operations:
            for inner in each.regions:
                self.region(inner, around)
            callee = self._callee(each)
            if callee is None or callee in around:
                operations.append(each)
                continue
            body, result = in_place(callee, each.operands, each)
            self._left -= sum(1 for _ in operations_in(Region([], body)))
            passed = make("yield", [] if result is None else [result], each.location)
            made = Region([], [*body, passed])
            self.region(made, (*around, callee))  # it may call others
            operations += made.operations[:-1]
            if result is not None:
                replace_uses(region, {each.result: passed.operands[0]})
        region.operations = operations

    def _callee(self, call: Operation) -> Function | None:
        """The function that is to be in the place of a call, if one is."""
        symbols = callees(call)
        if len(symbols) != 1 or self._left <= 0 or not self._is_wanted(call):
            return None
        callee = self._program.functions[symbols[0]]
        return None if _knows_lanes(callee) or not is_small(callee, True) else callee


def _knows_lanes(function: Function) -> bool:
    return any(isinstance(fact, Lane) for fact in function.known.values())


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
    found, results = _until_the_end(copy_operations(function.body.operations, values))
    return [*before, *found], results[0] if results else None


def _until_the_end(operations: list[Operation]) -> tuple[list[Operation], list[Value]]:
    """The operations without returns, and what they would return: what follows a branch that ends
    the function is in its other arm."""
    *inside, last = operations
    for number, choice in enumerate(inside):
        if not effects_of(choice) & Effects.RETURNS:
            continue
        goes_on = next(arm for arm in choice.regions if arm.terminator.kind == "yield")
        given = dict(zip(choice.results, goes_on.terminator.operands, strict=True))
        rest = Region([], operations[number + 1 :])
        replace_uses(rest, given)
        found, results = _until_the_end([*goes_on.operations[:-1], *rest.operations])
        goes_on.operations = [*found, make("yield", results, choice.location)]
        for arm in choice.regions:
            if arm is not goes_on:
                returned = arm.terminator.operands
                arm.operations[-1] = make("yield", returned, choice.location)
        types = [value.type for value in results]
        made = make("if", choice.operands, choice.location, types, choice.regions)
        return [*inside[:number], made], made.results
    return inside, last.operands
