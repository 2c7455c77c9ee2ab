"""Objects and kernels for tests of launches that become one, and what compares them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.runtime import knobs

N = 40


class Node(oa.Object):
    x: f32
    v: f32
    force: f32
    hits: i32
    next: Node

    def push(self, g: f32) -> None:
        self.v += g + self.force

    def move(self, dt: f32) -> None:
        if self.v > f32(1):
            return
        self.x += self.v * dt

    def clear(self) -> None:
        self.force = f32(0)

    def pull(self) -> None:
        self.force = self.next.x

    def look(self) -> None:
        self.v = self.next.force

    def give(self) -> None:
        self.next.force = self.x

    def count(self) -> None:
        oa.atomic_add(self.next, "hits", 1)

    def count_twice(self) -> None:
        oa.atomic_add(self.next, "hits", 2)

    def lend(self) -> None:
        oa.atomic_add(self.next, "force", 0.125)

    def lend_far(self) -> None:
        oa.atomic_add(self.next.next, "force", 0.125)

    def give_far(self) -> None:
        self.next.next.force = self.x

    def smooth(self) -> None:
        self.x = self.next.x + self.x

    def use(self) -> None:
        self.v = self.x

    def set_angle(self) -> None:
        self.x = f32(0.3)

    def compare(self) -> None:
        if self.x == f32(0.5):
            self.hits += 1

    def turn(self) -> None:
        self.v = math.sin(self.x)

    def mark(self) -> None:
        self.next.hits = 7

    def read_hits(self) -> None:
        self.x = f32(self.hits)

    def tell(self) -> None:
        print(self.x)

    def wave(self) -> None:
        self.v = oa.f32(0.25) + self.v

    def vary(self) -> None:
        self.hits += 1


class Heavy(Node):
    def push(self, g: f32) -> None:
        self.v -= g


KINDS: list[type[Node]] = []
for _number in range(8):

    class Kind(Node):
        def vary(self) -> None:
            self.v += f32(1)

    Kind.__name__ = Kind.__qualname__ = f"Kind{_number}"
    KINDS.append(Kind)


class Reaching(Node):
    def vary(self) -> None:
        if self.next is not None:
            self.next.v = f32(3)


@oa.kernel
def add(a: oa.Array[f32], b: oa.Array[f32]) -> None:
    i = oa.grid(1)
    a[i] = a[i] * f32(0.5) + b[i]


@oa.kernel
def push_all(nodes: oa.Array[Node], g: f32) -> None:
    i = oa.grid(1)
    if i >= len(nodes):
        return
    nodes[i].push(g)


@oa.kernel
def vary_all(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].vary()


@oa.kernel
def swap(nodes: oa.Array[Node], others: oa.Array[Node]) -> None:
    i = oa.grid(1)
    nodes[i] = others[i]


@oa.kernel
def bump(nodes: oa.Array[Node]) -> None:
    nodes[oa.grid(1)].v += f32(1)


@contextmanager
def fused(**settings: Any) -> Iterator[oa.Heap]:
    with knobs.scope(fuse="always"), oa.Heap(**({"backend": "cpu"} | settings)) as heap:
        yield heap


def ring(count: int = N, cls: type[Node] = Node) -> oa.Array[Any]:
    nodes = oa.new(cls, count)
    nodes.x = np.linspace(-1, 1, count)
    nodes.v = np.arange(count) / 16
    nodes.force = np.arange(count) % 5
    nodes.next = oa.array(Node, [nodes[(i + 1) % count] for i in range(count)])
    return nodes


def state(nodes: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {name: getattr(nodes, name).numpy().copy() for name in ("x", "v", "force", "hits")}


@contextmanager
def apart() -> Iterator[None]:
    yield


def same(run: Callable[[Any], None], count: int, launched: list[Any]) -> None:
    """``run`` in a block of oa.fuse() becomes ``count`` launches, and does what it does outside."""
    found = []
    for within in (apart, oa.fuse):
        with fused():
            nodes = ring()
            launched.clear()
            with within():
                run(nodes)
            found.append(state(nodes))
    assert len(launched) == count
    for name, values in found[0].items():
        assert values.tobytes() == found[1][name].tobytes(), name


@oa.kernel
def ones(a: oa.Array[f32]) -> None:
    a[oa.grid(1)] = f32(1)


@oa.kernel
def nines(a: oa.Array[f32]) -> None:
    a[oa.grid(1)] = f32(9)
