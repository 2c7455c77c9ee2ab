"""The graph workloads by name, their results on any graph, and what SciPy says about it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

import sharedoa as oa
from apps.common.graph import Graph
from apps.common.graph_files import read_graph
from apps.common.graph_generators import COAUTHORS_VERTICES, coauthors
from apps.common.launches import Launches
from apps.graphs.reference import UNREACHED
from apps.graphs.ve.bfs import BFS
from apps.graphs.ve.cc import CC
from apps.graphs.ve.pagerank import PAGERANK
from apps.graphs.ven.bfs import BFS as BFS_VEN
from apps.graphs.ven.cc import CC as CC_VEN
from apps.graphs.ven.pagerank import PAGERANK as PAGERANK_VEN
from apps.graphs.workload import Values, Workload
from apps.registry import AppInfo

WORKLOADS: dict[str, Workload] = {
    "bfs": BFS,
    "cc": CC,
    "pagerank": PAGERANK,
    "bfs_ven": BFS_VEN,
    "cc_ven": CC_VEN,
    "pagerank_ven": PAGERANK_VEN,
}
PAGERANKS = ("pagerank", "pagerank_ven")
SWEEPS = 20


def app(name: str) -> AppInfo:
    """The program as the registry describes it."""
    folder = "ven" if name.endswith("_ven") else "ve"
    return AppInfo(
        name=name,
        title=name,
        module=f"apps.graphs.{folder}.{name.removesuffix('_ven')}",
        unit="vertices",
        size=20_000,
        steps=SWEEPS,
        seed=0,
        paper_size=COAUTHORS_VERTICES,
        paper_steps=SWEEPS,
    )


def final_values(
    name: str, graph: Graph, mode: str = "sharedoa", backend: str = "cpu", sweeps: int = SWEEPS
) -> Values:
    """The values of a workload when they are final, or after so many sweeps."""
    with oa.Heap(mode=mode, backend=backend) as heap:
        objects = WORKLOADS[name].objects(heap, graph, Launches(heap, timed=False))
        while True:
            for _ in range(sweeps):
                objects.advance()
            if objects.is_settled():
                return objects.values()


@functools.cache
def full_graph(name: str, folder: Path | None) -> Graph:
    """The stand-in graph, or the METIS file, both as large as the paper's."""
    if name == "stand-in":
        return coauthors(COAUTHORS_VERTICES)
    assert folder is not None
    return read_graph(folder / name)


def matrix(graph: Graph, weights: Any = None) -> Any:
    """The adjacency matrix; repeated edges add up."""
    from scipy import sparse  # a quarter of a second, which few tests need

    if weights is None:
        weights = np.ones(graph.edges)
    return sparse.csr_array((weights, (graph.source, graph.target)), shape=(graph.vertices,) * 2)


def hop_counts(graph: Graph) -> Values:
    if graph.vertices == 0:
        return np.empty(0, np.int32)
    from scipy.sparse import csgraph

    hops = csgraph.shortest_path(matrix(graph), unweighted=True, indices=0, method="D")
    return np.where(np.isinf(hops), UNREACHED, hops).astype(np.int32)


def component_labels(graph: Graph) -> Values:
    if graph.vertices == 0:
        return np.empty(0, np.int32)
    from scipy.sparse import csgraph

    count, component = csgraph.connected_components(matrix(graph), directed=False)
    smallest = np.full(count, graph.vertices)
    np.minimum.at(smallest, component, np.arange(graph.vertices))
    return smallest[component].astype(np.int32)


def ranks(graph: Graph, sweeps: int) -> Values:
    """So many synchronous sweeps, from edges that hold zero."""
    share = 1 / np.maximum(graph.out_degree(), 1)
    flow = matrix(graph, share[graph.source]).T.tocsr()
    values: Values = np.zeros(graph.vertices)
    for _ in range(sweeps):
        values = 0.15 + 0.85 * (flow @ values)
    return values


def expected_values(name: str, graph: Graph) -> Values:
    """By SciPy, which shares no code with ours."""
    if name in PAGERANKS:
        return ranks(graph, SWEEPS - 1)
    return hop_counts(graph) if name.startswith("bfs") else component_labels(graph)


def assert_as_expected(name: str, values: Values, expected: Values) -> None:
    if name in PAGERANKS:
        np.testing.assert_allclose(values, expected, rtol=1e-5)
    else:
        np.testing.assert_array_equal(values, expected)
