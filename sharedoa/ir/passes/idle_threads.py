"""Threads that end at their first test: on a processor a loop over threads asks many of them at
once before it runs any (``targets.thread_loops``).

A kernel that runs for every object and has something to do for few of them (``if cell.agent is not
None``) begins with a test, and does nothing if it fails. What a thread does up to the test becomes
a function of its own, which says whether the thread goes on; another one fetches what it loads.

    kernel @k (%cells: Array[Cell]) {                question @k.goes_on (%cells: Array[Cell]) {
      %i = thread_index; ...                           %i = thread_index; ...
      %agent = load %at                                %agent = load %at
      %is = compare %agent, %none                ->    %is = compare %agent, %none
      if %is { A; yield } else { yield }               return %is
      return }                                       }

The kernel stays as it is. As threads of a launch run in any order, all of a group may be asked
before the first of them goes on. On a device a thread asks for several, and those of a block that
go on run side by side (``targets.packed_threads``), where that is known to pay.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from dispatch.dataclass import replace

from ...model.layout import Layout
from ...model.scalars import boolean
from ...model.types import VOID
from ..core import (
    Function,
    Lane,
    Operation,
    Program,
    Region,
    Value,
    behind,
    element_of,
    operations_in,
    root_of,
    unconverted,
)
from ..evaluation import Known, evaluated
from ..job import Job
from ..operations import PURE, Effects, cost_of, effects_of, kind_of
from ..rewrite import copy_function, copy_operations, make, way_of
from .calls import callees

_MOST_COST, _MOST_LOADS = 16, 2
"""Of what is asked: what costs more is no longer cheap to answer twice."""
_LINE = 64
"""Bytes that memory is fetched by."""
_MOST_STEPS = 100
"""Operations of a thread that are looked at before its first test, or without one."""
_OPPOSITE = {"is": "is_not", "is_not": "is", "eq": "ne", "ne": "eq"}
_MAY_BE_ASKED = Effects.READS | Effects.ASKS_THREAD
_WITH_OTHERS = Effects.WAITS | Effects.LIVES | Effects.UNKNOWN

#: What follows where values are returned or yielded: whether a thread does something then.
_Then = Callable[[Sequence[Value]], bool]


def ask_idle_threads(program: Program, job: Job) -> None:
    # LLVM makes vector code of loops over threads that use neighbouring elements of arrays.
    if any(map(_stays_scalar, operations_in(program))):
        for question in _Beginning(program, job).questions():
            program.functions[question.symbol] = question


def _stays_scalar(operation: Operation) -> bool:
    """Whether LLVM makes no vector code, or none that is worth much, of a loop over threads that
    holds such an operation."""
    kind = kind_of(operation)
    if kind is None or kind.is_loop or kind.name == "field" or len(callees(operation)) > 1:
        return True
    if kind.name == "element":
        index = behind(operation.operands[1], lambda source: True)
        return any(v.source is not None and v.source.kind == "load" for v in index)
    return bool(kind.effects & (Effects.ATOMIC | Effects.LIVES | Effects.REPORTS))


def pack_threads(program: Program, job: Job) -> None:
    """The same for a device, if it is known to pay (``runtime.packing``)."""
    if any(map(_knows_its_block, operations_in(program))):
        return
    questions = _Beginning(program, job).questions()
    if questions and job.facts.packs():
        program.functions[questions[0].symbol] = questions[0]


def _knows_its_block(operation: Operation) -> bool:
    """Whether it matters for a thread which others its block has, or what lies along other axes."""
    if operation.kind in ("thread_index", "grid_size"):
        return bool(operation["axis"])
    return operation.kind == "tile" or bool(effects_of(operation) & _WITH_OTHERS)


class _Beginning:
    """What threads of a kernel do up to their first test: its operations are copied one by one as
    far as every thread runs them, through calls."""

    def __init__(self, program: Program, job: Job) -> None:
        self._program, self._kernel, self._job = program, program.kernel, job
        self._own = [Value(each.type, each.name) for each in self._kernel.parameters]
        self._copies = dict(zip(self._kernel.parameters, self._own, strict=True))
        self._made: list[Operation] = []
        #: Numbers of values, the same for what is computed in the same way of the same: launches
        #: that have become one ask one after another the same question. A value of a function that
        #: is called twice has another number then. And what is known of numbers.
        self._numbers = {each: n for n, each in enumerate(self._kernel.parameters)}
        self._computed: dict[Hashable, int] = dict(self._numbers.items())
        self._known: dict[int, Known] = {}
        #: The test, and what it says of threads that go on.
        self._found: tuple[Value, bool] | None = None
        self._is_behind_test = False
        self._steps = 0

    def questions(self) -> list[Function]:
        ends: _Then = lambda values: False  # noqa: E731
        self._does_something(self._kernel.body.operations, ends, ends)
        if self._found is None:
            return []
        kernel, (test, goes_on) = self._kernel, self._found
        needed = {*behind(test, lambda operation: True)}
        asked = [o for o in self._made if not needed.isdisjoint(o.results)]
        loads = sum(operation.kind == "load" for operation in asked)
        if not 1 <= loads <= _MOST_LOADS or sum(map(cost_of, asked)) > _MOST_COST:
            return []
        if not goes_on:
            asked.append(make("unary", [test], kernel.location, [boolean], operator="not"))
            test = asked[-1].result
        asked.append(make("return", [test], kernel.location))
        question = Function(
            f"{kernel.symbol}.goes_on", kernel.name, "question", boolean, Region(self._own, asked),
            kernel.location, known=kernel.known,
        )  # fmt: skip
        return [question, _fetching(question, f"{kernel.symbol}.ahead", self._job.layout)]

    def _does_something(
        self, operations: Sequence[Operation], on_yield: _Then, on_return: _Then
    ) -> bool:
        """Whether a thread that runs these, and then what follows, may do something that is
        seen."""
        for place, operation in enumerate(operations):
            self._steps += 1
            if self._steps > _MOST_STEPS:
                break
            if operation.kind in ("yield", "return"):
                return (on_yield if operation.kind == "yield" else on_return)(operation.operands)

            def go_on(values: Sequence[Value], place: int = place) -> bool:
                self._bind(operations[place].results, values)
                return self._does_something(operations[place + 1 :], on_yield, on_return)

            if operation.kind == "if":
                return self._branch(
                    operation, lambda arm: self._does_something(arm.operations, go_on, on_return)
                )
            called = callees(operation)
            if len(called) == 1:
                callee = self._program.functions[called[0]]
                if any(isinstance(fact, Lane) for fact in callee.known.values()):
                    break
                self._bind(callee.parameters, operation.operands)
                return self._does_something(callee.body.operations, go_on, go_on)
            if operation.regions or effects_of(operation) & ~_MAY_BE_ASKED:
                break
            if self._reaches_far(operation):
                break
            self._take_over(operation)
        return True

    def _branch(self, branch: Operation, run: Callable[[Region], bool]) -> bool:
        test = branch.operands[0]
        arms = dict(zip((True, False), branch.regions, strict=True))
        number = self._numbers[test]
        answer = self._known.get(number)
        if answer is not None:
            return run(arms[bool(answer)])
        if self._is_behind_test:
            return True
        self._is_behind_test = True
        known, copy = self._known, self._copies[test]
        does = {}
        for each, arm in arms.items():
            self._known = {**known, number: each}
            does[each] = run(arm)
        if does[True] != does[False]:
            self._found = copy, does[True]
        return any(does.values())

    def _take_over(self, operation: Operation) -> None:
        if not self._is_behind_test:
            self._made += copy_operations([operation], self._copies)
        key = self._key(operation)
        for place, result in enumerate(operation.results):
            # A load gives the same once more, as this thread has stored nothing so far.
            number = self._computed.setdefault((place, *key), len(self._computed))
            self._numbers[result] = number
        if len(operation.results) == 1 and self._known.get(number) is None:
            self._known[number] = self._evaluated(operation)

    def _evaluated(self, operation: Operation) -> Known:
        if operation.kind == "compare":
            opposite = self._key(operation, operator=_OPPOSITE.get(operation["operator"]))
            answer = self._known.get(self._computed.get((0, *opposite), -1))
            if answer is not None:
                return not answer
        return evaluated(operation, [self._known.get(self._numbers[v]) for v in operation.operands])

    def _key(self, operation: Operation, **others: Any) -> tuple[Hashable, ...]:
        """Equal for what is computed in the same way of the same, but for ``others`` among the
        attributes."""
        operands = [self._numbers[operand] for operand in operation.operands]
        types = [result.type for result in operation.results]
        return way_of(operation.kind, operands, types, {**operation.attributes, **others})

    def _bind(self, names: Sequence[Value], values: Sequence[Value]) -> None:
        """Names for values; what returns nothing has a name for that."""
        for name, value in zip(names, values, strict=False):
            self._numbers[name] = self._numbers[value]
            if self._is_behind_test:
                continue
            self._copies[name] = self._copies[value]
            if name.type != value.type:  # the class of a receiver
                made = make("convert", [self._copies[value]], self._kernel.location, [name.type])
                self._made.append(made)
                self._copies[name] = made.result

    def _reaches_far(self, operation: Operation) -> bool:
        """Whether it touches memory to see that its object is there."""
        return operation.kind == "field" and self._job.layout.reaches_far(
            operation["owner"], operation["name"]
        )


def _fetching(question: Function, symbol: str, layout: Layout) -> Function:
    """The same up to its first load, of which it says only where that is."""
    made = copy_function(question, symbol)
    operations = made.body.operations
    place = next(n for n, each in enumerate(operations) if each.kind == "load")
    load = operations[place]
    every = max(1, _LINE // _bytes_apart(load.operands[0], layout))
    operations[place:] = [
        make("prefetch", load.operands, load.location, every=every),
        make("return", [], load.location),
    ]
    return replace(made, result=VOID)


def _bytes_apart(lvalue: Value, layout: Layout) -> int:
    """How far it is from the lvalue of the next thread; a line of memory if that is not known."""
    root = root_of(lvalue)
    if root is None or root is not lvalue.source:
        return _LINE
    size = layout.dtype(element_of(lvalue)).itemsize
    if root.kind == "field":
        made = unconverted(root.operands[0]).source
        if made is None or made.kind != "run_element":
            return _LINE
        cls, owner = made["form"].cls, root["owner"]
        if not layout.is_tiled(cls):
            size = layout.record(cls).size
        elif layout.cluster(owner, root["name"]) is not None:
            return _LINE
        root = made
    return size if _counts(root.operands[1]) else _LINE


def _counts(index: Value) -> bool:
    """Whether it is one more in the next thread."""
    source = unconverted(index).source
    if source is None or source.kind == "thread_index":
        return source is not None and source["axis"] == 0
    if source.kind != "binary" or source["operator"] != "add":
        return False
    one, other = source.operands
    return (_counts(one) and _is_of_row(other)) or (_is_of_row(one) and _counts(other))


def _is_of_row(value: Value) -> bool:
    """Whether it is the same in all threads of a row."""
    sources = [each.source for each in behind(value, lambda source: True)]
    return all(
        source is None
        or effects_of(source) == PURE
        or (source.kind == "thread_index" and source["axis"] == 1)
        or source.kind == "grid_size"
        for source in sources
    )
