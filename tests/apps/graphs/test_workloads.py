"""Every graph workload against SciPy: in every mode, in CPython, on graphs of every shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from apps.common.graph import Graph, undirected
from apps.common.graph_generators import coauthors, grid, r_mat
from apps.graphs.edges import ChiEdgeFloat, ChiEdgeInt, EdgeFloat, EdgeInt
from apps.graphs.reference import UNREACHED, Components, Levels, Ranks
from apps.graphs.ve import vertices as ve
from apps.graphs.ven import vertices as ven
from dispatch.mode import MODES
from sharedoa.model.object import shared_type
from tests.differential.effort import examples

from ...modes import rotated
from .running import (
    PAGERANKS,
    SWEEPS,
    WORKLOADS,
    assert_as_expected,
    component_labels,
    expected_values,
    final_values,
    hop_counts,
    ranks,
)

#: Two components, one vertex without edges, and more levels than one would think.
SMALL = undirected(9, np.array([3, 0, 1, 2, 6, 5]), np.array([4, 1, 2, 7, 5, 6]))


@pytest.mark.parametrize(
    ("cls", "size"),
    [
        (EdgeInt, 16),
        (EdgeFloat, 16),
        (ve.ChiVertexInt, 48),
        (ve.ChiVertexFloat, 48),
        (ven.ChiVertexInt, 48),
        (ven.ChiVertexFloat, 48),
    ],
)
def test_sizes_with_a_header_of_8_bytes(cls: type, size: int) -> None:
    with oa.Heap(mode="cuda", backend="cpu") as heap:
        assert heap.layout.record(shared_type(cls)).size == size


@pytest.mark.parametrize(
    ("base", "cls", "methods"),
    [
        (ChiEdgeInt, EdgeInt, 3),
        (ChiEdgeFloat, EdgeFloat, 3),
        (ven.VirtVertexInt, ven.ChiVertexInt, 12),
        (ven.VirtVertexFloat, ven.ChiVertexFloat, 10),
    ],
)
def test_one_concrete_class_overrides_all_virtual_methods(
    base: type, cls: type, methods: int
) -> None:
    assert len(shared_type(base).slots) == len(shared_type(base).abstract_methods) == methods
    assert shared_type(base).concrete() == [shared_type(cls)]


def test_vertices_of_suite_ve_have_no_methods() -> None:
    assert not shared_type(ve.ChiVertexInt).slots
    assert not shared_type(ve.ChiVertexFloat).slots


@pytest.mark.parametrize(("name", "mode"), rotated(WORKLOADS, MODES))
def test_results_in_every_mode(name: str, mode: str) -> None:
    graph = coauthors(600)
    assert_as_expected(name, final_values(name, graph, mode), expected_values(name, graph))
    assert_as_expected(name, final_values(name, SMALL, mode), expected_values(name, SMALL))


@pytest.mark.parametrize("name", PAGERANKS)
def test_ranks_have_equal_bits_in_every_mode(name: str) -> None:
    graph = coauthors(300)
    bits = {final_values("pagerank", graph, mode).tobytes() for mode in MODES}
    bits.add(final_values("pagerank_ven", graph).tobytes())
    assert len(bits) == 1


@pytest.mark.parametrize(
    ("name", "mode"),
    rotated(WORKLOADS, ["cuda", "sharedoa", "coal", "typepointer", "range+switch"]),
)
def test_cpython_runs_the_same_program(name: str, mode: str) -> None:
    values = final_values(name, SMALL, mode, backend="python", sweeps=5)
    np.testing.assert_array_equal(values, final_values(name, SMALL, mode, sweeps=5))


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("sweeps", [1, 20])
def test_paths_longer_than_the_sweeps(name: str, sweeps: int) -> None:
    """Sweeps go on until levels and labels are final; they do not for ranks."""
    path = grid(90, 1)
    # Against the order in which threads run each sweep brings a label one vertex on; along edges of
    # one direction these differ only from where they begin, or only from where they end.
    order = np.array([0, *range(89, 0, -1)], np.int32)
    forth = Graph.from_edges(90, order[:-1], order[1:])
    back = Graph.from_edges(90, order[1:], order[:-1])
    for graph in (path, forth, back):
        values = final_values(name, graph, sweeps=sweeps)
        if name in PAGERANKS:
            expected = np.ones(90) if sweeps == 1 else ranks(graph, sweeps - 1)
        else:
            expected = expected_values(name, graph)
        assert_as_expected(name, values, expected)


@pytest.mark.parametrize("name", WORKLOADS)
def test_uneven_degrees_and_isolated_vertices(name: str) -> None:
    graph = r_mat(11)
    assert graph.out_degree().min() == 0
    assert_as_expected(name, final_values(name, graph), expected_values(name, graph))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any directed graph: empty, one vertex, loops, repeated edges, isolated vertices."""
    vertices = draw(st.integers(0, 12))
    if vertices == 0:
        return Graph.from_edges(0, np.empty(0, np.int32), np.empty(0, np.int32))
    ids = st.integers(0, vertices - 1)
    pairs = draw(st.lists(st.tuples(ids, ids), max_size=30))
    ends = np.array(pairs, np.int32).reshape(-1, 2)
    return Graph.from_edges(vertices, ends[:, 0], ends[:, 1])


@settings(max_examples=examples(25))
@given(graph=graphs(), mode=st.sampled_from(["cuda", "coal", "range+switch"]))
def test_any_graph(graph: Graph, mode: str) -> None:
    for name in WORKLOADS:
        values = final_values(name, graph, mode)
        assert_as_expected(name, values, expected_values(name, graph))


@settings(max_examples=examples(40))
@given(graph=graphs())
def test_our_own_reference(graph: Graph) -> None:
    np.testing.assert_array_equal(Levels(graph).levels, hop_counts(graph))
    np.testing.assert_array_equal(Components(graph).labels, component_labels(graph))
    reference = Ranks(graph)
    for _ in range(SWEEPS):
        reference.advance()
    np.testing.assert_allclose(reference.ranks, ranks(graph, SWEEPS - 1), rtol=1e-12)


def test_levels_are_a_breadth_first_search() -> None:
    """From the definition, without a reference."""
    graph = coauthors(600)
    level = final_values("bfs", graph)
    assert (level[graph.target] <= level[graph.source] + 1).all()
    has_parent = np.zeros(graph.vertices, bool)
    has_parent[graph.target[level[graph.target] == level[graph.source] + 1]] = True
    assert has_parent[1:].all()
    assert not has_parent[0]


def test_labels_go_farther_than_two_edges() -> None:
    """The artifact's do not: its accessor never gives an out-edge."""
    assert final_values("cc", grid(20, 1)).tolist() == [0] * 20
    assert final_values("cc_ven", grid(20, 1)).tolist() == [0] * 20


def test_ranks_lie_between_their_bounds() -> None:
    import networkx as nx  # an eighth of a second

    graph = coauthors(2000)
    found = final_values("pagerank", graph).astype(np.float64)
    n = graph.vertices
    fixed_point = ranks(graph, 400)
    assert (found >= ranks(graph, SWEEPS - 1) * (1 - 1e-5)).all()
    assert (found <= fixed_point * (1 + 1e-5)).all()
    assert n * (1 - 0.85**19) - 0.1 <= found.sum() <= n
    pairs = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    by_networkx = nx.pagerank(nx.DiGraph(pairs), alpha=0.85, tol=1e-12)
    for vertex, rank in by_networkx.items():
        assert rank * n == pytest.approx(fixed_point[vertex], rel=1e-6)


def test_unreached_vertices_keep_the_largest_integer() -> None:
    values = final_values("bfs", SMALL)
    assert values.tolist() == [0, 1, 2, *[UNREACHED] * 4, 3, UNREACHED]


def test_setters_of_virtual_vertices() -> None:
    """The artifact builds its graph with these; here the arrays are filled at once."""
    with oa.Heap(mode="sharedoa", backend="cpu") as heap:
        edges = heap.new(EdgeInt, 2)
        first, second = (
            heap.new(ven.ChiVertexInt, in_edges=edges[:0], out_edges=heap.zeros(1, ChiEdgeInt)),
            heap.new(ven.ChiVertexInt, in_edges=edges, out_edges=edges[:0]),
        )
        vertices = heap.array(ven.ChiVertexInt, [first, second])
        second.set_in_edge(0, 7, 3)
        second.set_in_edge(1, 0, 4)
        first.set_out_edge(vertices, 0, 0, 1, 9)
        assert first.get_out_edge(0) is second.get_in_edge(1)
        assert np.array(edges.vertex_id).tolist() == [7, 0]
        assert np.array(edges.value).tolist() == [3, 9]
        second.set_id(5)
        assert (second.get_id(), second.num_edges()) == (5, 2)


def test_calls_are_explained() -> None:
    final_values("bfs_ven", SMALL, "coal")
    with oa.Heap(mode="coal", backend="cpu"):
        text = WORKLOADS["bfs_ven"].sweep[0].explain()
    for name in ("VirtVertexInt.get_in_edge", "ChiEdgeInt.set_value", "EdgeInt"):
        assert name in text
