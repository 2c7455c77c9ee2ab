"""Random kernels whose threads part in every way, and what they do run in step.

Threads that are in the same rounds of the same loops, called from the same places, run together:
receivers that are said to be uniform must be one object for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import sharedoa as oa
from sharedoa import i64
from sharedoa.ir.core import Function, Program, Region

from .interpreter import Env, Machine, Running, Thing, Thread

THREADS, NODES = 4, 5
PARAMETERS = "nodes: oa.Array[Marked], numbers: oa.Array[i64], n: i64"


class Marked(oa.Object):
    value: i64

    def ask(self, label: i64) -> i64: ...


class Plain(Marked):
    def ask(self, label: i64) -> i64:
        return self.value


class Other(Marked):
    def ask(self, label: i64) -> i64:
        return 0


class Source:
    """The text of functions and a kernel that calls them; probes are ``nodes[..].ask(label)``."""

    def __init__(self, seed: i64) -> None:
        self._random = Random(seed)
        self._labels = self._loops = 0
        self._callable: list[str] = []

    def text(self) -> str:
        parts = ["import sharedoa as oa\nfrom sharedoa import i64"]
        for name in ("first", "second")[: self._random.randint(0, 2)]:
            parts.append(
                f"@oa.func\ndef {name}({PARAMETERS}, a: i64, b: i64) -> i64:\n    c, d = n, 1\n"
                + self._lines(self._block(3, 0, True))
                + f"\n    return {self._value()}"
            )
            self._callable.append(name)
        body = self._block(5, 0, False)
        parts.append(
            f"def kernel({PARAMETERS}):\n    a, b, c, d = n, 2, 3, oa.grid(1)\n{self._lines(body)}"
        )
        return "\n\n".join(parts) + "\n"

    def _lines(self, lines: Sequence[str]) -> str:
        return "\n".join(f"    {line}" for line in lines)

    def _value(self) -> str:
        random = self._random
        name, other = (random.choice("abcd") for _ in range(2))
        forms = ["0", "1", name, name, f"({name} + {other}) % {NODES}", f"numbers[{name}]"]
        return random.choice([*forms, f"({name} if {self._test()} else {other})"])

    def _test(self) -> str:
        name, other = (self._random.choice("abcd") for _ in range(2))
        return (
            f"{name} {self._random.choice(('<', '==', '!='))} {self._random.choice((other, '2'))}"
        )

    def _block(self, most: int, depth: int, returns: bool, in_loop: bool = False) -> list[str]:
        found = []
        for _ in range(self._random.randint(1, most)):
            found += self._statement(depth, returns, in_loop)
        return [*found, self._probe()]

    def _probe(self) -> str:
        self._labels += 1
        return f"nodes[{self._random.choice('abcd')}].ask({self._labels})"

    def _statement(self, depth: i64, returns: bool, in_loop: bool) -> list[str]:
        random = self._random
        kinds = ["assign", "assign", "call"] + ["branch", "loop"] * (depth < 3)
        kinds += ["leave", "leave"] * in_loop + ["return"] * (depth > 0)
        kind = random.choice(kinds)
        if kind == "call" and self._callable:
            name, given = random.choice(self._callable), f"{self._value()}, {self._value()}"
            return [f"{random.choice('abcd')} = {name}(nodes, numbers, n, {given})"]
        if kind == "branch":
            lines = [f"if {self._test()}:", *_in(self._block(2, depth + 1, returns, in_loop))]
            if random.random() < 0.5:
                lines += ["else:", *_in(self._block(2, depth + 1, returns, in_loop))]
            return lines
        if kind == "loop":
            return self._loop(depth, returns, in_loop)
        if kind == "leave":
            return [f"if {self._test()}: {random.choice(('break', 'continue'))}"]
        if kind == "return":
            return [f"if {self._test()}: return{f' {self._value()}' if returns else ''}"]
        return [f"{random.choice('abcd')} = {self._value()}"]

    def _loop(self, depth: i64, returns: bool, in_loop: bool) -> list[str]:
        self._loops += 1
        counter, most = f"i{self._loops}", self._random.choice("abcd3")
        body = _in(self._block(3, depth + 1, returns, True))
        if self._random.random() < 0.5:
            lines = [f"for {counter} in range({most}):", f"    {self._random.choice('abcd')} = "
                     f"{counter}", *body]  # fmt: skip
        else:
            head = f"while {counter} < {most} and {counter} < {NODES - 1}:"
            lines = [f"{counter} = 0", head, f"    {counter} += 1", *body]
        if self._random.random() < 0.4:
            lines += ["else:", *_in(self._block(2, depth + 1, returns, in_loop))]
        return lines


def _in(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@dataclass(eq=False)
class _Frame:
    """A region that a thread is in: which time it is since the region around it was entered."""

    key: tuple[Region, int]
    entered: Counter[Region] = field(default_factory=Counter)


class InStep(Machine):
    """``asked``: by label, the receivers that threads had at each place on their way."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.asked: dict[int, dict[Any, set[Thing]]] = {}
        self._frames: dict[Thread, list[_Frame]] = {}

    def _region(self, region: Region, env: Env, thread: Thread) -> Running:
        frames = self._frames.setdefault(thread, [_Frame((region, 0))])
        entered = frames[-1].entered
        entered[region] += 1
        frames.append(_Frame((region, entered[region])))
        found = yield from super()._region(region, env, thread)
        frames.pop()
        return found

    def _call(self, function: Function, arguments: Sequence[Any], thread: Thread) -> Running:
        if function.name == "Plain.ask":
            receiver, label = arguments
            way = tuple(frame.key for frame in self._frames[thread])
            self.asked.setdefault(label, {}).setdefault(way, set()).add(receiver)
        return (yield from super()._call(function, arguments, thread))


def run_in_step(program: Program, seed: int) -> dict[int, dict[Any, set[Thing]]]:
    random = Random(seed)
    nodes = [Thing(Plain.__sharedoa__, {"value": random.randrange(NODES)}) for _ in range(NODES)]
    numbers = [random.randrange(NODES) for _ in range(NODES)]
    machine = InStep(program)
    machine.run((nodes, numbers, random.randrange(NODES)), THREADS)
    return machine.asked
