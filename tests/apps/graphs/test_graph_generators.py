"""Generated graphs: known facts of the stand-in for coAuthorsDBLP, and every small size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csgraph

from apps.common import graph_generators
from apps.common.graph import Graph
from apps.common.graph_generators import coauthors, grid, r_mat, split_mix

from .running import full_graph, hop_counts, matrix


@pytest.mark.slow
def test_stand_in_for_coauthors() -> None:
    graph = full_graph("stand-in", None)
    assert (graph.vertices, graph.edges) == (299_067, 2 * 977_676)
    degree = graph.out_degree()
    assert (degree.min(), degree.max(), degree[0]) == (1, 304, 304)
    assert degree.mean() == pytest.approx(6.538, abs=1e-3)
    levels = np.bincount(hop_counts(graph)).tolist()
    assert levels == [1, 304, 3_426, 26_506, 123_656, 135_901, 9_226, 47]
    assert is_simple_and_undirected(graph)


def is_simple_and_undirected(graph: Graph) -> bool:
    pairs = set(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    reverse = {(b, a) for a, b in pairs}
    return len(pairs) == graph.edges and reverse == pairs and all(a != b for a, b in pairs)


@pytest.mark.parametrize("size", [*range(8), 17, 29])
def test_small_sizes(size: int) -> None:
    graph = coauthors(size)
    assert graph.vertices == size
    assert graph.edges == min(2 * round(size * 977_676 / 299_067), size * (size - 1))
    assert is_simple_and_undirected(graph)
    if size:
        assert csgraph.connected_components(matrix(graph))[0] == 1


def test_seeds_differ() -> None:
    assert not np.array_equal(coauthors(100, 1).target, coauthors(100, 2).target)
    assert np.array_equal(coauthors(100, 1).target, coauthors(100, 1).target)


def test_how_many_edges_are_drawn_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = coauthors(500)
    monkeypatch.setattr(graph_generators, "_BATCH", 64)
    assert np.array_equal(coauthors(500).target, graph.target)


def test_split_mix() -> None:
    """The generator's published first output for state 0."""
    assert split_mix([0])[0] == (0xE220A8397B1DCDAF >> 11) * 2.0**-53


def test_r_mat_is_uneven() -> None:
    graph = r_mat(12)
    degree = graph.out_degree()
    assert is_simple_and_undirected(graph)
    assert degree.max() > 30 * degree.mean()
    assert (degree == 0).sum() > graph.vertices // 20
    assert r_mat(0).edges == 0


@pytest.mark.parametrize(("width", "height"), [(0, 0), (1, 1), (5, 1), (1, 5), (4, 3)])
def test_grid(width: int, height: int) -> None:
    graph = grid(width, height)
    assert graph.vertices == width * height
    assert graph.edges == 2 * max(0, 2 * width * height - width - height)
    assert is_simple_and_undirected(graph)
    row = np.abs(graph.source - graph.target)
    assert set(row.tolist()) <= {1, width}
