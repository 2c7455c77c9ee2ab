"""Loops of few rounds that only look at objects become straight code, so that what all rounds load
is under way at once.

On a GPU a branch behind a load waits for it, so nine neighbours that are asked one after another,
each by a few loads behind tests, wait as long as all these loads together. Here the rounds are
written out, tests become selections, and functions that only compute and load stand where they are
called. What would be loaded behind a test that fails is not: the object is then ``nothing``, memory
of zeros that is always there.

    for %a, %b, %one, %n (%i, %c) {            %x = field (select %t, %o, nothing) <name = "x">
      %o = ...; %t = compare %o, %null         %u = load %x
      %d = if %t {                     ->      %d = select %t, (binary %c, %u), %c
        %x = field %o; %u = load %x            ... as often as there may be rounds
        yield (binary %c, %u)
      } { yield %c }
      continue %d }

How many rounds there are must be known, or at most how many, as from max(x - 1, ...) to
min(x + 2, ...). In the latter case the loop stays, for those that have no rounds, beside the
straight code, in which rounds that are too many do once more what the last one does, and what they
compute is dropped. So every place that is read is read by the loop, too, or is ``nothing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core import Function, Operation, Program, Region, Remark, Value, rounds_of
from ..job import Job
from ..operations import Effects, effects_of
from ..rewrite import make, replace_uses
from .calls import callees
from .straight_code import CannotError, Scope, Writer

_DONE = "the rounds of this loop are straight code: what all of them load is under way at once"
_LEAVES = Effects.LEAVES_LOOP | Effects.RETURNS


def flatten_loops(program: Program, job: Job) -> None:
    """Write out the loops in which something is loaded behind a test."""
    for function in program.functions.values():
        _flatten_in(program, job, function, function.body)


def _flatten_in(program: Program, job: Job, function: Function, region: Region) -> None:
    following: list[Operation] = []
    for operation in region.operations:
        made = None
        if operation.kind == "for" and _has_loads_behind_tests(program, operation):
            made = _flattened(program, job, operation)
        if made is None:
            following.append(operation)
            for inner in operation.regions:
                _flatten_in(program, job, function, inner)
            continue
        following += made.operations
        replace_uses(function, dict(zip(operation.results, made.results, strict=True)))
    region.operations = following


class _Made(NamedTuple):
    operations: list[Operation]
    results: Sequence[Value]


def _has_loads_behind_tests(program: Program, loop: Operation) -> bool:
    """Whether LLVM would leave loads behind branches: in rounds whose number is not known, behind
    tests, or where control may have left. A first look, at the loop and what it calls."""
    pending, seen = [(loop.regions[0], _may_end_early(loop))], set()
    while pending:
        region, is_behind = pending.pop()
        for operation in region.operations:
            if operation.kind == "load" and is_behind:
                return True
            inner = is_behind or (operation.kind == "for" and _may_end_early(operation))
            pending += [(each, inner or operation.kind == "if") for each in operation.regions]
            for symbol in callees(operation):
                if (symbol, is_behind) not in seen:
                    seen.add((symbol, is_behind))
                    pending.append((program.functions[symbol].body, is_behind))
            is_behind |= _leaves(operation)
    return False


def _may_end_early(loop: Operation) -> bool:
    return rounds_of(loop) is None or any(map(_leaves, loop.regions[0].operations))


def _leaves(operation: Operation) -> bool:
    """Whether control may go on elsewhere than behind it."""
    return bool(operation.regions) and bool(effects_of(operation) & _LEAVES)


def _flattened(program: Program, job: Job, loop: Operation) -> _Made | None:
    writer = Writer(program, job)
    try:
        results = writer.loop(loop, Scope(), (), 1)
        if results is None:
            raise CannotError("their first round leaves them")
        before, nonempty = writer.tests()
    except CannotError as error:
        if error.args:
            text = f"the rounds of this loop stay one after another, as {error.args[0]}"
            program.remarks.append(Remark(loop.location, text))
        return None
    program.remarks.append(Remark(loop.location, _DONE))
    at, straight = loop.location, writer.made
    left, values = writer.left()
    if left is not None:
        ways = [Region([], [make("return", values, at)]), Region([], [make("yield", [], at)])]
        straight.append(make("if", [left], at, [], ways))
    if nonempty is None:
        return _Made(straight, results)
    types = [result.type for result in loop.results]
    as_it_was = [loop, make("yield", loop.results, at)]
    ways = [Region([], [*straight, make("yield", results, at)]), Region([], as_it_was)]
    choice = make("if", [nonempty], at, types, ways)
    return _Made([*before, choice], choice.results)
