"""Details of the language in which compiled code once differed from CPython."""

# Kernels here are compared with what CPython makes of them; types are beside the point.
# mypy: disable-error-code="comparison-overlap,attr-defined,operator"

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sharedoa as oa

from ..modes import rotated
from ..source_files import load_module

DECLARATIONS = """
import enum

class Color(enum.Enum):
    RED = 3

@oa.value
class V:
    x: f32
    y: f32

    def dot(self, other: V) -> f32:
        return self.x * other.x + self.y * other.y

G = V(0, -9.8)
BIG = (2**64 - 1, 5)

class Node(oa.Object):
    next: Node
    key: i32
    steps: i32

    def me(self) -> Node:
        self.steps = self.steps * 10 + 1
        return self

    def count(self, digit: i32) -> i32:
        self.steps = self.steps * 10 + digit
        return digit

    def two(self, p: i32, q: i32) -> i32:
        return p * 100 + q

    def virtual(self, p: i32, q: i32) -> i32:
        return p * 100 + q

class Leaf(Node):
    size: i32

    def virtual(self, p: i32, q: i32) -> i32:
        return p * 1000 + q
"""


def module_with(folder: Path, lines: str) -> ModuleType:
    """A module with a kernel whose body is ``lines``."""
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    parameters = "nodes: oa.Array[Node], out: oa.Array[f64], n: i32, u: u64, x: f32"
    return load_module(folder, f"{DECLARATIONS}\n@oa.kernel\ndef kernel({parameters}):\n{body}\n")


def outcome(module: ModuleType, backend: str) -> tuple[Any, ...]:
    """What the kernel leaves behind on three nodes, the second of them a leaf, in a list."""
    with oa.Heap(backend=backend, capacity="64MiB"):
        nodes = [oa.new(module.Node), oa.new(module.Leaf), oa.new(module.Node)]
        for number, node in enumerate(nodes):
            node.key = number + 1
            node.next = nodes[number + 1] if number < 2 else None
        out = oa.zeros(4, oa.f64)
        failed = False
        try:
            module.kernel[1](oa.array(module.Node, nodes), out, 7, 9, 0.1)
            oa.synchronize()
        except oa.DeviceError:
            failed = True
        return failed, out.numpy().tolist(), [(int(node.key), int(node.steps)) for node in nodes]


def agree(folder: Path, lines: str) -> tuple[Any, ...]:
    module = module_with(folder, lines)
    expected = outcome(module, "python")
    assert outcome(module, "cpu") == expected
    return expected


@pytest.mark.parametrize(
    "lines",
    [
        "node = nodes[0]\nwhile node and node.key != 3:\n    out[0] += 1\n    node = node.next",
        "alive = n > 3\nif alive and n:\n    out[0] = 1",
        "node = nodes[2].next\nif not node or n:\n    out[0] = 1",
        "out[0] = 1 if nodes[0].next and n and x else 2",
        "out[0] = 1 if not (nodes[2].next or not n) else 2",
        "assert n and nodes[0]\nout[0] = 1",
        "flag = not (n and nodes[0])\nif flag:\n    out[0] = 1",
        # parts after the one that decides are not evaluated
        "if n or nodes[0].count(2) > 1:\n    out[0] = 1",
        "if not n and nodes[0].count(2):\n    out[0] = 1",
        "if (nodes[0].count(1) and nodes[2].next) or nodes[1].count(2):\n    out[0] = 1",
        "a = nodes[1]\nif n and isinstance(a, Leaf) and a.size == 0:\n    out[0] = 1",
        "a = nodes[1]\nif not isinstance(a, Leaf) or a.size == 0:\n    out[0] = 1",
        "a = nodes[1]\nout[0] = 5 if not isinstance(a, Leaf) else a.size",
        "a = nodes[1]\nif not isinstance(a, Leaf):\n    return\na.size = 3\nout[0] = a.size",
        "for k in range(3):\n    a = nodes[k]\n    if not isinstance(a, Leaf):\n        continue\n"
        "    a.size = 3\n    out[k] = a.size",
        "a = nodes[1]\nif isinstance(a, Leaf):\n    pass\nelse:\n    return\nout[0] = a.size",
    ],
)
def test_conditions_take_the_truth_of_each_part(tmp_path: Path, lines: str) -> None:
    agree(tmp_path, lines)


@pytest.mark.parametrize(
    ("number", "symbol"),
    rotated(
        ["2**64", "-(2**70)", "2**64 + 9", "2**63", "-1"],
        ["<", "<=", ">", ">=", "==", "!="],
        each=2,
    ),
)
def test_constants_that_no_variable_holds_compare_exactly(
    tmp_path: Path, symbol: str, number: str
) -> None:
    lines = [
        f"out[0] = 1 if u {symbol} {number} else 2",
        f"out[1] = 1 if {number} {symbol} n else 2",
        f"out[2] = 1 if nodes[0].count(4) {symbol} {number} else 2",
        f"out[3] = 1 if -5 < u {symbol} {number} else 2",
    ]
    if number not in ("2**63", "-1"):
        lines.append(f"for k in range(2):\n        out[3] += 10 if k {symbol} {number} else 20")
    agree(tmp_path, "\n".join(lines))


def test_constants_of_a_tuple_keep_their_value(tmp_path: Path) -> None:
    agree(tmp_path, "out[0] = 1 if u64(BIG[0]) > u else 2\nout[1] = BIG[1]")


@pytest.mark.parametrize("receiver", ["nodes[0]", "nodes[1]"])
@pytest.mark.parametrize("method", ["two", "virtual"])
def test_a_receiver_comes_before_its_arguments(tmp_path: Path, receiver: str, method: str) -> None:
    lines = f"c = {receiver}\nout[0] = c.me().{method}(q=c.count(2), p=c.count(3))"
    _, out, nodes = agree(tmp_path, lines)
    assert nodes[int(receiver[-2])][1] == 123
    assert out[0] in (302, 3002)


@pytest.mark.parametrize(
    "comparison",
    ["f32(0.1) == 0.1", "0.1 == f32(0.1)", "f32(0.1) == f64(0.1)", "f32(16777217) == 16777217",
     "f32(0.1) < 0.1", "i32(3) == 3.0", "2**53 + 1 == 9007199254740992.0", "f64(0.1) == 0.1",
     "u64(2**64 - 1) > i64(5)"],
)  # fmt: skip
def test_constants_compare_in_the_type_that_they_promote_to(
    tmp_path: Path, comparison: str
) -> None:
    agree(tmp_path, f"out[0] = 1 if {comparison} else 2")


@pytest.mark.parametrize(
    "lines",
    [
        "a = nodes[0]\nassert isinstance(a, Leaf), 'a leaf'\na.size = 77\nout[0] = a.size",
        "a = nodes[2].next\nassert a is not None\na.key = 77\nout[0] = 1",
        "a = nodes[2].next\nassert n > 3 and a\na.key = 77",
    ],
)
def test_nothing_runs_that_relies_on_a_failed_assert(tmp_path: Path, lines: str) -> None:
    failed, out, _ = agree(tmp_path, lines)
    assert failed and not any(out)


def test_a_failed_assert_about_objects_gives_zero_to_the_caller(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        DECLARATIONS
        + """
@oa.func
def size(node: Node) -> i32:
    assert isinstance(node, Leaf)
    return node.size + 5

@oa.func
def pair(node: Node) -> V:
    assert isinstance(node, Leaf)
    return V(node.size + 5, 5)

@oa.kernel
def kernel(nodes: oa.Array[Node], out: oa.Array[f64], n: i32, u: u64, x: f32):
    out[0] = size(nodes[0])
    out[1] = size(nodes[1])
    out[2] = pair(nodes[0]).y
    out[3] = pair(nodes[1]).y
""",
    )
    failed, out, _ = outcome(module, "cpu")
    assert failed and out == [0, 5, 0, 5]


def test_constants_of_modules_have_members(tmp_path: Path) -> None:
    _, out, _ = agree(
        tmp_path, "out[0] = G.y\nout[1] = G.dot(G)\nout[2] = Color.RED.value\nout[3] = G.x"
    )
    assert out[2] == 3


def test_types_settle_however_many_variables_wait_for_each_other(tmp_path: Path) -> None:
    count = 60
    start = "\n".join(f"v{k} = 0" for k in range(count + 1))
    chain = "\n".join(f"    v{k} = v{k + 1}" for k in range(count))
    _, out, _ = agree(
        tmp_path, f"{start}\nfor k in range(100):\n{chain}\n    v{count} = 0.5\nout[0] = v0"
    )
    assert out[0] == 0.5
