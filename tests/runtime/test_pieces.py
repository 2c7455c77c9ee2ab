"""Fields whose arrays are pieces of one array of objects: kernels that compute elements instead of
loading them see what everybody else sees, whatever happens to fields and arrays in between."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, i64
from sharedoa.heap.pieces import PieceFields, WholeArray
from tests.differential.effort import examples

VERTICES = 40


class Edge(oa.Object):
    weight: i32

    def get(self) -> i32: ...


class Heavy(Edge):
    def get(self) -> i32:
        return self.weight


class Light(Edge):
    extra: i64

    def get(self) -> i32:
        return -self.weight


class Vertex(oa.Object):
    edges: oa.Array[Edge]
    others: oa.Array[Edge]
    total: i64

    def nth(self, place: i32) -> Edge:
        return self.edges[place]

    def add_up(self) -> None:
        self.total = weight_of(self.edges) + 1_000 * weight_of(self.others)


class Derived(Vertex):
    def nth(self, place: i32) -> Edge:
        return self.edges[place - len(self.edges)]


@oa.func
def weight_of(edges: oa.Array[Edge]) -> i64:
    total = i64(0)
    for k in range(len(edges)):
        total += edges[k].get()
    return total


@oa.func
def weight_of_last(edges: oa.Array[Edge], instead: oa.Array[Edge]) -> i64:
    """A parameter that becomes another array."""
    if len(edges) == 0:
        edges = instead
    return i64(edges[-1].get()) if len(edges) > 0 else i64(0)


@oa.kernel
def add_up(vertices: oa.Array[Vertex]) -> None:
    vertices[oa.grid(1)].add_up()


@oa.kernel
def add_up_by_place(vertices: oa.Array[Vertex]) -> None:
    vertex = vertices[oa.grid(1)]
    edges = vertex.edges
    total = weight_of_last(edges, vertex.others)
    for k in range(i32(len(edges))):
        total += 10 * vertex.nth(k).get()
    vertex.total = total


@oa.kernel
def rotate(vertices: oa.Array[Vertex]) -> None:
    """Stores references to elements of arrays."""
    edges = vertices[oa.grid(1)].edges
    if len(edges) > 1:
        first = edges[0]
        for k in range(len(edges) - 1):
            edges[k] = edges[k + 1]
        edges[-1] = first


@oa.kernel
def exchange(vertices: oa.Array[Vertex]) -> None:
    """Stores arrays to fields."""
    vertex = vertices[oa.grid(1)]
    edges = vertex.edges
    vertex.edges = vertex.others
    vertex.others = edges


class Graph:
    """Vertices of a heap, and the weights that each should find behind its fields."""

    def __init__(self, heap: oa.Heap, random: Random) -> None:
        self.heap, self.random = heap, random
        self.vertices = heap.concat(
            heap.new(Vertex, VERTICES // 2), heap.new(Derived, VERTICES - VERTICES // 2)
        )
        #: Objects that arrays held by fields refer to, per field and vertex.
        self.held: dict[str, list[list[Any]]] = {
            name: [[] for _ in range(VERTICES)] for name in ("edges", "others")
        }

    def split_new(self) -> None:
        """A field gets pieces of new objects of one class, in the order in which they lie."""
        cls, lengths = self.random.choice((Heavy, Light)), self._lengths()
        made = self.heap.new(cls, sum(lengths), weight=self._weights(sum(lengths)))
        if self.random.random() < 0.3:
            made = self.heap.concat(made, self.heap.new(Heavy, 3))[: len(made)]
        self.give(self._name(), made, lengths)

    def split_disordered(self) -> None:
        lengths = self._lengths()
        made = self.heap.new(Heavy, sum(lengths), weight=self._weights(sum(lengths)))
        order = np.random.default_rng(len(made)).permutation(len(made))
        self.give(self._name(), made[order], lengths)

    def give_one(self) -> None:
        """One vertex gets an array of its own."""
        place, name = self.random.randrange(VERTICES), self._name()
        edges = [Light(weight=w) for w in range(self.random.randint(0, 3))]
        setattr(self.vertices[place], name, self.heap.array(Edge, edges))
        self.held[name][place] = edges

    def share(self) -> None:
        """Some vertices of one field get pieces that others have."""
        name = self._name()
        source, target = self.random.sample(range(VERTICES), 2)
        setattr(self.vertices[target], name, getattr(self.vertices[source], name))
        self.held[name][target] = self.held[name][source]

    def store(self) -> None:
        """The host stores to an element."""
        place, name = self.random.randrange(VERTICES), self._name()
        array = getattr(self.vertices[place], name)
        if len(array):
            edge, at = Heavy(weight=7), self.random.randrange(len(array))
            array[at] = edge
            self.held[name][place][at] = edge

    def rotate(self) -> None:
        lists = self.held["edges"]
        if len({id(each) for each in lists}) == len(lists):
            rotate[VERTICES](self.vertices)
            for each in lists:
                each[:] = each[1:] + each[:1]

    def exchange(self) -> None:
        exchange[VERTICES](self.vertices)
        self.held["edges"], self.held["others"] = self.held["others"], self.held["edges"]

    def drop(self) -> None:
        """What no field holds any more may be used for other things."""
        gc.collect()
        self.heap.synchronize()
        self.heap.array(i32, np.arange(500))

    def check(self) -> None:
        weights = {
            name: [[_weight(edge) for edge in edges] for edges in lists]
            for name, lists in self.held.items()
        }
        edges, others = weights["edges"], weights["others"]
        add_up[VERTICES](self.vertices)
        expected = [sum(a) + 1_000 * sum(b) for a, b in zip(edges, others, strict=True)]
        assert list(self.vertices.total) == expected
        self.vertices.add_up()
        assert list(self.vertices.total) == expected
        add_up_by_place[VERTICES](self.vertices)
        expected = [10 * sum(a) + (a or b or [0])[-1] for a, b in zip(edges, others, strict=True)]
        assert list(self.vertices.total) == expected

    def give(self, name: str, edges: Any, lengths: list[int]) -> None:
        # Kernels store any edges to it.
        setattr(self.vertices, name, oa.split(self.heap.array(Edge, edges), lengths))
        objects = iter(list(edges))
        self.held[name] = [[next(objects) for _ in range(n)] for n in lengths]

    def _lengths(self) -> list[int]:
        return [self.random.choice((0, 1, 2, 5)) for _ in range(VERTICES)]

    def _weights(self, count: int) -> np.ndarray:
        return np.array([self.random.randrange(100) for _ in range(count)], np.int32)

    def _name(self) -> str:
        return self.random.choice(("edges", "others"))


def _weight(edge: Any) -> int:
    return int(-edge.weight if isinstance(edge, Light) else edge.weight)


OPERATIONS = ("split_disordered", "give_one", "share", "store", "rotate", "exchange", "drop")


def play(backend: str, seed: int, operations: int) -> None:
    random = Random(seed)
    layout = random.choice(("aos", "tile"))
    with oa.Heap("auto", backend, layout, "64MiB", initial_region=random.choice((1, 300))) as heap:
        graph = Graph(heap, random)
        for _ in range(operations):
            graph.split_new()
            graph.check()
            getattr(graph, random.choice(OPERATIONS))()
            graph.check()


@settings(max_examples=examples(6))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_histories(seed: int) -> None:
    play("cpu", seed, 4)


@settings(max_examples=2)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_histories_in_cpython(seed: int) -> None:
    play("python", seed, 2)


@pytest.mark.gpu
@settings(max_examples=examples(6))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_histories_on_a_gpu(seed: int) -> None:
    play("cuda", seed, 8)


@pytest.fixture(params=("aos", "tile"))
def graph(request: pytest.FixtureRequest) -> Iterator[Graph]:
    with oa.Heap("auto", "cpu", request.param, "64MiB") as heap:
        graph = Graph(heap, Random(1))
        lengths = [3] * VERTICES
        graph.give("edges", heap.new(Heavy, sum(lengths)), lengths)
        graph.check()
        assert computes_elements()
        yield graph
        graph.check()


def computes_elements() -> bool:
    return "Vertex.edges: pieces of one array of Heavy objects" in add_up.explain()


def test_a_field_with_another_array_is_read_again(graph):
    graph.vertices[3].edges = graph.heap.array(Edge, [Light(weight=1)])
    graph.held["edges"][3] = [Light(weight=1)]
    assert not computes_elements()


def test_one_array_among_pieces_of_another_is_read_again(graph):
    arrays = [vertex.edges for vertex in graph.vertices]
    arrays[3] = graph.heap.array(Edge, [Light(weight=1)])
    graph.vertices.edges = arrays
    graph.held["edges"][3] = [Light(weight=1)]
    assert not computes_elements()


def test_a_changed_array_is_read_again(graph):
    graph.vertices[0].edges[0] = graph.held["edges"][0][0] = Light(weight=5)
    assert not computes_elements()


def test_kernels_that_change_arrays_or_fields_end_it(graph):
    graph.exchange()
    assert not computes_elements()


def test_empty_arrays_and_other_pieces_of_the_same_array_do_not_matter(graph):
    graph.vertices[1].edges = graph.heap.zeros(0, Edge)
    graph.held["edges"][1] = []
    graph.vertices[2].edges = graph.vertices[5].edges[1:]
    graph.held["edges"][2] = graph.held["edges"][5][1:]
    graph.heap.new(Vertex, 5)
    assert computes_elements()


def test_another_field_with_other_objects_does_not_matter(graph):
    graph.give("others", graph.heap.array(Edge, [Light(weight=w) for w in range(VERTICES)]), ONE)
    assert computes_elements()


@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_freed_memory_may_become_another_array(layout):
    with oa.Heap("auto", "cpu", layout, "64MiB") as heap:
        for cls in (Heavy, Light):
            graph = Graph(heap, Random(1))
            edges = heap.new(cls, VERTICES, weight=np.arange(VERTICES))
            graph.give("edges", edges, ONE)
            graph.check()
            assert f"pieces of one array of {cls.__name__}" in add_up.explain()
            heap.delete(graph.vertices)
            del graph, edges
            gc.collect()
            heap.synchronize()


def test_ctrl_c_while_an_array_of_pieces_is_freed(monkeypatch):
    drop = PieceFields._drop

    def interrupted(pieces: PieceFields, gone: set[WholeArray]) -> None:
        drop(pieces, gone)
        signal.raise_signal(signal.SIGINT)

    with oa.Heap("auto", "cpu", capacity="64MiB") as heap:
        graph = Graph(heap, Random(1))
        graph.give("edges", heap.new(Heavy, VERTICES), ONE)
        heap.delete(graph.vertices)
        assert heap.pieces.known()
        del graph
        gc.collect()
        monkeypatch.setattr(PieceFields, "_drop", interrupted)
        with pytest.raises(KeyboardInterrupt):
            heap.synchronize()
        assert not heap.pieces.known()


def test_debug_mode_looks_at_every_element(graph):
    with oa.Heap("auto", "cpu", capacity="64MiB", debug=True) as heap:
        checked = Graph(heap, Random(1))
        checked.give("edges", heap.new(Heavy, VERTICES), ONE)
        checked.check()
        assert not computes_elements()


ONE = [1] * VERTICES
