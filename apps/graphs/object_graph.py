"""A graph as objects of one heap, and the sweeps over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32

from ..common.graph import Graph
from ..common.launches import Launches
from .workload import Values, Workload


@dataclass(frozen=True, kw_only=True)
class ArtifactWorkload(Workload):
    """Classes, their initial values, and kernels."""

    vertex_class: type
    edge_class: type
    vertex_value: int | float
    edge_value: int | float
    #: Launched in this order with the vertices and the number of the sweep, for every vertex.
    sweep: tuple[Any, ...]
    #: Launched with the vertices and an array for their values.
    copy_back: Any
    #: Launched with the vertices and a counter of those that the next sweep may change, for results
    #: that some number of sweeps makes final; None for those that every sweep improves.
    count_unsettled: Any | None

    def objects(self, heap: Any, graph: Graph, launches: Launches) -> ObjectGraph:
        return ObjectGraph(heap, graph, self, launches)


class ObjectGraph:
    """One object for each vertex and each directed edge.

    The edges into one vertex lie together, in the order of their sources. The source refers to the
    same objects, so that an edge is a mailbox between its two vertices.
    """

    def __init__(
        self, heap: Any, graph: Graph, workload: ArtifactWorkload, launches: Launches
    ) -> None:
        self._heap, self._workload, self._launch = heap, workload, launches
        #: Sweeps whose kernels have been launched.
        self.sweeps = 0
        order = graph.by_target()
        edges = heap.new(
            workload.edge_class,
            graph.edges,
            vertex_id=graph.source[order],
            value=workload.edge_value,
        )
        place = np.empty_like(order)
        place[order] = np.arange(graph.edges)
        self._vertices = heap.new(
            workload.vertex_class,
            graph.vertices,
            id=np.arange(graph.vertices, dtype=np.int32),
            value=workload.vertex_value,
            in_edges=oa.split(edges, graph.in_degree()),
            out_edges=oa.split(edges[place], graph.out_degree()),
        )
        element = f32 if isinstance(workload.vertex_value, float) else i32
        self._values = heap.zeros(graph.vertices, element)
        self._unsettled = heap.zeros(1, i32)

    def advance(self) -> None:
        """Launch the kernels of one sweep over all vertices."""
        for kernel in self._workload.sweep:
            self._launch(kernel, len(self._vertices), self._vertices, self.sweeps)
        self.sweeps += 1

    def is_settled(self) -> bool:
        """Whether no number of further sweeps would change any value."""
        kernel = self._workload.count_unsettled
        if kernel is None:
            return True
        self._unsettled[0] = 0
        kernel[len(self._vertices)](self._vertices, self._unsettled)
        return int(self._unsettled[0]) == 0

    def values(self) -> Values:
        """The value of every vertex now."""
        self._workload.copy_back[len(self._vertices)](self._vertices, self._values)
        return self._values.numpy().copy()
