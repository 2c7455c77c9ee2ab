"""The natural graph programs on plain NumPy arrays: an independent check of the objects' values."""

from __future__ import annotations

import numpy as np

from ...common.graph import Graph
from ..reference import UNREACHED, require
from ..workload import Values

#: The core number of a vertex that has not been removed.
NOT_YET = -1


class Distances:
    """Lengths of shortest paths from vertex 0."""

    name = "distances"

    def __init__(self, graph: Graph, lengths: Values) -> None:
        self._graph, self._lengths = graph, lengths.astype(np.int64)
        self._sweeps = 0
        self.distances = np.full(graph.vertices, UNREACHED, np.int64)

    def advance(self) -> bool:
        """Whether another sweep shows shorter paths."""
        before = self.distances.copy()
        if self._sweeps == 0:
            self.distances[:1] = 0
        else:
            known = before[self._graph.source] < UNREACHED
            lengths = (before[self._graph.source] + self._lengths)[known]
            np.minimum.at(self.distances, self._graph.target[known], lengths)
        self._sweeps += 1
        return not np.array_equal(before, self.distances)

    def check(self, sweeps: int, values: Values) -> None:
        """After sweep k values are lengths of the shortest paths of up to k - 1 edges."""
        while self._sweeps < sweeps:
            self.advance()
        require(values == self.distances, "the distance is not that of paths of so many edges")

    def check_result(self, values: Values) -> None:
        while self.advance():
            pass
        require(values == self.distances, "the distance is not the length of the shortest path")


class Cores:
    """Core numbers, by removing all with the fewest neighbours left at a time."""

    name = "core numbers"

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._neighbours = graph.out_degree()
        self._level = self._sweeps = 0
        self.cores = np.full(graph.vertices, NOT_YET, np.int32)

    def advance(self) -> None:
        self._sweeps += 1
        left = self.cores == NOT_YET
        if not left.any():
            return
        self._level = max(self._level, int(self._neighbours[left].min()))
        removed = left & (self._neighbours <= self._level)
        self.cores[removed] = self._level
        cut = self._graph.target[removed[self._graph.source]]
        self._neighbours -= np.bincount(cut, minlength=self._graph.vertices)

    def check(self, sweeps: int, values: Values) -> None:
        while self._sweeps < sweeps:
            self.advance()
        require(values == self.cores, "the core number is not that of the reference")

    def check_result(self, values: Values) -> None:
        while (self.cores == NOT_YET).any():
            self.advance()
        require(values == self.cores, "the core number is not that of the reference")
