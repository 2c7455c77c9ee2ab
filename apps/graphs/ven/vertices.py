"""Vertices all of whose state lies behind virtual methods, as in the artifact: its template
``VirtVertex<V, T>`` with the one class ``ChiVertex<V, T>`` below it, for both T in use.

The artifact counts edges in fields of their own; here the arrays know their lengths. With a header
of 8 bytes a vertex has 48. The artifact's CC has two methods more than its BFS; here one class
serves both.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from ..edges import ChiEdgeFloat, ChiEdgeInt


class VirtVertexInt(oa.Object):
    id: i32
    value: i32
    in_edges: oa.Array[ChiEdgeInt]
    out_edges: oa.Array[ChiEdgeInt]

    def get_id(self) -> i32: ...
    def set_id(self, id: i32) -> None: ...
    def get_value(self) -> i32: ...
    def set_value(self, value: i32) -> None: ...
    def num_in_edges(self) -> i32: ...
    def num_out_edges(self) -> i32: ...
    def get_in_edge(self, place: i32) -> ChiEdgeInt: ...
    def get_out_edge(self, place: i32) -> ChiEdgeInt: ...
    def set_in_edge(self, place: i32, source: i32, value: i32) -> None: ...
    def set_out_edge(
        self,
        vertices: oa.Array[VirtVertexInt],
        source: i32,
        place: i32,
        target: i32,
        value: i32,
    ) -> None: ...
    def num_edges(self) -> i32: ...
    def edge(self, place: i32) -> ChiEdgeInt: ...


class ChiVertexInt(VirtVertexInt):
    def get_id(self) -> i32:
        return self.id

    def set_id(self, id: i32) -> None:
        self.id = id

    def get_value(self) -> i32:
        return self.value

    def set_value(self, value: i32) -> None:
        self.value = value

    def num_in_edges(self) -> i32:
        return i32(len(self.in_edges))

    def num_out_edges(self) -> i32:
        return i32(len(self.out_edges))

    def get_in_edge(self, place: i32) -> ChiEdgeInt:
        return self.in_edges[place]

    def get_out_edge(self, place: i32) -> ChiEdgeInt:
        return self.out_edges[place]

    def set_in_edge(self, place: i32, source: i32, value: i32) -> None:
        edge = self.in_edges[place]
        edge.vertex_id = source
        edge.set_value(value)

    def set_out_edge(
        self,
        vertices: oa.Array[VirtVertexInt],
        source: i32,
        place: i32,
        target: i32,
        value: i32,
    ) -> None:
        """Share the first in-edge of ``target`` that comes from ``source``."""
        other = vertices[target]
        for k in range(other.num_in_edges()):
            edge = other.get_in_edge(k)
            if edge.get_vertex_id() == source:
                edge.set_value(value)
                self.out_edges[place] = edge
                break

    def num_edges(self) -> i32:
        return i32(len(self.in_edges) + len(self.out_edges))

    def edge(self, place: i32) -> ChiEdgeInt:
        """First the in-edges, then the out-edges, for which the artifact gives in-edges again."""
        incoming = i32(len(self.in_edges))
        if place < incoming:
            return self.in_edges[place]
        return self.out_edges[place - incoming]


class VirtVertexFloat(oa.Object):
    id: i32
    value: f32
    in_edges: oa.Array[ChiEdgeFloat]
    out_edges: oa.Array[ChiEdgeFloat]

    def get_id(self) -> i32: ...
    def set_id(self, id: i32) -> None: ...
    def get_value(self) -> f32: ...
    def set_value(self, value: f32) -> None: ...
    def num_in_edges(self) -> i32: ...
    def num_out_edges(self) -> i32: ...
    def get_in_edge(self, place: i32) -> ChiEdgeFloat: ...
    def get_out_edge(self, place: i32) -> ChiEdgeFloat: ...
    def set_in_edge(self, place: i32, source: i32, value: f32) -> None: ...
    def set_out_edge(
        self,
        vertices: oa.Array[VirtVertexFloat],
        source: i32,
        place: i32,
        target: i32,
        value: f32,
    ) -> None: ...


class ChiVertexFloat(VirtVertexFloat):
    def get_id(self) -> i32:
        return self.id

    def set_id(self, id: i32) -> None:
        self.id = id

    def get_value(self) -> f32:
        return self.value

    def set_value(self, value: f32) -> None:
        self.value = value

    def num_in_edges(self) -> i32:
        return i32(len(self.in_edges))

    def num_out_edges(self) -> i32:
        return i32(len(self.out_edges))

    def get_in_edge(self, place: i32) -> ChiEdgeFloat:
        return self.in_edges[place]

    def get_out_edge(self, place: i32) -> ChiEdgeFloat:
        return self.out_edges[place]

    def set_in_edge(self, place: i32, source: i32, value: f32) -> None:
        edge = self.in_edges[place]
        edge.vertex_id = source
        edge.set_value(value)

    def set_out_edge(
        self,
        vertices: oa.Array[VirtVertexFloat],
        source: i32,
        place: i32,
        target: i32,
        value: f32,
    ) -> None:
        """Share the first in-edge of ``target`` that comes from ``source``."""
        other = vertices[target]
        for k in range(other.num_in_edges()):
            edge = other.get_in_edge(k)
            if edge.get_vertex_id() == source:
                edge.set_value(value)
                self.out_edges[place] = edge
                break
