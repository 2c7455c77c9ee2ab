"""Which launches of a step may run side by side: exactly those that cannot meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.runtime.fusion.grouping import Launched, Record, grouped
from sharedoa.runtime.fusion.sides import ALONE
from sharedoa.runtime.population_plan import PopulationCall
from sharedoa.runtime.vectorised import geometry_of

from .fused import Node, ring

SIZE = 64


@oa.kernel
def copy(to: oa.Array[f32], of: oa.Array[f32]) -> None:
    i = oa.grid(1)
    to[i] = of[i]


@oa.kernel
def first_of(to: oa.Array[f32], of: oa.Array[f32]) -> None:
    to[oa.grid(1)] = of[0]


@oa.kernel
def count(n: oa.Array[i32]) -> None:
    oa.atomic_add(n, 0, 1)


@oa.kernel
def lowest(n: oa.Array[i32]) -> None:
    oa.atomic_min(n, 0, oa.grid(1))


@oa.kernel
def collect(sums: oa.Array[f32], of: oa.Array[f32]) -> None:
    oa.atomic_add(sums, 0, of[oa.grid(1)])


@oa.kernel
def tell(of: oa.Array[f32]) -> None:
    print(of[oa.grid(1)])


@oa.kernel
def set_x(node: Node, to: f32) -> None:
    node.x = to


@oa.kernel
def set_v(node: Node, to: f32) -> None:
    node.v = to


@oa.kernel
def read_next(to: oa.Array[f32], node: Node) -> None:
    to[oa.grid(1)] = node.next.x


class _Things:
    def __init__(self) -> None:
        self.a, self.b, self.c, self.d = (oa.zeros(SIZE, f32) for _ in range(4))
        self.n, self.m = oa.zeros(1, i32), oa.zeros(1, i32)
        self.nodes = ring(4)
        self._threads = SIZE

    def launch(self, kernel: Any, *arguments: Any) -> Launched:
        """With as many threads as no other one, so that none are one launch."""
        self._threads -= 1
        return Launched(kernel.program, geometry_of(self._threads), arguments)

    def call(self, name: str) -> PopulationCall:
        method = Node.__sharedoa__.find_method(name)  # type: ignore[attr-defined]
        return PopulationCall(oa.all(Node), method, ())


_Make = Callable[[_Things], Sequence[Record]]
_CASES: dict[str, tuple[_Make, list[int]]] = {
    "they read the same": (
        lambda t: [t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c)], [0, 0],
    ),
    "read after write": (
        lambda t: [t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.a)], [ALONE] * 2,
    ),
    "write after read": (
        lambda t: [t.launch(copy, t.b, t.a), t.launch(copy, t.a, t.c)], [ALONE] * 2,
    ),
    "both write": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(copy, t.a, t.c)], [ALONE] * 2,
    ),
    "parts of an array that overlap": (
        lambda t: [t.launch(copy, t.a[:40], t.b), t.launch(copy, t.a[30:], t.b)], [ALONE] * 2,
    ),
    "parts of an array side by side": (
        lambda t: [t.launch(copy, t.a[:32], t.b), t.launch(copy, t.a[32:], t.b)], [0, 0],
    ),
    "one element of what another one writes": (
        lambda t: [t.launch(copy, t.a, t.b), t.launch(first_of, t.c, t.a)], [ALONE] * 2,
    ),
    "the third meets the first": (
        lambda t: [
            t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c), t.launch(copy, t.d, t.a)
        ], [0, 0, ALONE],
    ),
    "the third meets none": (
        lambda t: [
            t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c), t.launch(copy, t.d, t.c)
        ], [0, 0, 0],
    ),
    "two rows of two": (
        lambda t: [
            t.launch(copy, t.a, t.c), t.launch(copy, t.b, t.c),
            t.launch(copy, t.c, t.a), t.launch(copy, t.d, t.b),
        ], [0, 0, 1, 1],
    ),
    "integer atomics of one kind": (
        lambda t: [t.launch(count, t.n), t.launch(count, t.n)], [0, 0],
    ),
    "integer atomics of two kinds": (
        lambda t: [t.launch(count, t.n), t.launch(lowest, t.n)], [ALONE] * 2,
    ),
    "atomics on two arrays": (
        lambda t: [t.launch(count, t.n), t.launch(lowest, t.m)], [0, 0],
    ),
    "sums of floats": (
        lambda t: [t.launch(collect, t.a, t.b), t.launch(collect, t.a, t.c)], [ALONE] * 2,
    ),
    "they say something": (
        lambda t: [t.launch(tell, t.a), t.launch(tell, t.b)], [ALONE] * 2,
    ),
    "methods of all": (lambda t: [t.call("clear"), t.launch(copy, t.a, t.b)], [ALONE] * 2),
    "the host": (
        lambda t: [t.launch(copy, t.a, t.c), None, t.launch(copy, t.b, t.c)], [ALONE] * 3,
    ),
    "one field of two objects, for all that is known": (
        lambda t: [
            t.launch(set_x, t.nodes[0], 1.0), t.launch(set_x, t.nodes[1], 2.0)
        ], [ALONE] * 2,
    ),
    "two fields": (
        lambda t: [t.launch(set_x, t.nodes[0], 1.0), t.launch(set_v, t.nodes[0], 2.0)], [0, 0],
    ),
    "a neighbour's field": (
        lambda t: [t.launch(set_x, t.nodes[0], 1.0), t.launch(read_next, t.a, t.nodes[3])],
        [ALONE] * 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _CASES)
def test_launches_side_by_side(name: str) -> None:
    make, expected = _CASES[name]
    with oa.Heap(backend="cpu") as heap:
        things = _Things()
        found = grouped(heap, make(things))
        assert [group.count for group in found.groups] == [1] * len(expected)
        assert found.sides == expected
