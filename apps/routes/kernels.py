"""The kernels of one query."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32, i64

from .classes import Edge, Node
from .parameters import NEVER


@oa.kernel
def start_at(nodes: oa.Array[Node], start: i32) -> None:
    i = oa.grid(1)
    nodes[i].time = i64(0) if i == start else NEVER


@oa.kernel
def relax_edges(edges: oa.Array[Edge], news: oa.Array[i32], round: i32) -> None:
    """``news[round]`` becomes 1 when any node can be reached earlier than was known."""
    if edges[oa.grid(1)].relax():
        news[round] = 1


@oa.kernel
def mark_fastest_routes(edges: oa.Array[Edge], used: oa.Array[i32]) -> None:
    i = oa.grid(1)
    used[i] = i32(edges[i].is_on_fastest_route())
