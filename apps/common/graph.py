"""Directed graphs as arrays of edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int32]]
Longs = np.ndarray[Any, np.dtype[np.int64]]


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
        order = np.argsort(source, kind="stable")
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
        return np.argsort(self.target, kind="stable")


def undirected(vertices: int, one: Any, other: Any) -> Graph:
    """The graph with an edge in both directions for each pair; a loop is one edge."""
    one, other = np.asarray(one), np.asarray(other)
    pairs = one != other
    return Graph.from_edges(
        vertices, np.concatenate([one, other[pairs]]), np.concatenate([other, one[pairs]])
    )
