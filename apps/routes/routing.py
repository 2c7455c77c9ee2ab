"""A network's objects in one heap, and queries over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sharedoa import i32

from ..common.launches import Launches
from . import kernels
from .classes import Edge, Ferry, Junction, Node, Road, Walk, Zone
from .network import Array, Network

#: Rounds of relaxation that are launched before the host asks whether any brought news.
ROUNDS = 16


@dataclass(frozen=True)
class Answer:
    """Where one can be when, from one start."""

    start: int
    #: Earliest arrival at each node, ``NEVER`` where no route leads.
    time: Array
    #: Whether each edge lies on a fastest route; roads, ferries, walks.
    used: Array


class Routing:
    """Bellman and Ford's algorithm with one thread an edge: every round relaxes all edges, until
    one brings no news. Arrivals only ever improve, and stop at the earliest ones, whatever the
    order of threads."""

    def __init__(self, heap: Any, network: Network, launches: Launches) -> None:
        self._launch = launches
        self._nodes = heap.zeros(network.nodes, Node)
        for node_class, chosen in ((Zone, network.is_zone), (Junction, ~network.is_zone)):
            self._nodes[chosen] = heap.new(node_class, int(chosen.sum()))
        roads, ferries, walks = network.kinds
        self._edges = heap.concat(
            heap.zeros(0, Edge),
            self._new(
                heap, Road, roads, free_flow_time=roads.free_flow_time, load=roads.load, b=roads.b
            ),
            self._new(heap, Ferry, ferries, headway=ferries.headway, crossing=ferries.crossing),
            self._new(heap, Walk, walks, driving_time=walks.driving_time),
        )
        self._news = heap.zeros(ROUNDS, i32)
        self._used = heap.zeros(len(self._edges), i32)

    def _new(self, heap: Any, edge_class: type, kind: Any, **fields: Array) -> Any:
        return heap.new(
            edge_class,
            len(kind.origin),
            source=self._nodes[kind.origin],
            target=self._nodes[kind.target],
            **fields,
        )

    def answer(self, start: int) -> Answer:
        """The fastest routes from a node to all others."""
        self._launch(kernels.start_at, len(self._nodes), self._nodes, start)
        there_is_news = True
        while there_is_news:
            self._news[-1] = 0
            for round in range(ROUNDS):
                self._launch(kernels.relax_edges, len(self._edges), self._edges, self._news, round)
            there_is_news = bool(self._news[-1])
        self._launch(kernels.mark_fastest_routes, len(self._edges), self._edges, self._used)
        used = self._used.numpy().astype(np.bool_)
        return Answer(start, np.array(self._nodes.time), used)
