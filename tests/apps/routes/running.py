"""Networks and what SciPy's Dijkstra says about them."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from apps.registry import AppInfo
from apps.routes.network import Array, Network
from apps.routes.parameters import NEVER
from apps.routes.reference import usable_edges

ROUTES = AppInfo(
    name="routes",
    title="Fastest routes by road, ferry and on foot, in a generated town or a real network",
    module="apps.routes",
    unit="nodes",
    size=5_000,
    steps=20,
    seed=1,
    paper_size=100_000,
    paper_steps=20,
)


def dijkstra(network: Network, start: int) -> Array:
    """Earliest arrivals by SciPy; of parallel edges the fastest counts."""
    origin, target, time = usable_edges(network, start)
    order = np.lexsort((time, target, origin))
    origin, target, time = origin[order], target[order], time[order]
    first = np.ones(len(origin), bool)
    first[1:] = (origin[1:] != origin[:-1]) | (target[1:] != target[:-1])
    shape = (network.nodes, network.nodes)
    graph = sparse.csr_array((time[first], (origin[first], target[first])), shape=shape)
    found = csgraph.dijkstra(graph, indices=start)
    return np.where(np.isinf(found), NEVER, found).astype(np.int64)
