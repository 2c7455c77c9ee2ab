"""Triangles: three vertices that are neighbours of each other. Directions, loops and repeated edges
do not count.

Vertices are ranked by their number of neighbours, and a side leads from the lower to the higher
rank. So a vertex has at most as many sides as the square root of twice their number, however many
neighbours it has: all with as many neighbours or more are above it. Each triangle is found once, at
the side of its two lower corners.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import i32

from ...common.graph import Graph
from ...interface import RunOptions, RunResult
from ..program import run_workload
from ..results import triangle_bars, triangle_counts
from .classes import Edge, Vertex
from .reference import Triangles
from .simulation import NaturalWorkload


class Corner(Vertex):
    """``value`` is the number of triangles that it is a corner of, ``sides`` those that lead to
    higher ranks, in the order of these."""

    sides: oa.Array[Side]

    def forget(self) -> None:
        self.value = 0

    def receive(self, message: i32) -> None:
        """So many triangles have been found."""
        oa.atomic_add(self, "value", message)


class Side(Edge):
    """``rank`` is that of its target, ``onward`` are the sides that begin there."""

    source: Corner
    rank: i32
    onward: oa.Array[Side]

    def find_triangles(self) -> None:
        """Walk along what the source leads to and what the target leads to, from rank to rank, and
        tell the corners of all triangles whose third one both lead to."""
        ours = self.source.sides
        theirs = self.onward
        found = 0
        i = 0
        k = 0
        while i < len(ours) and k < len(theirs):
            difference = ours[i].rank - theirs[k].rank
            if difference == 0:
                ours[i].carry(1)
                found += 1
            if difference <= 0:
                i += 1
            if difference >= 0:
                k += 1
        if found > 0:
            self.source.receive(found)
            self.carry(found)


def _make(heap: Any, graph: Graph) -> Any:
    by_rank = np.argsort(graph.out_degree(), kind="stable")
    rank = np.empty(graph.vertices, np.int64)
    rank[by_rank] = np.arange(graph.vertices)
    low, high = rank[graph.source], rank[graph.target]
    keys = np.sort((low * graph.vertices + high)[low < high])
    low, high = np.divmod(keys, max(graph.vertices, 1))
    vertices = heap.new(Corner, graph.vertices)
    ranked = vertices[by_rank]
    sides = heap.new(Side, len(keys), source=ranked[low], target=ranked[high], rank=high)
    of_each = oa.split(sides, np.bincount(low, minlength=graph.vertices))
    ranked.sides = of_each
    sides.onward = of_each[high]
    return vertices


TRIANGLES = NaturalWorkload(
    title="Triangles",
    make=_make,
    phases=((Corner, "forget"), (Side, "find_triangles")),
    ends=False,
    reference=Triangles,
    counts=triangle_counts,
    bars_title="vertices by number of triangles, from the number below on",
    bars=triangle_bars,
    is_simple=True,
)


def run(options: RunOptions) -> RunResult:
    """Run the program. One sweep finds all; each further one finds them again."""
    return run_workload(TRIANGLES, options)
