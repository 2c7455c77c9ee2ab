"""Vertices without virtual methods. The artifact counts its edges in fields of their own; here the
arrays know their lengths. With a header of 8 bytes a vertex has 48."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from ..edges import ChiEdgeFloat, ChiEdgeInt


class ChiVertexInt(oa.Object):
    id: i32
    value: i32
    in_edges: oa.Array[ChiEdgeInt]
    out_edges: oa.Array[ChiEdgeInt]


class ChiVertexFloat(oa.Object):
    id: i32
    value: f32
    in_edges: oa.Array[ChiEdgeFloat]
    out_edges: oa.Array[ChiEdgeFloat]
