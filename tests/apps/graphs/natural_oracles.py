"""What SciPy, networkx and plain Python say about the natural graph programs' values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import networkx as nx
import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from apps.common.graph import Graph
from apps.graphs.natural import sssp
from apps.graphs.natural.kcore import KCORE
from apps.graphs.natural.label_propagation import LABEL_PROPAGATION
from apps.graphs.natural.simulation import NaturalWorkload
from apps.graphs.natural.triangles import TRIANGLES
from apps.graphs.reference import UNREACHED
from apps.graphs.workload import Values

SEED = 7
#: At a time, and of programs that do not end in all.
SWEEPS = 12


def distances(graph: Graph, seed: int = SEED, longest: int = sssp.LONGEST) -> Values:
    if graph.vertices == 0:
        return np.empty(0, np.int32)
    # Of edges between the same two vertices the lengths are equal: SciPy would add them.
    ends = np.stack([graph.source, graph.target], axis=1)
    once = np.unique(ends, axis=0, return_index=True)[1]
    lengths = sssp.lengths(graph, seed, longest)[once].astype(float)
    roads = sparse.csr_array((lengths, tuple(ends[once].T)), shape=(graph.vertices,) * 2)
    found = csgraph.dijkstra(roads, indices=0)
    return np.where(np.isinf(found), UNREACHED, found).astype(np.int32)


def neighbourhoods(graph: Graph) -> nx.Graph:
    """Who is whose neighbour."""
    found = nx.Graph()
    found.add_nodes_from(range(graph.vertices))
    pairs = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    found.add_edges_from((one, other) for one, other in pairs if one != other)
    return found


def in_order(values: dict[int, int]) -> Values:
    return np.array([values[vertex] for vertex in range(len(values))], np.int32)


def cores(graph: Graph) -> Values:
    return in_order(nx.core_number(neighbourhoods(graph)))


def triangles(graph: Graph) -> Values:
    return in_order(nx.triangles(neighbourhoods(graph)))


def labels(graph: Graph, sweeps: int = SWEEPS) -> Values:
    neighbours = neighbourhoods(graph).adj
    found = {vertex: vertex for vertex in neighbours}
    for _ in range(sweeps):
        votes = {who: Counter(found[other] for other in neighbours[who]) for who in neighbours}
        for who, given in votes.items():
            if given:
                found[who] = min(given, key=lambda label: (-given[label], label))
    return in_order(found)


#: Programs by name.
PROGRAMS: dict[str, NaturalWorkload] = {
    "sssp": sssp.shortest_paths(SEED),
    "kcore": KCORE,
    "triangles": TRIANGLES,
    "label_propagation": LABEL_PROPAGATION,
}
#: What their values are, of any graph.
EXPECTED: dict[str, Callable[[Graph], Values]] = {
    "sssp": distances,
    "kcore": cores,
    "triangles": triangles,
    "label_propagation": labels,
}
