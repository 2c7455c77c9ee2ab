"""Generated graphs, all undirected: equal for equal arguments on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Graph, Longs, undirected

#: The data set of the paper, coAuthorsDBLP, whose size and density the co-author graph has.
COAUTHORS_VERTICES, COAUTHORS_EDGES = 299_067, 977_676

#: Probabilities of the four quadrants, as the Graph 500 benchmark has them.
_QUADRANTS = (0.57, 0.19, 0.19)
#: Candidates drawn at once for edges that must differ from all others, at most.
_BATCH = 1 << 18

Floats = np.ndarray[Any, np.dtype[np.float64]]


def split_mix(states: Any, seed: int = 0) -> Floats:
    """The SplitMix64 generator's numbers for ``states``, at least 0 and below 1. A seed takes
    states that lie 2^40 apart."""
    golden, first, second = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
    start = np.uint64(((seed << 40) + 1) & (1 << 64) - 1)
    z = (np.asarray(states).astype(np.uint64) + start) * np.uint64(golden)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(first)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(second)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def coauthors(vertices: int, seed: int = 0) -> Graph:
    """A connected graph as dense as coAuthorsDBLP, with few far-reaching vertices of high degree.

    First a tree, then edges, in turn to a vertex nearby and to any, preferably a low one.
    """
    n = vertices
    most = n * (n - 1) // 2
    edges = min(round(n * COAUTHORS_EDGES / COAUTHORS_VERTICES), most)
    u = split_mix(np.arange(1, max(n, 1)), seed)
    child = np.arange(1, max(n, 1))
    parent = (child * (u * np.sqrt(u))).astype(np.int64)
    keys = _pair_keys(n, child, parent)
    k, batch = 0, min(_BATCH, 1024 + 2 * edges)
    while len(keys) < edges:
        draws = split_mix(n + 2 * k + np.arange(2 * batch), seed).reshape(-1, 2)
        a = (n * draws[:, 0]).astype(np.int64)
        w = draws[:, 1]
        near = (a + 1 + (200 * (w * w)).astype(np.int64)) % n
        far = (n * (w * np.sqrt(w))).astype(np.int64)
        b = np.where((np.arange(k, k + batch) & 1) == 0, near, far)
        keys = _first_of_each(np.concatenate([keys, _pair_keys(n, a, b)[a != b]]))[:edges]
        k += batch
    return _sorted_graph(n, keys)


def r_mat(scale: int, edge_factor: int = 8, seed: int = 0) -> Graph:
    """2^scale vertices and up to ``edge_factor`` times as many edges, with the very uneven degrees
    of the R-MAT model; many vertices are isolated. Loops and repeated edges are dropped."""
    n, drawn = 1 << scale, edge_factor << scale
    u = split_mix(np.arange(drawn * scale), seed).reshape(scale, drawn)
    quadrant = np.searchsorted(np.cumsum(_QUADRANTS), u, side="right")
    bits = 1 << np.arange(scale)[:, None]
    a, b = ((quadrant >> 1) * bits).sum(axis=0), ((quadrant & 1) * bits).sum(axis=0)
    return _sorted_graph(n, np.unique(_pair_keys(n, a, b)[a != b]))


def grid(width: int, height: int) -> Graph:
    """Vertices in rows, each joined to the next of its row and of its column."""
    index = np.arange(width * height).reshape(height, width)
    one = np.concatenate([index[:, :-1].ravel(), index[:-1].ravel()])
    other = np.concatenate([index[:, 1:].ravel(), index[1:].ravel()])
    return _sorted_graph(width * height, _pair_keys(width * height, one, other))


def _pair_keys(vertices: int, one: Any, other: Any) -> Longs:
    low, high = np.minimum(one, other), np.maximum(one, other)
    return np.asarray(low.astype(np.int64) * vertices + high)


def _first_of_each(keys: Longs) -> Longs:
    return keys[np.sort(np.unique(keys, return_index=True)[1])]


def _sorted_graph(vertices: int, keys: Longs) -> Graph:
    """Neighbours of each vertex in ascending order."""
    keys = np.sort(keys)
    graph = undirected(vertices, keys // max(vertices, 1), keys % max(vertices, 1))
    order = np.lexsort((graph.target, graph.source))
    return Graph(vertices, graph.source[order], graph.target[order])
