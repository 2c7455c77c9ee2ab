"""Inline arrays that are written and read as a whole, and element by element."""

from __future__ import annotations

from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from tests.codegen.interpreted import InterpretedGpu


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


@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_the_same_everywhere(layout: str) -> None:
    expected = _run("python", layout)
    for backend in "cpu", InterpretedGpu():
        assert _run(backend, layout) == expected
