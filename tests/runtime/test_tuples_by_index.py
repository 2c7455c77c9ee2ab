"""Tuples of a kernel's own that are indexed by a variable, ``pow``, and what else of Python has a
cure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, u8
from tests.codegen.interpreted import InterpretedGpu
from tests.source_files import load_module


class Agent(oa.Object):
    x: f32
    n: i32
    left: Agent
    right: Agent

    def near(self, side: i32) -> Agent:
        return (self.left, self.right)[side]


@oa.func
def noted(calls: oa.Array[i32], i: i32, digit: i32) -> i32:
    calls[i] = calls[i] * 10 + digit
    return digit


@oa.func
def both(calls: oa.Array[i32], i: i32) -> tuple[i32, i32]:
    return noted(calls, i, 6), noted(calls, i, 7)


MANY, FEW = u8(200), u8(100)


@oa.kernel
def kernel(
    agents: oa.Array[Agent], calls: oa.Array[i32], found: oa.Array[f64], at: oa.Array[i32]
) -> None:
    i = oa.grid(1)
    agent = agents[i]
    k = agent.n % 3
    step = (-1, 0, 1)[k] + (0.25, 1, 2.5)[-k]
    pair = noted(calls, i, 1), noted(calls, i, 2), noted(calls, i, 3)
    own = (agent.x, 2, f32(k))
    total: f64 = 0.0
    for j in range(3):
        total += own[j] * (agent.x, agent.x + 1, 10.0)[j]
        total -= pair[(j + k) % 3]
    total += (noted(calls, i, 4), noted(calls, i, 5))[noted(calls, i, k % 2)]
    total += both(calls, i)[k % 2] + own[k - 3]
    ends = (oa.vec2(agent.x, 1), oa.vec2(2, 3))
    total += ends[k % 2].x + agent.near(k % 2).x
    at[i] = (7, 8, 9)[k - 3]
    total += (MANY, FEW)[k % 2] + (MANY, FEW)[k % 2]  # of which one wraps
    found[i] = total + step + pow(agent.x, 2) + pow(2, k) + pow(agent.n, 2)


def _run(backend: object) -> list[Any]:
    with oa.Heap(backend=backend):
        agents = oa.new(Agent, 6, x=[0.5, 1, 2, 3, 4, 5], n=range(6))
        agents.left, agents.right = agents[[1, 2, 3, 4, 5, 0]], agents[[5, 4, 3, 2, 1, 0]]
        calls, at, found = oa.zeros(6, i32), oa.zeros(6, i32), oa.zeros(6, f64)
        kernel[6](agents, calls, found, at)
        return [calls.numpy().tolist(), at.numpy().tolist(), found.numpy().tolist()]


def test_the_same_everywhere() -> None:
    expected = _run("python")
    assert expected[:2] == [[12345067, 12345167, 12345067] * 2, [7, 8, 9, 7, 8, 9]]
    for backend in "cpu", InterpretedGpu():
        assert _run(backend) == expected


@pytest.mark.parametrize(
    ("field", "cure"),
    [
        ("name: str", "kernels have no text"),
        ("state: Mood", r"make it an enum\.IntEnum, .*Mood\.NAME"),
        ("model: Model", r"class Model\(oa\.Object\)"),
        ("found: dict", "use one of i8"),
    ],
)
def test_types_of_python(field: str, cure: str, tmp_path: Path) -> None:
    text = (
        "import enum\nclass Mood(enum.Enum):\n    CALM = 1\nclass Model:\n    pass\n"
        f"class Agent(oa.Object):\n    {field}\n"
    )
    with pytest.raises(oa.ClassError, match=cure):
        load_module(tmp_path, text).Agent()


@pytest.mark.parametrize(
    ("statement", "cure"),
    [
        ("r = n and n > 1", r"bool\(x\), or x != 0"),
        ("lo, *rest = (n,); r = rest[0]", "known when the kernel is compiled"),
        ("r = sum(sorted([n, 1]))", "sort arrays on the host"),
        ("r = sum(filter(None, (n, 1)))", "as a generator"),
        ("r = np.zeros(3)[0]", r"a list: \[f32\(0\)\] \* 16"),
        ("r = n in set((1, 2))", "look in a tuple"),
        ("r = type(n)", r"read of an object: self\.LIMIT"),
    ],
)
def test_what_to_write_instead(statement: str, cure: str, tmp_path: Path) -> None:
    text = f"@oa.kernel\ndef kernel(n: i32) -> None:\n    {statement}\n"
    module = load_module(tmp_path, text)
    with oa.Heap(backend="cpu"), pytest.raises(oa.CompileError, match=cure):
        module.kernel[1](1)


def test_makers_of_arrays() -> None:
    with oa.Heap(backend="cpu"), pytest.raises(oa.ArgumentError, match=r"oa\.zeros\(3, f32\)"):
        oa.zeros(3)  # type: ignore[call-overload]
    with pytest.raises(AttributeError, match=r"oa\.array\(f32, np\.ones\(\.\.\.\)\)"):
        oa.ones  # type: ignore[attr-defined]
