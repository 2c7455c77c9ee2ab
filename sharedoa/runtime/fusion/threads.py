"""What functions ask of their thread where one launch is several: the kernel tells them.

Launches over the same threads are one after another in each of these. Launches beside each other
have a stretch of the threads each, whole warps, so that a warp runs one of them; those that only
store take several of their threads at once, as they do by themselves (``ir.storing``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ... import ir
from ...ir.core import Operation, Region, Stretch, Value, regions_in
from ...ir.rewrite import make, replace_uses
from ...location import Location
from ...model.field_address import LANES
from ...model.scalars import boolean, weak_int
from ...model.types import Type

_ASKED = ("thread_index", "grid_size")
Question = tuple[str, int]
"""What is asked, and of which axis."""


class Share(NamedTuple):
    """Of a launch named ``name``: its ``own`` threads, ``each`` of them at once."""

    name: str
    own: int
    each: int

    @property
    def threads(self) -> int:
        """Of the shared launch, whole warps."""
        return -(-self.own // (self.each * LANES)) * LANES


def tell_threads(program: ir.Program) -> None:
    """Give the functions that the kernel calls what they ask of their thread as arguments."""
    kernel = program.kernel
    asked: dict[Question, Value] = {}
    for call in _calls_of(kernel):
        for question in _questions_of(program.functions[call["symbol"]]):
            if question not in asked:
                kind, axis = question
                made = make(kind, [], kernel.location, [weak_int], axis=axis)
                kernel.body.operations.insert(0, made)
                asked[question] = made.result
            call.operands.append(asked[question])


def share_threads(program: ir.Program, shares: Sequence[Share]) -> None:
    """Let each function that the kernel calls be run by a stretch of the threads only, as if these
    were all."""
    kernel = program.kernel
    *_, end = kernel.body.operations
    body = _Body(kernel.location)
    index = body.add("thread_index", [], weak_int, axis=0)
    firsts = [*accumulate([share.threads for share in shares], initial=0)]
    own = [
        _Own(call, _questions_of(program.functions[call["symbol"]]), share, first)
        for call, share, first in zip(_calls_of(kernel), shares, firsts, strict=False)
    ]
    body.shared(index, own)
    kernel.body.operations = [*body.operations, end]
    program.stretches = tuple(Stretch(each.first, each.share.name) for each in own)


def _calls_of(kernel: ir.Function) -> list[Operation]:
    return [each for each in kernel.body.operations if each.kind == "call"]


def _questions_of(function: ir.Function) -> list[Question]:
    """What a function asks of its thread becomes parameters of it, in this order."""
    own: dict[Question, Value] = {}
    told: dict[Value, Value] = {}
    for region in regions_in(function):
        for operation in [each for each in region.operations if each.kind in _ASKED]:
            question = operation.kind, operation["axis"]
            if question not in own:
                own[question] = Value(weak_int, operation.kind)
                function.body.arguments.append(own[question])
            region.operations.remove(operation)
            told[operation.result] = own[question]
    replace_uses(function, told)
    return [*own]


class _Own(NamedTuple):
    """A call, which ``share`` of the threads, from ``first`` on, runs; its function asks
    ``questions``."""

    call: Operation
    questions: Sequence[Question]
    share: Share
    first: int


class _Body:
    """Operations that are written one after another."""

    def __init__(self, at: Location) -> None:
        self._at = at
        self.operations: list[Operation] = []

    def add(self, kind: str, operands: Sequence[Value], type: Type, **attributes: Any) -> Value:
        made = make(kind, operands, self._at, [type], **attributes)
        self.operations.append(made)
        return made.result

    def shared(self, index: Value, every: Sequence[_Own]) -> None:
        """Thread ``index`` runs the call in whose stretch it is."""
        own, *others = every
        if not others:
            self._run(index, own)
            return
        then, otherwise = _Body(self._at), _Body(self._at)
        then._run(index, own)
        otherwise.shared(index, others)
        self._branch(self._is_below(index, others[0].first), then, otherwise)

    def _run(self, index: Value, own: _Own) -> None:
        share = own.share
        thread = index
        if own.first:
            thread = self._sum("sub", index, own.first)
        for number in range(share.each):
            if number:
                thread = self._sum("add", thread, share.threads)
            inner = _Body(self._at)
            given = [inner._answer(question, thread, share) for question in own.questions]
            operands = [*own.call.operands, *given]
            types = [each.type for each in own.call.results]
            inner.operations.append(make("call", operands, self._at, types, **own.call.attributes))
            self._branch(self._is_below(thread, share.own), inner, _Body(self._at))

    def _answer(self, question: Question, thread: Value, share: Share) -> Value:
        kind, axis = question
        if axis:
            return self._constant(0 if kind == "thread_index" else 1)
        return thread if kind == "thread_index" else self._constant(share.own)

    def _branch(self, test: Value, then: _Body, otherwise: _Body) -> None:
        regions = [
            Region([], [*arm.operations, make("yield", [], self._at)]) for arm in (then, otherwise)
        ]
        self.operations.append(make("if", [test], self._at, [], regions))

    def _is_below(self, value: Value, bound: int) -> Value:
        operands = [value, self._constant(bound)]
        return self.add("compare", operands, boolean, operator="lt")

    def _sum(self, operator: str, value: Value, other: int) -> Value:
        return self.add("binary", [value, self._constant(other)], weak_int, operator=operator)

    def _constant(self, value: int) -> Value:
        return self.add("constant", [], weak_int, value=value)
