"""Directed graphs as arrays of edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int32]]
Longs = np.ndarray[Any, np.dtype[np.int64]]

_EDGE_BITS = 32
"""Of an edge's number, beside which a vertex has the other half of 64 bits."""


@dataclass(frozen=True)
class Graph:
    """Edge k leads from vertex ``source[k]`` to ``target[k]``. Edges are sorted by source; those of
    one source keep the order that they came in. Loops and repeated edges are edges, too."""

    vertices: int
    source: Ints
    target: Ints

    @classmethod
    def from_edges(cls, vertices: int, source: Any, target: Any) -> Graph:
        """Edges in any order."""
        order = _order(np.asarray(source))
        return cls(
            vertices,
            np.asarray(source)[order].astype(np.int32),
            np.asarray(target)[order].astype(np.int32),
        )

    @property
    def edges(self) -> int:
        return len(self.source)

    def out_degree(self) -> Longs:
        return np.bincount(self.source, minlength=self.vertices)

    def in_degree(self) -> Longs:
        return np.bincount(self.target, minlength=self.vertices)

    def by_target(self) -> Longs:
        """The edges sorted by target, those of one target by source."""
        return _order(self.target)

    def simple(self) -> Graph:
        """One edge in each direction between those that any edge joins, and no loops. Neighbours of
        a vertex are in ascending order."""
        n = max(self.vertices, 1)
        one, other = self.source.astype(np.int64), self.target.astype(np.int64)
        keys = np.concatenate([one * n + other, other * n + one])
        keys.sort()
        keys = keys[(np.diff(keys, prepend=-1) != 0) & (keys // n != keys % n)]
        return Graph(self.vertices, (keys // n).astype(np.int32), (keys % n).astype(np.int32))


def _order(vertices: Any) -> Longs:
    """The positions of the vertices sorted by number, those of one vertex as they come."""
    # NumPy sorts numbers many times as fast as it sorts their positions.
    keys = (vertices.astype(np.int64) << _EDGE_BITS) | np.arange(len(vertices))
    keys.sort()
    return keys & ((1 << _EDGE_BITS) - 1)


def undirected(vertices: int, one: Any, other: Any) -> Graph:
    """The graph with an edge in both directions for each pair; a loop is one edge."""
    one, other = np.asarray(one), np.asarray(other)
    pairs = one != other
    return Graph.from_edges(
        vertices, np.concatenate([one, other[pairs]]), np.concatenate([other, one[pairs]])
    )
