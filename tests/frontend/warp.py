"""A few threads that run a typed tree together and share loops as the frontend's analysis allows
it, in any order and interleaved at every access of memory.

``run`` does what generated code does (``codegen.shared_loops``, ``codegen.cut_branches``) and more:
any order of iterations, and any thread for each. Only what ``test_shared_orders`` writes is known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sharedoa.frontend import tree
from sharedoa.frontend.shared_loops import Operator, SharedLoop
from sharedoa.model.types import ScalarType

Locals = dict[tree.Variable, Any]
Loops = Mapping[tree.ForRange, SharedLoop]
#: Pauses before every access of memory.
Running = Generator[None, None, Any]

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "mod": operator.mod,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "min": min, "max": max,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "is": operator.is_, "is_not": operator.is_not,
}  # fmt: skip


@dataclass(eq=False)
class Item:
    """An object: its class and its fields."""

    cls: str
    fields: dict[str, Any]


class _Continue(Exception):
    pass


@dataclass
class _Return(Exception):
    value: Any


@dataclass(eq=False)
class _Thread:
    number: int
    locals: Locals = field(default_factory=dict)


def run(
    program: tree.Program, arguments: Sequence[Any], threads: int, loops: Loops, seed: int
) -> int:
    """Run the kernel; how many iterations were run for another thread."""
    warp = _Warp(program, loops, Random(seed))
    parameters = program.kernel.parameters
    warp.run(
        program.kernel.body,
        [_Thread(n, dict(zip(parameters, arguments, strict=True))) for n in range(threads)],
    )
    return warp.helped


class _Warp:
    def __init__(self, program: tree.Program, loops: Loops, random: Random) -> None:
        self._program, self._loops, self._random = program, loops, random
        self.helped = 0

    def run(self, statements: Sequence[tree.Statement], threads: list[_Thread]) -> list[_Thread]:
        """Run statements; the threads that did not go on with the next turn of a loop."""
        for node in statements:
            if isinstance(node, tree.If):
                threads = self._branch(node, threads)
            elif isinstance(node, tree.Continue):
                threads = []
            elif isinstance(node, tree.ForRange):
                ranges = [self._range(node, thread) for thread in threads]
                if node in self._loops:
                    self._share(node, list(zip(threads, ranges, strict=True)))
                else:
                    self._take_turns(node, threads, ranges)
            else:
                for thread in threads:
                    self._finish(self._execute([node], thread, thread.locals))
        return threads

    def _branch(self, node: tree.If, threads: list[_Thread]) -> list[_Thread]:
        answers = {t: bool(self._finish(self._value(node.test, t, t.locals))) for t in threads}
        for statements, outcome in ((node.then, True), (node.otherwise, False)):
            for part in statements:
                inside = [t for t in threads if answers[t] == outcome]
                if isinstance(part, tree.ForRange) and part in self._loops:
                    ranges = [self._range(part, t) if t in inside else range(0) for t in threads]
                    self._share(part, list(zip(threads, ranges, strict=True)))
                else:
                    going = self.run([part], inside)
                    threads = [t for t in threads if t in going or t not in inside]
        return threads

    def _take_turns(self, node: tree.ForRange, threads: list[_Thread], ranges: list[range]) -> None:
        for turn in range(max(map(len, ranges), default=0)):
            going = [(t, r) for t, r in zip(threads, ranges, strict=True) if turn < len(r)]
            for thread, numbers in going:
                thread.locals[node.variable] = numbers[turn]
            self.run(node.body, [thread for thread, _ in going])

    def _range(self, node: tree.ForRange, thread: _Thread) -> range:
        bounds = [
            self._finish(self._value(bound, thread, thread.locals))
            for bound in (node.start, node.stop, node.step)
        ]
        return range(*bounds)

    # ------------------------------------------------------------ shared loops

    def _share(self, node: tree.ForRange, owners: list[tuple[_Thread, range]]) -> None:
        iterations = [(owner, number) for owner, numbers in owners for number in numbers]
        self._random.shuffle(iterations)
        helpers = [owner for owner, _ in owners]
        while iterations:
            self._random.shuffle(helpers)
            round, iterations = iterations[: len(helpers)], iterations[len(helpers) :]
            self.helped += sum(
                helper is not owner for helper, (owner, _) in zip(helpers, round, strict=False)
            )
            self._interleave(
                [
                    self._iteration(node, helper, owner, number)
                    for helper, (owner, number) in zip(helpers, round, strict=False)
                ]
            )

    def _interleave(self, running: list[Running]) -> None:
        while running:
            chosen = self._random.choice(running)
            try:
                next(chosen)
            except StopIteration:
                running.remove(chosen)

    def _iteration(
        self, node: tree.ForRange, helper: _Thread, owner: _Thread, number: int
    ) -> Running:
        """One iteration of ``owner``'s; of the helper's locals it changes what it assigns to."""
        shared = self._loops[node]
        reduced = {r.variable: _identity(r.operator) for r in shared.reductions}
        captured = {v: owner.locals.get(v, 0) for v in shared.captured}
        own = {**helper.locals, **captured, **reduced, node.variable: number}
        try:
            yield from self._execute(node.body, helper, own)
        except _Continue:
            pass
        for reduction in shared.reductions:
            part, before = own[reduction.variable], owner.locals.get(reduction.variable, 0)
            combine = _ARITHMETIC[reduction.operator]
            owner.locals[reduction.variable] = _wrapped(combine(before, part), reduction.type)
        helper.locals.update((v, x) for v, x in own.items() if v not in {*captured, *reduced})

    # ------------------------------------------------------------ one thread

    def _finish(self, running: Running) -> Any:
        try:
            while True:
                next(running)
        except StopIteration as done:
            return done.value

    def _execute(
        self, statements: Sequence[tree.Statement], thread: _Thread, own: Locals
    ) -> Running:
        for node in statements:
            if isinstance(node, tree.Assign):
                own[node.variable] = yield from self._value(node.value, thread, own)
            elif isinstance(node, tree.Store):
                value = yield from self._value(node.value, thread, own)
                holder, key = yield from self._place(node.place, thread, own)
                yield
                holder[key] = value
            elif isinstance(node, tree.Evaluate):
                yield from self._value(node.value, thread, own)
            elif isinstance(node, tree.If):
                test = yield from self._value(node.test, thread, own)
                yield from self._execute(node.then if test else node.otherwise, thread, own)
            elif isinstance(node, tree.ForRange):
                bounds = []
                for bound in (node.start, node.stop, node.step):
                    bounds.append((yield from self._value(bound, thread, own)))
                for number in range(*bounds):
                    own[node.variable] = number
                    try:
                        yield from self._execute(node.body, thread, own)
                    except _Continue:
                        pass
            elif isinstance(node, tree.Continue):
                raise _Continue
            elif isinstance(node, tree.Return):
                value = None
                if node.value is not None:
                    value = yield from self._value(node.value, thread, own)
                raise _Return(value)
            else:
                raise NotImplementedError(type(node).__name__)

    def _place(self, place: tree.Place, thread: _Thread, own: Locals) -> Running:
        if isinstance(place, tree.FieldPlace):
            item = yield from self._value(place.object, thread, own)
            return item.fields, place.name
        if isinstance(place, tree.ElementPlace):
            array = yield from self._value(place.array, thread, own)
            index = yield from self._value(place.index, thread, own)
            return array, index
        raise NotImplementedError(type(place).__name__)

    def _value(self, node: tree.Expression, thread: _Thread, own: Locals) -> Running:
        if isinstance(node, tree.Constant):
            return node.value
        if isinstance(node, tree.Null):
            return None
        if isinstance(node, tree.Local):
            return own.get(node.variable, 0)
        if isinstance(node, tree.ThreadIndex):
            return thread.number
        if isinstance(node, tree.Let):
            own[node.variable] = yield from self._value(node.value, thread, own)
            return (yield from self._value(node.body, thread, own))
        if isinstance(node, tree.Convert):
            value = yield from self._value(node.value, thread, own)
            return _wrapped(value, node.type) if isinstance(node.type, ScalarType) else value
        if isinstance(node, (tree.Binary, tree.Compare)):
            left = yield from self._value(node.left, thread, own)
            right = yield from self._value(node.right, thread, own)
            result = _ARITHMETIC[node.operator](left, right)
            return _wrapped(result, node.type) if isinstance(node, tree.Binary) else result
        if isinstance(node, tree.Conditional):
            test = yield from self._value(node.test, thread, own)
            chosen = node.then if test else node.otherwise
            return (yield from self._value(chosen, thread, own))
        if isinstance(node, tree.Truth):
            return bool((yield from self._value(node.value, thread, own)))
        if isinstance(node, tree.Load):
            holder, key = yield from self._place(node.place, thread, own)
            yield
            return holder[key]
        if isinstance(node, (tree.DirectCall, tree.VirtualCall)):
            given = node.arguments
            if isinstance(node, tree.VirtualCall):
                given = [node.receiver, *given]
            values = []
            for argument in given:
                values.append((yield from self._value(argument, thread, own)))
            if isinstance(node, tree.DirectCall):
                symbol = node.symbol
            else:
                found = {candidate.cls.name: candidate.symbol for candidate in node.candidates}
                symbol = found[values[0].cls]
            function = self._program.functions[symbol]
            try:
                inner = dict(zip(function.parameters, values, strict=True))
                yield from self._execute(function.body, thread, inner)
            except _Return as result:
                return result.value
            return None
        raise NotImplementedError(type(node).__name__)


def _identity(operator: Operator) -> int:
    values: Mapping[Operator, int] = {
        "add": 0, "or": 0, "xor": 0, "and": -1, "min": 2**31 - 1, "max": -(2**31),
    }  # fmt: skip
    return values[operator]


def _wrapped(value: int, type: Any) -> Any:
    """``value`` as an integer of that type holds it."""
    if not isinstance(type, ScalarType) or not type.is_integer:
        return value
    low, high = type.range
    return (value - low) % (high - low + 1) + low
