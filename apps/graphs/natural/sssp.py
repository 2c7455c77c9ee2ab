"""Shortest paths from vertex 0 over edges of different lengths, after Bellman and Ford."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import i32
from sharedoa.errors import ArgumentError

from ...common.counter_random import all_below, draws
from ...common.graph import Graph
from ...interface import RunOptions, RunResult
from ..program import run_workload
from ..reference import UNREACHED
from ..results import distance_bars, distance_counts
from ..workload import Values
from .classes import Edge, Sender
from .reference import Distances
from .simulation import SEND, UPDATE, NaturalWorkload, senders

#: Of an edge, as in the GAP benchmark suite.
LONGEST = 255
#: What random numbers are drawn for.
_LENGTH = 0


class Place(Sender):
    """``value`` is the length of the shortest path that is known, ``offered`` that of the shortest
    one that somebody has told of."""

    offered: i32

    def receive(self, message: i32) -> None:
        if message < self.offered:
            oa.atomic_min(self, "offered", message)

    def update(self) -> None:
        self.has_changed = self.offered < self.value
        self.value = self.offered


class Road(Edge):
    length: i32

    def carry(self, message: i32) -> None:
        self.target.receive(message + self.length)


def lengths(graph: Graph, seed: int, longest: int) -> Values:
    """A random length from 1 to ``longest`` for each edge: it depends on the seed and on the two
    vertices alone, so that it is the same in both directions."""
    low = np.minimum(graph.source, graph.target).astype(np.uint64)
    high = np.maximum(graph.source, graph.target).astype(np.uint64)
    bits = draws(seed, 0, low << np.uint64(32) | high, _LENGTH)
    return all_below(bits, longest).astype(np.int32) + np.int32(1)


def shortest_paths(seed: int, longest: int = LONGEST) -> NaturalWorkload:
    """The program whose edges have random lengths from 1 to ``longest``.

    Its objects raise ArgumentError for a graph in which a path could be too long for i32.
    """

    def make(heap: Any, graph: Graph) -> Any:
        if not 1 <= longest <= UNREACHED // max(graph.vertices, 1):
            raise ArgumentError(
                f"paths of {graph.vertices:,} vertices over edges of a length of up to "
                f"{longest:,} cannot be added up in 32 bits",
                f"give a longest edge from 1 to {UNREACHED // max(graph.vertices, 1):,}",
            )
        roads = heap.new(Road, graph.edges, length=lengths(graph, seed, longest))
        start = np.arange(graph.vertices) == 0
        offered = np.where(start, 0, UNREACHED).astype(np.int32)
        return senders(heap, graph, Place, roads, value=UNREACHED, offered=offered)

    return NaturalWorkload(
        title="Shortest paths",
        make=make,
        phases=(UPDATE, SEND),
        ends=True,
        reference=lambda graph: Distances(graph, lengths(graph, seed, longest)),
        counts=distance_counts,
        bars_title="vertices by distance, from the number below on",
        bars=distance_bars,
    )


def run(options: RunOptions, longest: int = LONGEST) -> RunResult:
    """Run the program with lengths from 1 to ``longest``."""
    assert options.seed is not None
    return run_workload(shortest_paths(options.seed, longest), options)
