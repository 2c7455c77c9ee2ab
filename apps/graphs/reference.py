"""The graph programs on plain NumPy arrays: an independent check of the objects' values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.graph import Graph
from ..interface import CheckFailed
from .workload import Values

#: The level of a vertex that no path leads to.
UNREACHED = 2**31 - 1

#: Relative error that f32 sums of k terms may have: a constant, and more for each doubling of k.
_RANK_ERROR, _RANK_ERROR_GROWTH = 1e-5, 1e-6


def require(holds: Any, message: str) -> None:
    """Raise CheckFailed, with the first vertex of which ``holds`` is false."""
    bad = np.flatnonzero(~np.asarray(holds))
    if len(bad):
        raise CheckFailed(f"vertex {bad[0]} and {len(bad) - 1} more: {message}")


class Levels:
    """Numbers of edges on shortest paths from vertex 0."""

    name = "levels"

    def __init__(self, graph: Graph) -> None:
        self.levels = np.full(graph.vertices, UNREACHED, np.int32)
        self.levels[:1] = 0
        level = 0
        while True:
            found = graph.target[self.levels[graph.source] == level]
            found = found[self.levels[found] == UNREACHED]
            if not len(found):
                break
            level += 1
            self.levels[found] = level

    def check(self, sweeps: int, values: Values) -> None:
        """Values are lengths of paths; after sweep k those of up to k edges are exact."""
        require(values >= self.levels, "the level is below the length of the shortest path")
        near = self.levels < sweeps
        require(~near | (values == self.levels), "the level is not exact in time")

    def check_result(self, values: Values) -> None:
        require(values == self.levels, "the level is not the length of the shortest path")


class Components:
    """The smallest number in the component of each vertex; directions do not count."""

    name = "labels"

    def __init__(self, graph: Graph) -> None:
        self._first = np.arange(graph.vertices, dtype=np.int32)
        np.minimum.at(self._first, graph.target, graph.source)
        self.labels = np.arange(graph.vertices, dtype=np.int32)
        while True:  # each vertex takes its neighbours' smallest label, and that label's own
            before = self.labels.copy()
            np.minimum.at(self.labels, graph.target, before[graph.source])
            np.minimum.at(self.labels, graph.source, before[graph.target])
            self.labels = self.labels[self.labels]
            if np.array_equal(before, self.labels):
                break

    def check(self, sweeps: int, values: Values) -> None:
        if sweeps == 1:
            require(values == self._first, "the label is not the smallest of the in-neighbours'")
        require(values >= self.labels, "the label is not from the component")
        require(values <= self._first, "the label has risen")

    def check_result(self, values: Values) -> None:
        require(values == self.labels, "the label is not the smallest number of the component")


class Ranks:
    """PageRank in f64, all vertices at once in every sweep, from edges that hold 0."""

    name = "ranks"

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._out_degree = graph.out_degree()
        self._edges = np.zeros(graph.edges)
        self._sweeps = 0
        self.ranks: Values = np.zeros(graph.vertices)
        self._error = _RANK_ERROR + _RANK_ERROR_GROWTH * np.log2(1 + graph.in_degree())

    def advance(self) -> None:
        graph = self._graph
        if self._sweeps == 0:
            self.ranks = np.ones(graph.vertices)
        else:
            inflow = np.bincount(graph.target, self._edges, minlength=graph.vertices)
            self.ranks = 0.15 + 0.85 * inflow
            self._edges = (self.ranks / np.maximum(self._out_degree, 1))[graph.source]
        self._sweeps += 1

    def check(self, sweeps: int, values: Values) -> None:
        while self._sweeps < sweeps:
            self.advance()
        self.check_result(values)

    def check_result(self, values: Values) -> None:
        require(
            np.abs(values - self.ranks) <= self._error * self.ranks,
            "the rank differs from that of the reference",
        )
