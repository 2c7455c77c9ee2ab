"""The natural graph programs' objects, and the sweeps over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sharedoa as oa

from ...common.graph import Graph
from ...common.launches import Launches
from ..workload import Values, Workload
from .classes import Sender

#: A method of all objects of a class.
Phase = tuple[type, str]
UPDATE: Phase = (Sender, "update")
SEND: Phase = (Sender, "send")


@dataclass(frozen=True, kw_only=True)
class NaturalWorkload(Workload):
    #: Makes the vertices of a graph in a heap, and all else that they need.
    make: Callable[[Any, Graph], Any]
    #: What is called one after another in each sweep.
    phases: tuple[Phase, ...]
    #: Whether the values are final once none has changed in a sweep. Those of others are what they
    #: are after so many sweeps.
    ends: bool

    def objects(self, heap: Any, graph: Graph, launches: Launches) -> Simulation:
        return Simulation(self, self.make(heap, graph), launches)


class Simulation:
    def __init__(self, workload: NaturalWorkload, vertices: Any, launches: Launches) -> None:
        self._workload, self._vertices, self._launches = workload, vertices, launches
        self.sweeps = 0

    def advance(self) -> None:
        """Call the phases of one sweep."""
        self._launches.repeat("sweep", self._sweep)
        self.sweeps += 1

    def _sweep(self) -> None:
        for cls, method in self._workload.phases:
            self._launches.for_all(cls, method)

    def is_settled(self) -> bool:
        """Whether no number of further sweeps would change any value, after one at least; true as
        well of programs that do not end."""
        return not self._workload.ends or not self._vertices.has_changed.numpy().any()

    def values(self) -> Values:
        """The value of every vertex now."""
        return np.array(self._vertices.value.numpy())


def senders(heap: Any, graph: Graph, cls: type[Sender], edges: Any, **fields: Any) -> Any:
    """A vertex of a class for each of the graph's, which sends over the ``edges`` that it is the
    source of. These are in the order of the graph's, and get their targets here."""
    vertices = heap.new(cls, graph.vertices, edges=oa.split(edges, graph.out_degree()), **fields)
    edges.target = vertices[graph.target]
    return vertices
