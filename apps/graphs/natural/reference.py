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


class Triangles:
    """How many triangles each vertex is in: of any two edges from the same vertex to others with as
    many neighbours or more, whether an edge joins their ends."""

    name = "triangles"

    def __init__(self, graph: Graph) -> None:
        n, degree = graph.vertices, graph.out_degree()
        weight = degree * n + np.arange(n)
        is_upward = weight[graph.source] < weight[graph.target]
        source, target = graph.source[is_upward], graph.target[is_upward]
        edge = np.arange(len(source))
        after = np.bincount(source, minlength=n).cumsum()[source] - edge - 1
        one = np.repeat(edge, after)
        other = one + 1 + np.arange(len(one)) - np.repeat(after.cumsum() - after, after)
        # The graph's edges are sorted by source and target.
        known = graph.source * np.int64(n) + graph.target
        wanted = target[one] * np.int64(n) + target[other]
        place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        closed = known[place] == wanted
        corners = np.concatenate([source[one[closed]], target[one[closed]], target[other[closed]]])
        self.triangles = np.bincount(corners, minlength=n)

    def check(self, sweeps: int, values: Values) -> None:
        self.check_result(values)

    def check_result(self, values: Values) -> None:
        require(values == self.triangles, "the number of triangles is not that of the reference")


class Labels:
    """Each label is the most frequent one of the neighbours' before, of several the lowest."""

    name = "labels"

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._sweeps = 0
        self.labels = np.arange(graph.vertices, dtype=np.int64)

    def advance(self) -> None:
        graph = self._graph
        self._sweeps += 1
        ballots = graph.target * np.int64(graph.vertices) + self.labels[graph.source]
        ballots, votes = np.unique(ballots, return_counts=True)
        voter, label = np.divmod(ballots, max(graph.vertices, 1))
        order = np.lexsort((label, -votes, voter))
        voter, first = np.unique(voter[order], return_index=True)
        self.labels[voter] = label[order[first]]

    def check(self, sweeps: int, values: Values) -> None:
        while self._sweeps < sweeps:
            self.advance()
        self.check_result(values)

    def check_result(self, values: Values) -> None:
        require(values == self.labels, "the label is not that of the reference")
