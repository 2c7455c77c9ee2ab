"""Launches that change the same field of objects, of which each has passed a test that those of the
other have not: they may be one, whatever refers to these objects."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.runtime import knobs, packed_steps
from tests.codegen.interpreted import InterpretedGpu
from tests.differential.effort import examples
from tests.source_files import load_module

N = 70


class Agent(oa.Object):
    kind: i32
    mood: i32
    action: i32
    is_new: bool
    size: f32

    def is_one(self) -> bool:
        return self.kind == 1

    def is_other(self) -> bool:
        return self.kind != 1

    def is_new_or_one(self) -> bool:
        if self.is_new:
            return True
        return self.kind == 1

    def act(self, action: i32) -> None:
        self.action = action


class Odd(Agent):
    def is_one(self) -> bool:
        return self.kind == 3


class Cell(oa.Object):
    agent: Agent | None
    next: Cell
    kind: i32
    mark: i32


@oa.kernel
def ones(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].agent
    if agent is not None and agent.is_one():
        agent.act(5)


@oa.kernel
def zeros(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].next.agent
    if agent is None:
        return
    if agent.kind == 0:
        agent.action = agent.mood


@oa.kernel
def others(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].next.agent
    if agent is not None and agent.is_other():
        agent.act(6)


@oa.kernel
def left(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].next.agent
    if agent is None or agent.kind == 1:
        return
    agent.act(7)


@oa.kernel
def either(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].next.agent
    if agent is not None and (agent.kind == 0 or agent.mood == 1):
        agent.act(8)


@oa.kernel
def not_two(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].next.agent
    if agent is not None and agent.kind != 2:
        agent.act(9)


@oa.kernel
def merry(cells: oa.Array[Cell]) -> None:
    """The test is of another field."""
    agent = cells[oa.grid(1)].next.agent
    if agent is not None and agent.mood == 0:
        agent.act(16)


@oa.kernel
def early_ones(cells: oa.Array[Cell]) -> None:
    """One of two ways says what the kind is."""
    agent = cells[oa.grid(1)].next.agent
    if agent is not None and agent.is_new_or_one():
        agent.act(17)


@oa.kernel
def of_another(cells: oa.Array[Cell]) -> None:
    """The test is of another agent than the one that changes."""
    cell = cells[oa.grid(1)]
    if cell.agent is not None and cell.next.agent is not None and cell.agent.kind == 0:
        cell.next.agent.act(10)


@oa.kernel
def settle(cells: oa.Array[Cell]) -> None:
    """Changes what it asks."""
    agent = cells[oa.grid(1)].next.agent
    if agent is not None and agent.kind == 0:
        agent.act(11)
        agent.kind = 1


@oa.kernel
def endless(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].next.agent
    if agent is not None and agent.size == math.inf:
        agent.act(15)


@oa.kernel
def others_and_clear(cells: oa.Array[Cell]) -> None:
    """Changes what other threads ask, whose answer is all the same by itself."""
    cell = cells[oa.grid(1)]
    if cell.next.kind == 1:
        cell.next.mark = 1
    cell.kind = 0


@oa.kernel
def settled(cells: oa.Array[Cell]) -> None:
    """What the other one marked is to be marked anew: not before it."""
    cell = cells[oa.grid(1)]
    if cell.kind == 0:
        cell.mark = 2


@oa.kernel
def around(cells: oa.Array[Cell]) -> None:
    """An object that was another one in the round before."""
    cell = cells[oa.grid(1)]
    for _ in range(3):
        cell = cell.next
        agent = cell.agent
        if agent is not None and agent.kind == 0 and not agent.is_new:
            agent.act(12)


@oa.kernel
def new_ones(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].agent
    if agent is not None and agent.is_new:
        agent.act(13)


def _board(of: type[Agent] = Agent) -> Any:
    """Cells that share agents, of which some have none."""
    rng = np.random.default_rng(5)
    agents = oa.new(of, N)
    for name in ("kind", "mood"):
        setattr(agents, name, rng.integers(0, 4, N))
    agents.is_new = rng.integers(0, 2, N).astype(bool)
    cells = oa.new(Cell, N)
    chosen = [None if rng.random() < 0.3 else agents[int(rng.integers(N))] for _ in range(N)]
    cells.agent = oa.array(Agent, chosen)
    cells.next = oa.array(Cell, [cells[int(i)] for i in rng.permutation(N)])
    return cells, agents


def _state(agents: Any) -> bytes:
    return b"".join(getattr(agents, n).numpy().tobytes() for n in ("kind", "mood", "action"))


def _run(kernels: tuple[Any, ...], backend: Any, fuse: str, of: type[Agent]) -> tuple[bytes, str]:
    with knobs.scope(fuse=fuse), oa.Heap(backend=backend, capacity="64MiB"):
        cells, agents = _board(of)
        with oa.capture() as step:
            for kernel in kernels:
                kernel[N](cells)
        step.run(2)
        return _state(agents), step.explain()


@pytest.mark.parametrize(
    ("kernels", "is_one"),
    [
        ((ones, zeros), True),
        ((zeros, ones), True),
        ((ones, others), True),
        ((ones, left), True),
        ((ones, around), True),
        ((new_ones, around), True),
        ((ones, either), False),
        ((ones, not_two), False),
        ((zeros, not_two), False),
        ((ones, merry), False),
        ((early_ones, zeros), False),
        ((ones, of_another), False),
        ((ones, settle), False),
        ((settle, ones), False),
        ((zeros, zeros), False),
        ((others, zeros), False),
        ((others, not_two), False),
        ((ones, endless), False),
        ((others_and_clear, settled), False),
    ],
    ids=lambda each: "-".join(k.name for k in each) if isinstance(each, tuple) else "",
)
def test_which_are_one(kernels: tuple[Any, ...], is_one: bool) -> None:
    expected, _ = _run(kernels, "python", "0", Agent)
    found, explained = _run(kernels, "cpu", "always", Agent)
    assert found == expected
    assert ("one with the launch before it" in explained) == is_one, explained


def test_all_methods_of_a_call_must_say_so() -> None:
    kernels = (ones, zeros)
    for of in (Agent, Odd):
        expected, _ = _run(kernels, "python", "0", of)
        found, explained = _run(kernels, "cpu", "always", of)
        assert found == expected
        assert "one with the launch before it" in explained
    with knobs.scope(fuse="always"), oa.Heap(backend="cpu", capacity="64MiB"):
        cells, _ = _board()
        oa.new(Odd, 3)
        with oa.capture() as step:
            ones[N](cells)
            others[N](cells)
        step.run()
        assert "one with the launch before it" not in step.explain()


def test_objects_that_move_and_that_the_host_gives_others() -> None:
    """Nothing of the data counts: what cells refer to may change between runs."""
    found = []
    for backend, fuse in (("python", "0"), ("cpu", "always")):
        with knobs.scope(fuse=fuse), oa.Heap(backend=backend, capacity="64MiB"):
            cells, agents = _board()
            with oa.capture() as step:
                ones[N](cells)
                zeros[N](cells)
            step.run()
            read = [_state(agents)]
            cells[3].agent = agents[7]
            cells[4].agent = agents[7]
            agents[7].kind = 1
            step.run()
            read.append(_state(agents))
            oa.delete(agents[60:])
            cells.agent = oa.array(Agent, [agents[i // 2] for i in range(N)])
            oa.compact(Agent)
            step.run()
            read.append(_state(agents[:60]))
            found.append(read)
    assert found[0] == found[1]


# ------------------------------------------------------------------ on a GPU


@oa.kernel
def fill(cells: oa.Array[Cell], agents: oa.Array[Agent]) -> None:
    i = oa.grid(1)
    if i % 3 != 0:
        cells[i].agent = agents[(i * 7919) % len(agents)]


@oa.kernel
def ones_of_own(cells: oa.Array[Cell]) -> None:
    """Without a method: on a GPU, whose code is for all classes, one of Odd could answer."""
    agent = cells[oa.grid(1)].agent
    if agent is not None and agent.kind == 1:
        agent.act(5)


@oa.kernel
def zeros_of_own(cells: oa.Array[Cell]) -> None:
    agent = cells[oa.grid(1)].agent
    if agent is None:
        return
    if agent.kind == 0:
        agent.act(agent.mood)


@pytest.mark.gpu
def test_as_many_cells_as_fill_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are compared with packed threads and without."""
    monkeypatch.setattr(packed_steps, "_FIRST", 3)
    count, found = 2_000_000, []
    for backend, fuse in (("cpu", "0"), ("cuda", "always")):
        with knobs.scope(fuse=fuse, background=False), oa.Heap(backend=backend):
            agents, cells = oa.new(Agent, count), oa.new(Cell, count)
            agents.kind, agents.mood = np.arange(count) % 3, np.arange(count) % 5
            fill[count](cells, agents)
            with oa.capture() as step:
                ones_of_own[count](cells)
                zeros_of_own[count](cells)
            step.run(100)
            found.append(_state(agents))
    assert "one with the launch before it" in step.explain()
    assert found[0] == found[1]


# ------------------------------------------------------------------ random kernels

_FIELDS = ("kind", "mood", "action")
_WAYS = ("cell.agent", "cell.next.agent", "cells[(i * 7 + 3) % len(cells)].agent")


def _test(rng: Random, depth: int = 2) -> str:
    if depth and rng.random() < 0.5:
        one, other = _test(rng, depth - 1), _test(rng, depth - 1)
        return f"({one} {rng.choice(['and', 'and', 'or'])} {other})"
    if rng.random() < 0.2:
        return f"not {_test(rng, 0)}"
    return rng.choice(
        [
            f"agent.{rng.choice(_FIELDS)} {rng.choice(['==', '==', '!='])} {rng.randrange(3)}",
            "agent.is_new", "agent.is_one()", "agent.is_other()",
        ]
    )  # fmt: skip


def _kernel(rng: Random, number: int) -> str:
    """One that stores to one field a number, or what another field has, so that it is all the same
    which of two threads stores last."""
    field = rng.choice(_FIELDS)
    value = rng.choice([str(rng.randrange(3)), f"agent.{rng.choice(_FIELDS)}"])
    test, store = _test(rng), f"agent.{field} = {value}"
    if field in test or f"agent.{field}" == value or (field == "kind" and "is_o" in test):
        # What is asked changes: to a number that no test is about.
        store = f"agent.{field} = 9"
    lines = [
        "@oa.kernel", f"def random_{number}(cells: oa.Array[Cell]):", "    i = oa.grid(1)",
        "    cell = cells[i]", f"    agent = {rng.choice(_WAYS)}",
    ]  # fmt: skip
    match rng.randrange(3):
        case 0:
            lines += [f"    if agent is not None and {test}:", f"        {store}"]
        case 1:
            lines += ["    if agent is None:", "        return"]
            lines += [f"    if {test}:", "        return", f"    {store}"]
        case _:
            lines += ["    if agent is not None:", f"        if {test}:", f"            {store}"]
            lines += ["        else:", f"            {rng.choice(['pass', store])}"]
    return "\n".join(lines)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(12), deadline=None)
def test_random_kernels(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = Random(seed)
    count = rng.randrange(2, 5)
    text = "\n\n\n".join(_kernel(rng, number) for number in range(count))
    module = load_module(tmp_path_factory.mktemp("kernels"), text, Agent=Agent, Cell=Cell)
    kernels = tuple(getattr(module, f"random_{number}") for number in range(count))
    expected, _ = _run(kernels, "python", "0", Agent)
    worlds: list[Callable[[], Any]] = [lambda: "cpu", InterpretedGpu]
    for backend in worlds:
        assert _run(kernels, backend(), "always", Agent)[0] == expected, text
