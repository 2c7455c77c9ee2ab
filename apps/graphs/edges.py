"""Edges as the paper's artifact has them: mailboxes that the source writes and the target reads.

Its template ``ChiEdge<T>`` with the one class ``Edge<T>`` below it, for both T in use. With a
header of 8 bytes an edge has 16.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32


class ChiEdgeInt(oa.Object, unordered=("value",)):
    # What a vertex reads may be the value before or after: both lead to the same end.
    value: i32
    #: The edge's source.
    vertex_id: i32

    def get_vertex_id(self) -> i32: ...
    def get_value(self) -> i32: ...
    def set_value(self, value: i32) -> None: ...


class EdgeInt(ChiEdgeInt):
    def get_vertex_id(self) -> i32:
        return self.vertex_id

    def get_value(self) -> i32:
        return self.value

    def set_value(self, value: i32) -> None:
        self.value = value


class ChiEdgeFloat(oa.Object):
    value: f32
    #: The edge's source.
    vertex_id: i32

    def get_vertex_id(self) -> i32: ...
    def get_value(self) -> f32: ...
    def set_value(self, value: f32) -> None: ...


class EdgeFloat(ChiEdgeFloat):
    def get_vertex_id(self) -> i32:
        return self.vertex_id

    def get_value(self) -> f32:
        return self.value

    def set_value(self, value: f32) -> None:
        self.value = value
