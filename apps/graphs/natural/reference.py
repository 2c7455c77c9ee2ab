"""The natural graph programs on plain NumPy arrays: an independent check of the objects' values."""

from __future__ import annotations

import numpy as np

from ...common.graph import Graph
from ..reference import UNREACHED, require
from ..workload import Values


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
