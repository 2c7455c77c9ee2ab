"""Vertices that send each other messages over edges, in sweeps of two phases: all update what they
have by what has come, then all whose value has changed send it. In neither phase does a value
depend on what another thread writes in it, but by atomic sums and minima of integers: no order of
threads matters."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32


class Vertex(oa.Object):
    value: i32

    def receive(self, message: i32) -> None: ...


class Edge(oa.Object):
    target: Vertex

    def carry(self, message: i32) -> None:
        self.target.receive(message)


class Sender(Vertex):
    """``edges`` are those that it sends over. ``has_changed``: its value, in the last update."""

    has_changed: bool
    edges: oa.Array[Edge]

    def update(self) -> None: ...

    def send(self) -> None:
        if self.has_changed:
            edges = self.edges
            for k in range(len(edges)):
                edges[k].carry(self.value)
