"""Inline arrays that are written and read as a whole, and element by element."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from tests.codegen.interpreted import InterpretedGpu
from tests.differential.effort import programs
from tests.differential.whole_arrays import make_program
from tests.source_files import load_module


@oa.value
class Vector:
    items: oa.inline[f32, 3]
    rows: oa.inline[i32, 2, 2]


class Cell(oa.Object):
    v: Vector
    next: Cell

    def turn(self, i: i32, k: i32) -> f32:
        self.v = Vector((self.v.items[1], self.v.items[0], i), ((1, i), (2, self.v.rows[1, 0])))
        self.next.v = Vector((1.5, self.v.items[2], self.v.items[k]), ((i, 3), (4, k)))
        again = self.v
        self.v = self.next.v
        rows = 1000 * again.rows[0, 1] + 2000 * self.v.rows[1, 1]
        return again.items[1] + again.items[0] * 10 + self.v.items[2] * 100 + rows


@oa.func
def noted(calls: oa.Array[i32], i: i32, digit: i32) -> i32:
    calls[i] = calls[i] * 10 + digit
    return digit


@oa.func
def four(calls: oa.Array[i32], i: i32) -> tuple[i32, i32, i32, i32]:
    return noted(calls, i, 5), i, 3, 4


class Node(oa.Object):
    w: oa.inline[f32, 3]
    k: oa.inline[i32, 4]
    m: oa.inline[f32, 2, 2]
    next: Node

    def fill(self, calls: oa.Array[i32], i: i32) -> f32:
        self.w = [self.w[1], self.w[0], i]
        self.k = four(calls, i)
        self.next.k = self.k
        self.k = [noted(calls, i, 7)] * 4
        made = [self.k[(j + 1) % 4] for j in range(4)]
        self.k = made
        self.w = list(self.w[::-1])
        self.w = [v + i - i for v in self.w[::-1]]
        self.next.w = (1.5, self.w[2], self.w[0])
        self.m = ((1, 2), [i, 4])
        self.next.m = self.m
        return sum(self.w) + sum(self.k) + self.m[1, 0]


@oa.kernel
def swap(nodes: oa.Array[Node], calls: oa.Array[i32]) -> None:
    i = oa.grid(1)
    k = noted(calls, i, 1) - 1
    nodes[noted(calls, i, k + 1) - 1].next.next.w = [noted(calls, i, 2), noted(calls, i, 3), 4]
    a, b = nodes[0], nodes[1]
    a.w, b.k[0] = (9, 8, 7), 6
    a.w = [a.w[2], a.w[1], a.w[0]]
    nodes[named].w = (named := 2), 2, named  # type: ignore[has-type]


@oa.kernel
def kernel(values: oa.Array[Vector], found: oa.Array[f32]) -> None:
    i = oa.grid(1)
    values[i] = Vector((i, values[i].items[0], 3), ((1, 2), (3, values[i].rows[0, 0])))
    found[i] = values[i].items[0] + values[i].items[1] * 10 + values[i].rows[1, 1] * 100
    found[i] += values[i].items[i % 3] * 1000


def _run(backend: object, layout: str) -> list[Any]:
    first = Vector((1, 2, 3), ((4, 5), (6, 7)))
    with oa.Heap(backend=backend, layout=layout):
        cells, others = oa.new(Cell, 4, v=first), oa.new(Cell, 4, v=first)
        cells.next = others
        values, found = oa.array(Vector, [first] * 4), oa.zeros(4, f32)
        kernel[4](values, found)
        results = [cells.turn(range(4), [0, 1, 0, 1]).numpy().tolist(), found.numpy().tolist()]
        return [*results, *(str(each.numpy()) for each in (cells.v, others.v, values))]


def _filled(backend: object, layout: str) -> list[Any]:
    with oa.Heap(backend=backend, layout=layout):
        nodes, others = oa.new(Node, 4, w=[[1, 2, 3]] * 4), oa.new(Node, 4)
        nodes.next, others.next = others, oa.new(Node, 4)
        calls = oa.zeros(4, i32)
        found = [nodes.fill(calls, range(4)).numpy().tolist()]
        swap[1](nodes, calls)
        for each in nodes, others, oa.all(Node):
            found += [each.w.numpy().tolist(), each.k.numpy().tolist(), each.m.numpy().tolist()]
        return [calls.numpy().tolist(), *found]


@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_fields_are_assigned_as_a_whole(layout: str) -> None:
    expected = _filled("python", layout)
    calls, _, w, k, *_ = expected
    assert calls == [571231, 57, 57, 57] and w[0] == [7, 8, 9] and w[1:3] == [[2, 1, 1], [2, 2, 2]]
    assert k == [[7, 7, 7, 7], [6, 7, 7, 7], [7, 7, 7, 7], [7, 7, 7, 7]]
    for backend in "cpu", InterpretedGpu():
        assert _filled(backend, layout) == expected


@pytest.mark.parametrize(
    ("statement", "cure"),
    [
        ("node.m[0] = [1, 2]", "a part of an inline array.* cannot be assigned as a whole"),
        ("node.w += [1, 2, 3]", "an inline array has no operators"),
        ("node.w = 1, 2", r"is given 2 items"),
        ("node.w = 1.5", r"takes 3 items, not float(?s:.)*a list or tuple of 3"),
        ("node.w = node.k = [1, 2]", r"a list that is known to have 3"),
        ("node.w = [i for i in range(4)]", r"a list that is known to have 3"),
    ],
)
def test_what_to_write_instead(statement: str, cure: str, tmp_path: Path) -> None:
    text = (
        "class Node(oa.Object):\n    w: oa.inline[f32, 3]\n    k: oa.inline[f32, 3]\n"
        "    m: oa.inline[f32, 2, 2]\n\n"
        f"@oa.kernel\ndef kernel(node: Node) -> None:\n    {statement}\n"
    )
    module = load_module(tmp_path, text)
    with oa.Heap(backend="cpu"), pytest.raises(oa.CompileError, match=cure):
        module.kernel[1](module.Node())


def test_adjoints_of_what_is_assigned_as_a_whole() -> None:
    class Law(oa.Object):
        x: f32
        w: oa.inline[f32, 3]

        def set(self) -> None:
            self.w = [self.x * 2, self.w[0], self.x * self.w[1]]

    for backend in "cpu", InterpretedGpu():
        with oa.Heap(backend=backend):
            laws = oa.new(Law, 2, x=[3, 4], w=[[1, 2, 3]] * 2)
            with oa.tape() as tape:
                laws.set()
                laws.set()
                loss = laws.w.sum()
            tape.backward(loss)
            # w = (2 x, 2 x, x w0), which is sums to 4 x + x w0.
            assert laws.grad.x.numpy().tolist() == [4 + 1, 4 + 1]
            assert laws.grad.w.numpy().tolist() == [[3, 0, 0], [4, 0, 0]]


@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_the_same_everywhere(layout: str) -> None:
    expected = _run("python", layout)
    for backend in "cpu", InterpretedGpu():
        assert _run(backend, layout) == expected


_COUNT = 3


def _played(module: Any, seed: int, backend: object, layout: str) -> list[Any]:
    """What ``run`` returns, and all fields of all nodes. Each of the first is alone with another
    node, and who comes after that is either of the two."""
    with oa.Heap(backend=backend, layout=layout):
        nodes, others = oa.new(module.Node, _COUNT), oa.new(module.Node, _COUNT)
        numbers = np.arange(3 * _COUNT, dtype=np.int32).reshape(_COUNT, 3)
        for number, each in enumerate((nodes, others)):
            each.a, each.b, each.x = numbers + number, 2 * numbers - number, numbers[:, number]
        nodes.next, others.next = others, nodes if seed % 2 else others
        found = [nodes.run([1, 2, 5]).numpy().tolist()]
        for each in nodes, others:
            fields = each.a, each.b, each.x, each.pair["items"], each.pair["more"]
            found += [field.numpy().tolist() for field in fields]
        return found


def test_random_methods(tmp_path: Path) -> None:
    for seed in range(programs(30)):
        text = make_program(seed)
        module = load_module(tmp_path, text)
        expected = _played(module, seed, "python", "aos")
        in_tiles = "tile" if seed % 2 else "aos"
        for backend, layout in ("cpu", "aos"), ("cpu", "tile"), (InterpretedGpu(), in_tiles):
            assert _played(module, seed, backend, layout) == expected, text
