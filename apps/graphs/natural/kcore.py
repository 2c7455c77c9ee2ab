"""Core numbers: the largest k for which a vertex is in a part of the graph in which everybody has
k neighbours of the same part. Directions, loops and repeated edges do not count.

Those with the fewest neighbours left are removed, sweep by sweep, until nobody is left.
"""

from __future__ import annotations

from typing import Any

import sharedoa as oa
from sharedoa import i32

from ...common.graph import Graph
from ...interface import RunOptions, RunResult
from ..program import run_workload
from ..results import core_bars, core_counts
from .classes import Edge, Sender
from .reference import NOT_YET, Cores
from .simulation import SEND, UPDATE, NaturalWorkload, senders

#: More neighbours than anybody has.
_MANY = 2**31 - 1


class Peeling(oa.Object):
    """Who has at most ``level`` neighbours left is removed. ``fewest``: what anybody has left."""

    level: i32
    fewest: i32

    def rise(self) -> None:
        """To the fewest that anybody has left, never down."""
        self.level = max(self.level, self.fewest)
        self.fewest = _MANY


class Member(Sender):
    """``value`` is its core number, once it is removed; ``neighbours`` are those that are left."""

    neighbours: i32
    peeling: Peeling

    def report(self) -> None:
        """Tell how many neighbours are left."""
        if self.value == NOT_YET and self.neighbours < self.peeling.fewest:
            oa.atomic_min(self.peeling, "fewest", self.neighbours)

    def update(self) -> None:
        level = self.peeling.level
        self.has_changed = self.value == NOT_YET and self.neighbours <= level
        if self.has_changed:
            self.value = level

    def receive(self, message: i32) -> None:
        """A neighbour is removed."""
        oa.atomic_sub(self, "neighbours", 1)


def _make(heap: Any, graph: Graph) -> Any:
    return senders(
        heap,
        graph,
        Member,
        heap.new(Edge, graph.edges),
        value=NOT_YET,
        neighbours=graph.out_degree(),
        peeling=heap.new(Peeling, level=0, fewest=_MANY),
    )


KCORE = NaturalWorkload(
    title="Core numbers",
    make=_make,
    phases=((Member, "report"), (Peeling, "rise"), UPDATE, SEND),
    ends=True,
    reference=Cores,
    counts=core_counts,
    bars_title="vertices by core number",
    bars=core_bars,
    is_simple=True,
)


def run(options: RunOptions) -> RunResult:
    return run_workload(KCORE, options)
